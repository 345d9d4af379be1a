import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ATTEMPT_ERRORS } from "../../../src/domain/deliveries/attempt.ts";
import { HALT_REASONS } from "../../../src/domain/deliveries/pause.ts";
import type { EndedAttempt, Store } from "../../../src/store/store.ts";
import { parseExposition, type Exposed } from "../../harness/exposition.ts";
import { addEndpoint, draft, failed, publishOne, withCapacity } from "../../store/fixtures.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer } from "../server.ts";
import { anEvent, aStore } from "../sqlite.ts";

interface Documented {
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** The metrics that `docs/interface.md` §8 promises. */
const NAMES: Readonly<Record<string, Documented>> = Object.fromEntries(
  [
    ...readFileSync("docs/interface.md", "utf8").matchAll(
      /^\| `(webhookd_\w+|target_info)` \| (\w+) \| ?(.*?) ?\| (.+) \|$/gm,
    ),
  ].map(([, name, type, labels, help]) => {
    return [name!, { type: type!, labels: [...labels!.matchAll(/\w+/g)].map(([label]) => label), help: help! }];
  }),
);
const OF_HISTOGRAMS = new Set(["le", "quantile"]);

async function scrape(api: ApiServer): Promise<Map<string, Exposed>> {
  return parseExposition((await api.get("/metrics")).text);
}

const seriesOf = (families: Map<string, Exposed>, name: string) => Object.fromEntries(families.get(name)!.series);

/** Adds endpoints that each failed twenty times or more. `anEvent` would send to all of them. */
async function failing(store: Store, count: number): Promise<void> {
  const ended: EndedAttempt[] = [];
  for (let at = 0; at < count; at++) {
    await addEndpoint(store, { tenant: `t${at}` });
    const drafts = Array.from({ length: 20 }, () => draft({ tenant: `t${at}` }));
    for (const { fresh } of await store.events.publish(drafts, 0, withCapacity)) ended.push(failed(fresh[0]!));
  }
  await store.deliveries.record(ended);
}

describe("/metrics", () => {
  it("is Prometheus's text format, with the names of the contract", async () => {
    const store = await aStore();
    const api = await ApiServer.start(store);
    await addEndpoint(store);
    await anEvent(store, api.clock.now(), "failed");
    const { headers, text } = await api.get("/metrics");
    expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    const families = parseExposition(text);
    const documented = Object.entries(NAMES).map(([name, { type, help }]) => [name, { type, help }]);
    expect(Object.fromEntries([...families].map(([name, { type, help }]) => [name, { type, help }]))).toEqual(
      Object.fromEntries(documented),
    );
    for (const [name, { help, series }] of families) {
      expect(help).toMatch(/\.$/);
      const labels = new Set([...series.keys()].flatMap((one) => [...one.matchAll(/(\w+)="/g)].map((at) => at[1]!)));
      if (series.size > 0)
        expect([...labels].filter((label) => !OF_HISTOGRAMS.has(label))).toEqual(NAMES[name]!.labels);
    }
  });

  it("names every reason why nothing is sent", () => {
    const { help } = NAMES["webhookd_not_sending"]!;
    expect(HALT_REASONS.filter((reason) => !help.includes(reason))).toEqual([]);
  });

  it("counts what was published and attempted since the start, and what there is", async () => {
    const store = await aStore();
    const api = await ApiServer.start(store);
    await addEndpoint(store);
    await anEvent(store, api.clock.now(), "failed");
    await anEvent(store, api.clock.now(), "delivered");
    await publishOne(store);
    api.oldestDueAt = api.clock.now() - 1500;
    api.paused = true;
    const families = await scrape(api);
    expect(seriesOf(families, "webhookd_events_published_total")).toEqual({
      'webhookd_events_published_total{type="budget.exceeded"}': 3,
    });
    expect(seriesOf(families, "webhookd_attempts_total")).toEqual({
      'webhookd_attempts_total{outcome="succeeded",error=""}': 1,
      'webhookd_attempts_total{outcome="interrupted",error="interrupted"}': 0,
      'webhookd_attempts_total{outcome="failed",error="http_status"}': 1,
    });
    expect(seriesOf(families, "webhookd_deliveries_failed_total")).toMatchObject({
      'webhookd_deliveries_failed_total{error="http_status"}': 1,
    });
    expect(seriesOf(families, "webhookd_deliveries")).toEqual({
      'webhookd_deliveries{status="pending"}': 1,
      'webhookd_deliveries{status="held"}': 0,
      'webhookd_deliveries{status="failed"}': 1,
    });
    expect(seriesOf(families, "webhookd_endpoints")).toEqual({
      'webhookd_endpoints{state="enabled"}': 1,
      'webhookd_endpoints{state="disabled"}': 0,
    });
    expect(seriesOf(families, "webhookd_oldest_due_age_seconds")).toEqual({ webhookd_oldest_due_age_seconds: 1.5 });
    expect(seriesOf(families, "webhookd_paused")).toEqual({ webhookd_paused: 1 });
    expect(seriesOf(families, "webhookd_attempt_duration_seconds")).toMatchObject({
      'webhookd_attempt_duration_seconds_bucket{le="0.01"}': 0,
      'webhookd_attempt_duration_seconds_bucket{le="0.015"}': 2,
      'webhookd_attempt_duration_seconds_bucket{le="+Inf"}': 2,
      webhookd_attempt_duration_seconds_sum: 0.024,
      webhookd_attempt_duration_seconds_count: 2,
    });
    const files = Object.keys(seriesOf(families, "webhookd_store_bytes"));
    expect(files).toEqual(['webhookd_store_bytes{file="database"}', 'webhookd_store_bytes{file="wal"}']);
    expect(seriesOf(families, "webhookd_store_commit_duration_seconds")).toMatchObject({
      webhookd_store_commit_duration_seconds_count: expect.toSatisfy((count: number) => count > 3),
    });
  });

  it("counts the keys that are held, and says for how long", async () => {
    const store = await aStore();
    const api = await ApiServer.start(store);
    const values = async () => {
      const families = await scrape(api);
      return ["webhookd_held_keys", "webhookd_held_key_oldest_seconds"].map((name) => seriesOf(families, name)[name]);
    };
    expect(await values()).toEqual([0, 0]);
    await addEndpoint(store, { ordering: "by_key", afterFailure: "hold" });
    const [published] = await store.events.publish([draft({ orderingKey: "k" })], api.clock.now(), withCapacity);
    await store.deliveries.record([failed(published!.fresh[0]!)]);
    api.clock.advance("90s");
    const [count, seconds] = await values();
    expect(count).toBe(1);
    expect(seconds).toBeGreaterThanOrEqual(90);
  });

  it("counts the first delivery that fails from 0, so that `increase` sees it", async () => {
    const series = seriesOf(await scrape(await ApiServer.start(await aStore())), "webhookd_deliveries_failed_total");
    expect(series).toEqual(
      Object.fromEntries(ATTEMPT_ERRORS.map((error) => [`webhookd_deliveries_failed_total{error="${error}"}`, 0])),
    );
  });

  it("says how long requests took, by route and status", async () => {
    const api = await ApiServer.start(await aStore());
    await api.get("/healthz");
    await api.get("/v1/webhooks/evt_nonsense/attempts", { key: null });
    await api.get("/nowhere");
    const series = seriesOf(await scrape(api), "webhookd_api_request_duration_seconds");
    const counts = Object.entries(series).filter(([name]) => name.includes("_count"));
    expect(Object.fromEntries(counts)).toEqual({
      'webhookd_api_request_duration_seconds_count{route="GET /healthz",status="200"}': 1,
      'webhookd_api_request_duration_seconds_count{route="none",status="401"}': 1,
      'webhookd_api_request_duration_seconds_count{route="none",status="404"}': 1,
    });
  });

  it("has a series for endpoints that fail, and for no more than a hundred", async () => {
    const store = await aStore();
    const api = await ApiServer.start(store);
    await addEndpoint(store, { tenant: "well" });
    await failing(store, 101);
    const { series } = (await scrape(api)).get("webhookd_endpoint_consecutive_failures")!;
    expect(series.size).toBe(100);
    expect(new Set(series.values())).toEqual(new Set([20]));
  });

  it("shows a key of one tenant what is that tenant's, and nothing of the daemon or of others", async () => {
    const store = await aStore();
    const api = await ApiServer.start(store);
    await failing(store, 2);
    const scraped = async (tenant: string) => {
      const { text } = await api.get("/metrics", { key: await api.addKey(["metrics"], tenant) });
      return Object.fromEntries([...parseExposition(text)].map(([name, { series }]) => [name, series.size]));
    };
    expect(await scraped("t0")).toEqual({ webhookd_endpoint_consecutive_failures: 1 });
    expect(await scraped("idle")).toEqual({ webhookd_endpoint_consecutive_failures: 0 });
    expect(await scraped("*")).toMatchObject({ webhookd_endpoint_consecutive_failures: 2, webhookd_paused: 1 });
  });

  it("needs a key of scope metrics, unless the configuration makes it public", async () => {
    const store = new FakeStore().asStore();
    const api = await ApiServer.start(store);
    expect((await api.get("/metrics", { key: null })).status).toBe(401);
    expect((await api.get("/metrics", { key: await api.addKey(["read"]) })).status).toBe(403);
    const open = await ApiServer.start(await aStore(), { config: aConfig({ METRICS_PUBLIC: "true" }) });
    expect((await open.get("/metrics", { key: null })).status).toBe(200);
  });

  const promtool = spawnSync("promtool", ["--version"]).status === 0;
  it.skipIf(!promtool)("satisfies promtool (skipped where it is not installed)", async () => {
    const api = await ApiServer.start(await aStore());
    const { text } = await api.get("/metrics");
    const checked = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
    expect(checked.stderr + checked.stdout).toBe("");
    const rules = spawnSync("promtool", ["check", "rules", "docs/alerts.yml"], { encoding: "utf8" });
    expect(rules.status, rules.stderr).toBe(0);
  });
  if (!promtool) console.warn("promtool is not installed: it checks neither /metrics nor docs/alerts.yml here");

  it.each(["docs/grafana-dashboard.json", "docs/alerts.yml"])("has every metric that %s names", (file) => {
    const named = new Set(readFileSync(file, "utf8").match(/\bwebhookd_[a-z_]+/g));
    expect(named.size).toBeGreaterThan(7);
    const series = Object.entries(NAMES).flatMap(([name, { type }]) =>
      type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    );
    expect([...named].filter((name) => !series.includes(name))).toEqual([]);
  });

  it("has a dashboard whose ranges hold at least four scrapes", () => {
    const ranges = readFileSync("docs/grafana-dashboard.json", "utf8").match(/\[[^\][]*\](?=\))/g);
    expect(new Set(ranges)).toEqual(new Set(["[$__rate_interval]"]));
  });
});
