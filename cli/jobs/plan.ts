/** Describes what a job would do, for the person who has to agree to it. */
import type { EndpointWithHealth, Job, JobPlan } from "../../src/client/operations.ts";
import type { Client, Query } from "../../src/client/client.ts";
import { ago, count, hostOf, span } from "../output/words.ts";

/** The action of a job, and the deliveries to which it applies. */
export interface Undertaking {
  readonly action: Job["action"];
  /** As in the API's job draft. */
  readonly filter: {
    readonly [field: string]: unknown;
    /** The ids are distinct. */
    readonly events?: readonly string[];
    /** Selects events that the endpoint chose but has no delivery for. */
    readonly missing?: true;
  };
  readonly tenant: string | undefined;
}

/** The statuses that an action applies to if the filter names none. */
const STATUSES: Readonly<Record<Job["action"], string>> = {
  replay: "failed",
  attempt_now: "pending",
  cancel: "pending,held",
};
const AIMS: Readonly<Record<Job["action"], string>> = {
  replay: "to replay",
  attempt_now: "to try now",
  cancel: "to cancel for good",
};

/** More lines than this would scroll the important ones off the screen. */
const SHOWN = 20;

export interface PlanContext {
  readonly endpoints: ReadonlyMap<string, EndpointWithHealth>;
  /**
   * The time at which a test event was delivered after the last failure, by endpoint. Health does not count test
   * events.
   */
  readonly worked: ReadonlyMap<string, string>;
  /** The time at which the oldest event of the set was received. Null if unknown. */
  readonly oldest: string | null;
}

/**
 * Fetches what the daemon knows in addition to the plan itself. A failed request only leaves its part out, because the
 * plan is useful without it.
 */
export async function contextOf(
  client: Client,
  { action, filter, tenant }: Undertaking,
  plan: JobPlan,
): Promise<PlanContext> {
  const shown = plan.endpoints.slice(0, SHOWN).map(({ endpoint }) => endpoint);
  const found = await Promise.all(
    shown.map((id) => client.call("getEndpoint", { id, query: { tenant } }).catch(() => null)),
  );
  const endpoints = new Map(found.flatMap((endpoint) => (endpoint === null ? [] : [[endpoint.id, endpoint]])));
  const failing = [...endpoints.values()].filter(({ health }) => health.consecutive_failures > 0);
  const worked = await Promise.all(
    failing.map(async (endpoint) => [endpoint.id, await workedAt(client, endpoint, tenant)] as const),
  );
  return {
    endpoints,
    worked: new Map(worked.flatMap(([id, at]) => (at === null ? [] : [[id, at]]))),
    oldest: await oldestOf(client, action, filter, tenant).catch(() => null),
  };
}

/** Returns the time at which a test event was delivered to the endpoint after its last failure, or null if none was. */
async function workedAt(
  client: Client,
  { id, health }: EndpointWithHealth,
  tenant: string | undefined,
): Promise<string | null> {
  const query = { tenant, test: "true", limit: 1 };
  const page = await client.call("listEndpointAttempts", { id, query }).catch(() => null);
  const last = page?.data[0];
  if (last?.outcome !== "succeeded") return null;
  return Date.parse(last.started_at) > Date.parse(health.last_failure_at ?? last.started_at) ? last.started_at : null;
}

async function oldestOf(
  client: Client,
  action: Undertaking["action"],
  { events, missing, ...filter }: Undertaking["filter"],
  tenant: string | undefined,
): Promise<string | null> {
  // Ids sort in the order in which they were created.
  const [first] = [...(events ?? [])].sort();
  if (first !== undefined) return (await client.call("getEvent", { id: first, query: { tenant } })).received_at;
  // A missing delivery is not in any list yet.
  if (missing) return null;
  const query = {
    status: STATUSES[action],
    ...(filter as Query),
    tenant,
    order: "oldest",
    limit: 1,
  };
  return (await client.call("listDeliveries", { query })).data[0]?.received_at ?? null;
}

