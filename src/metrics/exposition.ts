/** Prometheus's text format. The only file that knows prom-client. */
import { Registry, type Metric } from "prom-client";
import { WebhookdError } from "../domain/errors.ts";
import type { Family, Sample } from "./metrics.ts";

export function exposition(families: readonly Family[]): () => Promise<string> {
  const registry = new Registry();
  for (const family of families) {
    const { name, help, type } = family;
    const get = async () => {
      const values = (await samplesOf(family)).map(({ labels, value, suffix = "" }) => {
        return { labels, value, metricName: name + suffix };
      });
      return { name, help, type, values, aggregator: "sum" };
    };
    // Its own classes would have to be told of each value at the time it comes about.
    registry.registerMetric({ name, get } as unknown as Metric);
  }
  return () => registry.metrics();
}

/** What the store cannot say now is left out: the others are wanted the more. */
async function samplesOf(family: Family): Promise<readonly Sample[]> {
  try {
    return await family.samples();
  } catch (error) {
    if (error instanceof WebhookdError) return [];
    throw error;
  }
}
