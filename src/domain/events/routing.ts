/**
 * Routing decides what a publish adds: which endpoints receive each event, which drafts repeat an earlier one, and what
 * is refused because it is too much. A store reads the facts inside its transaction, calls `route`, and writes the
 * result.
 */
import { INITIAL_CAP, type WhenDisabled } from "../endpoints/endpoint.ts";
import { WebhookdError } from "../errors.ts";
import type { EventDraft } from "./event.ts";
import type { Filtered } from "./filter/filter-index.ts";
import { Asking, LongFilters } from "./filter/verdicts.ts";
import { IdempotencyMismatch } from "./idempotency.ts";

/** An endpoint that subscribes to the type of an event. */
export interface Subscriber {
  readonly enabled: boolean;
  readonly whenDisabled: WhenDisabled;
}

/**
 * Returns the endpoints that receive an event, out of those that subscribe to its type. Not used for a test, which goes
 * only to its own endpoint.
 */
export function recipientsOf<Endpoint extends Subscriber>(subscribers: readonly Endpoint[]): readonly Endpoint[] {
  return subscribers.filter(({ enabled, whenDisabled }) => enabled || whenDisabled !== "skip");
}

/** True if a delivery to the endpoint ends as `shadowed` when it is made: nothing is ever sent for it. */
export function isShadowed({ enabled, whenDisabled }: Subscriber, isTest: boolean): boolean {
  return !enabled && whenDisabled === "shadow" && !isTest;
}

/** The deliveries in memory, as far as they decide how many more it takes. */
export interface Capacity {
  /** True if memory takes nothing new, because the daemon stops or looks for a delivery that kills it. */
  readonly isShut: boolean;
  /** True if memory as a whole is full. */
  readonly isFull: boolean;
  /** Endpoints to which nothing is sent, because their rows are damaged. */
  readonly damaged: ReadonlySet<string>;
  /** The loaded deliveries of each endpoint. One that is missing has none. */
  readonly windows: ReadonlyMap<string, LoadedDeliveries>;
}

interface LoadedDeliveries {
  readonly loaded: { readonly size: number };
  /** The number of first attempts among them. */
  readonly firsts: number;
  /** True if first attempts may wait on disk. New ones then queue behind them, so that they start in order. */
  readonly overflows: boolean;
  /** The number of attempts that the endpoint may have on the wire at a time. */
  readonly atOnce: number;
}

/** The most first attempts of one endpoint that are loaded when they are committed. */
const FRESH_LIMIT = 4096;
/** Even when memory is full, an endpoint with fewer loaded than this gets its fresh deliveries sent at once. */
export const FEW_LOADED = 32;

/** True if memory takes one more fresh delivery of the endpoint. */
function hasCapacity({ isShut, isFull, damaged, windows }: Capacity, endpoint: string): boolean {
  if (isShut || damaged.has(endpoint)) return false;
  const window = windows.get(endpoint);
  if (window === undefined) return true;
  if (window.overflows) return false;
  if (isFull) return window.loaded.size < FEW_LOADED;
  return window.firsts < (window.atOnce < INITIAL_CAP ? 2 * window.atOnce : FRESH_LIMIT);
}

/**
 * True if a delivery of a new event starts at once. Otherwise it waits on disk. A test starts at once, because somebody
 * is waiting for its result.
 */
export function startsAtOnce(
  endpoint: Pick<Subscriber, "enabled"> & { readonly id: string },
  isTest: boolean,
  capacity: Capacity,
): boolean {
  return isTest || (endpoint.enabled && hasCapacity(capacity, endpoint.id));
}

/** The request for which a key of the tenant is remembered. */
export type Remembered<Answer> =
  | { readonly isSame: true; readonly answer: Answer }
  /** The key was used for something else. */
  | { readonly isSame: false };

/** The pending deliveries of a tenant, and their limit. */
export interface Backlog {
  readonly pending: number;
  /** 0 for no limit. */
  readonly limit: number;
}

/** The facts that decide a publish. */
export interface Facts<Endpoint, Answer> {
  /** The endpoints that each draft is for before filters, by the index of the draft. */
  readonly recipients: readonly (readonly Endpoint[])[];
  /** The request for which each draft's key is remembered, by the draft's index. Null if no draft has a key. */
  readonly remembered: readonly (Remembered<Answer> | null)[] | null;
  /** The backlogs of tenants that have a limit. */
  readonly backlogs: ReadonlyMap<string, Backlog>;
}

/** A draft becomes an event, or nothing, because it repeats an earlier one. */
export type Routed<Endpoint, Answer> =
  | { readonly recipients: readonly Endpoint[] }
  /** An earlier answer, or the index of the draft that it repeats in the same request. */
  | { readonly repeats: Answer | number };

/**
 * Decides what each draft of a request becomes, or why the whole request is refused. Filters that take long are refused
 * as `LongFilters`, to be asked outside of the commit. Only new events count against the
 * limits: a repeated request gets the same answer as the first one, whatever has been registered since.
 */