export function planLines(
  plan: JobPlan,
  { endpoints, worked, oldest }: PlanContext,
  { action, filter, ratePerSecond }: Undertaking & { readonly ratePerSecond: number },
  now: number,
): string[] {
  const { matched, timed_out: timedOut, eta_seconds: eta } = plan;
  const aim = filter.missing ? "to back-fill" : AIMS[action];
  const width = String(Math.max(0, ...plan.endpoints.map((one) => one.matched))).length;
  const rest = plan.endpoints.slice(SHOWN);
  const more = rest.reduce((sum, one) => sum + one.matched, 0);
  // One event may have deliveries to many endpoints, so this is only a lower bound on the number of missing events.
  const absent = Math.max(0, (filter.events?.length ?? 0) - matched);
  const end = plan.endpoints.length + plan.left_alone.length === 0 ? "." : ":";
  return [
    `${count(matched, "delivery", "deliveries")} ${aim}${oldest === null ? "" : `, the oldest received ${ago(oldest, now)}`}${end}`,
    ...plan.endpoints
      .slice(0, SHOWN)
      .map(
        (one) =>
          `  ${String(one.matched).padStart(width)}  ${one.endpoint}${healthOf(endpoints.get(one.endpoint), worked.get(one.endpoint), now)}`,
      ),
    ...(rest.length === 0 ? [] : [`  ${more}  to ${count(rest.length, "more endpoint", "more endpoints")}`]),
    ...plan.left_alone.map(
      ({ endpoint, deliveries, reason }) => `  ${deliveries}  ${endpoint}  left alone: ${leftText(reason, endpoint)}`,
    ),
    ...(timedOut === 0 || action === "cancel"
      ? []
      : [`  ${timedOut} of them timed out, so the receiver may have handled them; the event id stays the same`]),
    ...(absent === 0
      ? []
      : [`  at least ${absent} of the named events ${absent === 1 ? "has" : "have"} nothing ${aim}`]),
    ...(matched === 0 || action === "cancel"
      ? []
      : [`  at ${ratePerSecond}/s per endpoint, ${eta < 1 ? "within 1s" : `about ${span(eta)}`}`]),
  ];
}

function healthOf(endpoint: EndpointWithHealth | undefined, worked: string | undefined, now: number): string {
  if (endpoint === undefined) return "";
  const { consecutive_failures: failures, last_failure_at: last, last_success_at: success } = endpoint.health;
  if (worked !== undefined) {
    return `  ${hostOf(endpoint.url)}  answered a test event ${ago(worked, now)}, after ${count(failures, "failure", "failures")}`;
  }
  return `  ${hostOf(endpoint.url)}  ${stateOf({ failures, last, success }, now)}`;
}

interface Tried {
  readonly failures: number;
  readonly last: string | null;
  readonly success: string | null;
}

/** Enabling an endpoint resets its failure count, so zero failures in a row need not mean that it answers. */
function stateOf({ failures, last, success }: Tried, now: number): string {
  if (last === null) return success === null ? "not tried yet" : "answers";
  if (failures > 0) return `still failing: ${failures} in a row, the last ${ago(last, now)}`;
  if (success !== null && Date.parse(success) >= Date.parse(last)) return "answers";
  return `not tried since it failed ${ago(last, now)}`;
}

const LEFT: Readonly<Record<string, (endpoint: string) => string>> = {
  endpoint_disabled: (endpoint) => `it is disabled; to enable it: webhookd endpoints enable ${endpoint}`,
  endpoint_deleted: () => "it was deleted",
};

/** Explains why the job leaves a delivery alone. A newer daemon may have further reasons. */
export function leftText(reason: string, endpoint: string): string {
  return Object.hasOwn(LEFT, reason) ? LEFT[reason]!(endpoint) : reason;
}
