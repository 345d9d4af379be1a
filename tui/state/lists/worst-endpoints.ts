/** Finds the endpoints with the most missing deliveries, over all causes. */
import type { FailureGroup } from "../../../src/client/operations.ts";

export interface WorstEndpoint {
  readonly endpoint: string;
  readonly failed: number;
  readonly waiting: number;
}

export function worstEndpoints(groups: readonly FailureGroup[], most: number): readonly WorstEndpoint[] {
  const sums = new Map<string, WorstEndpoint>();
  for (const { endpoint, failed, pending, held } of groups) {
    const sum = sums.get(endpoint) ?? { endpoint, failed: 0, waiting: 0 };
    sums.set(endpoint, { endpoint, failed: sum.failed + failed, waiting: sum.waiting + pending + held });
  }
  const missing = ({ failed, waiting }: WorstEndpoint) => failed + waiting;
  return [...sums.values()].toSorted((one, other) => missing(other) - missing(one)).slice(0, most);
}