export function route<Endpoint extends Filtered & Subscriber, Answer extends object>(
  drafts: readonly EventDraft[],
  { recipients, remembered, backlogs }: Facts<Endpoint, Answer>,
): readonly Routed<Endpoint, Answer>[] | WebhookdError {
  const repeats = remembered === null ? null : repeatsOf(drafts, remembered);
  if (repeats instanceof WebhookdError) return repeats;
  let asking: Asking | undefined;
  let deliveries = 0;
  const routed = recipients.map((to, at): Routed<Endpoint, Answer> => {
    const repeated = repeats?.[at] ?? null;
    if (repeated !== null) return { repeats: repeated };
    // A test is sent whatever the filter says: it shows that the endpoint can be reached.
    const isFiltered = drafts[at]!.testFor === undefined && to.some(({ filter }) => filter !== null);
    const filtered = isFiltered ? (asking ??= new Asking()).recipients(drafts[at]!, to) : to;
    deliveries += filtered.length;
    return { recipients: filtered };
  });
  const refusal =
    asking?.long ?? refusedFanOut(deliveries) ?? (backlogs.size === 0 ? null : overfull(drafts, routed, backlogs));
  return refusal ?? routed;
}

/** Runs the pieces of long work one after another. */
export type InPieces = (pieces: Generator<void, void>) => Promise<void>;

/** Publishes, and in between asks the filters that take long. */
export async function publishing<T>(publish: () => Promise<T>, inPieces: InPieces = atOnce): Promise<T> {
  for (;;) {
    try {
      return await publish();
    } catch (error) {
      if (!(error instanceof LongFilters)) throw error;
      await inPieces(error.pieces());
    }
  }
}

const atOnce: InPieces = (pieces) => {
  while (pieces.next().done !== true);
  return Promise.resolve();
};

/**
 * Counts each tenant's new deliveries that are pending, for its limit. A test does not count: it is a single delivery,
 * and somebody is waiting for it.
 */
export function countByTenant(
  drafts: readonly EventDraft[],
  routed: readonly Routed<Subscriber, unknown>[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [at, { tenant, testFor }] of drafts.entries()) {
    const one = routed[at]!;
    if (testFor !== undefined || !("recipients" in one)) continue;
    const pending = one.recipients.filter((endpoint) => !isShadowed(endpoint, false)).length;
    counts.set(tenant, (counts.get(tenant) ?? 0) + pending);
  }
  return counts;
}

function repeatsOf<Answer extends object>(
  drafts: readonly EventDraft[],
  remembered: readonly (Remembered<Answer> | null)[],
): readonly (Answer | number | null)[] | IdempotencyMismatch {
  const first = new Map<string, { readonly at: number; readonly fingerprint: Uint8Array }>();
  const repeats: (Answer | number | null)[] = [];
  for (const [at, { tenant, idempotency }] of drafts.entries()) {
    if (idempotency === undefined) {
      repeats.push(null);
      continue;
    }
    const known = remembered[at] ?? null;
    if (known !== null) {
      if (!known.isSame) return new IdempotencyMismatch(at);
      repeats.push(known.answer);
      continue;
    }
    const name = `${tenant} ${idempotency.key}`;
    const before = first.get(name);
    if (before === undefined) first.set(name, { at, fingerprint: idempotency.fingerprint });
    else if (Buffer.compare(before.fingerprint, idempotency.fingerprint) !== 0) return new IdempotencyMismatch(at);
    repeats.push(before?.at ?? null);
  }
  return repeats;
}

function overfull(
  drafts: readonly EventDraft[],
  routed: readonly Routed<Subscriber, unknown>[],
  backlogs: ReadonlyMap<string, Backlog>,
): WebhookdError | null {
  for (const [tenant, deliveries] of countByTenant(drafts, routed)) {
    const backlog = backlogs.get(tenant);
    const refusal = backlog === undefined ? null : refusedPending(tenant, deliveries, backlog);
    if (refusal !== null) return refusal;
  }
  return null;
}

/**
 * The maximum number of deliveries that one publish may create: they share one transaction, and everybody else's commit
 * waits for it.
 */
export const MAX_FAN_OUT = 20_000;
/**
 * A refused caller should retry after this long. Only attempts reduce the backlog, so retrying sooner does not help.
 */
const RETRY_AFTER_SECONDS = 10;

function refusedFanOut(deliveries: number): WebhookdError | null {
  if (deliveries <= MAX_FAN_OUT) return null;
  return fanOutTooLarge(
    `these events would make ${deliveries} deliveries, but one publish request may make at most ${MAX_FAN_OUT}; send smaller batches`,
  );
}

/** The refusal asks the caller to retry, unless these deliveries alone exceed the limit. */
function refusedPending(tenant: string, deliveries: number, { pending, limit }: Backlog): WebhookdError | null {
  if (deliveries === 0 || limit === 0 || pending + deliveries <= limit) return null;
  const where = "see [limits] max_pending_per_tenant and [tenants.NAME] max_pending";
  if (deliveries > limit)
    return fanOutTooLarge(
      `these events would make ${deliveries} deliveries, but the tenant ${tenant} may have at most ${limit} pending; send smaller batches, or ${where}`,
    );
  const detail = `the tenant ${tenant} has ${pending} deliveries pending, and its limit is ${limit}; ${where}`;
  return new WebhookdError("overloaded", detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

function fanOutTooLarge(detail: string): WebhookdError {
  return new WebhookdError("validation_failed", detail, {
    errors: [{ pointer: "/events", code: "fan_out_too_large", detail }],
  });
}
