/** Reads how deliveries are doing, in addition to the state of the daemon itself. */
import type { FailureGroup, Job, Statistics, Status } from "../../src/client/operations.ts";
import type { Client, Item } from "../../src/client/client.ts";
import { isFailing } from "../../src/domain/endpoints/streak.ts";

/** A part that could not be read is null. */
export interface Health {
  /** Covers the last hour. */
  readonly statistics: Statistics | null;
  readonly failing: readonly FailingEndpoint[] | null;
  /** The tenants that published most in the last hour. Empty if there is only one tenant. */
  readonly busiest: readonly Item<"listTenants">[] | null;
  /** The running and paused jobs among the latest hundred. */
  readonly open_jobs: readonly Job[] | null;
}
export interface FailingEndpoint extends Pick<FailureGroup, "endpoint" | "error" | "status_code"> {
  readonly url: string;
  readonly consecutive_failures: number;
  /** Null if no attempt ever succeeded. */
  readonly last_success_at: string | null;
}
export type Seen = Status & Health;

/** Check at most this many endpoints, those with the most failures first. */
const LOOKED_AT = 20;
const HOUR_MS = 3_600_000;

/** Throws if a part in `needed` cannot be read. Any other part that cannot be read becomes null. */
export async function readHealth(client: Client, needed: ReadonlySet<keyof Health>, now: number): Promise<Health> {
  const read = <K extends keyof Health>(name: K, value: Promise<Health[K]>) =>
    needed.has(name) ? value : value.catch(() => null as Health[K]);
  const [statistics, failing, busiest, jobs] = await Promise.all([
    read("statistics", client.call("getStatistics", { query: { window: "1h" } })),
    read("failing", failingEndpoints(client, now)),
    read("busiest", busiestTenants(client)),
    read("open_jobs", openJobs(client)),
  ]);
  return { statistics, failing, busiest, open_jobs: jobs };
}

async function openJobs(client: Client): Promise<readonly Job[]> {
  return (await client.call("listJobs", { query: { status: "running,paused", limit: 100 } })).data;
}

async function busiestTenants(client: Client): Promise<Health["busiest"]> {
  const { data } = await client.call("listTenants", { query: { sort: "published", limit: 3 } });
  // An older daemon does not report `published_last_hour`.
  return data.length < 2 ? [] : data.filter(({ published_last_hour: events }) => (events ?? 0) > 0);
}

async function failingEndpoints(client: Client, now: number): Promise<FailingEndpoint[]> {
  const since = new Date(now - HOUR_MS).toISOString();
  const { data } = await client.call("listFailures", { query: { since } });
  const worst = new Map<string, FailureGroup>();
  for (const group of data) {
    if (worst.size < LOOKED_AT && !worst.has(group.endpoint)) worst.set(group.endpoint, group);
  }
  const found = await Promise.all(
    [...worst.values()].map(async ({ endpoint, error, status_code, first_at }) => {
      // The endpoint may have been deleted in the meantime.
      const known = await client.call("getEndpoint", { id: endpoint }).catch(() => null);
      if (known === null) return [];
      const { consecutive_failures, last_success_at } = known.health;
      const fails = isFailing(consecutive_failures, Date.parse(last_success_at ?? first_at), now);
      return fails ? [{ endpoint, error, status_code, url: known.url, consecutive_failures, last_success_at }] : [];
    }),
  );
  return found.flat();
}
