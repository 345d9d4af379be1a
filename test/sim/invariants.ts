/** The invariants that must hold in every run, numbered V1 to V16. */
import { AsymmetricVerifyingKey, publicKeyOf } from "../../src/domain/endpoints/asymmetric.ts";
import type { Attempt, EventView, Store } from "../../src/store/store.ts";
import type { Bulk } from "./bulk.ts";
import type { Endpoints } from "./endpoints.ts";
import type { Hands } from "./hands.ts";
import type { Holds } from "./holds.ts";
import { LADDER } from "./ladder.ts";
import type { Kinds } from "./kinds.ts";
import { DEADLY, type SeenAttempt } from "./network.ts";

/** An acknowledged event, and the endpoints that had chosen its type. */
export interface Acked {
  readonly id: string;
  readonly tenant: string;
  readonly type: string;
  /** The monotonic time when its publish was first sent. */
  readonly sentAt: number;
  /** Endpoints that had certainly chosen it. `atMost` has those that may have. */
  readonly endpoints: readonly string[];
  readonly atMost: readonly string[];
  readonly deadly: boolean;
}

/** Everything that is known about a run from outside the code under test. */
export interface Run {
  readonly acked: readonly Acked[];
  readonly endpoints: Pick<Endpoints, "all" | "receivers">;
  readonly attempts: readonly SeenAttempt[];
  readonly violations: string[];
  readonly crashes: number;
  readonly clockSteps: number;
  readonly diskWasFull: boolean;
  readonly kinds: Pick<
    Kinds,
    "receivers" | "outages" | "holds" | "pauses" | "shortages" | "prunes" | "jobs" | "restores" | "addresses" | "orders"
  >;
  /** Events that an operator replayed, or tried to. */
  readonly replayed: ReadonlySet<string>;
  readonly hands: Hands;
  readonly bulk: Bulk;
  readonly holds: Pick<Holds, "cancelledAt" | "wasDisabled">;
}

/** A retry may be this late while nothing is wrong: a tick and a turn of the event loop. */
const LATE_MS = 1100;
/** Times are whole milliseconds, but durations are not. */
const ROUNDING_MS = 2;

/** V6: a status changes only in the allowed ways. */
export class StatusWatch {
  readonly #violations: string[];
  readonly #last = new Map<string, string>();

  constructor(violations: string[]) {
    this.#violations = violations;
  }

  /** A replay may make a failed delivery pending again. */
  replayed(event: string): void {
    for (const key of this.#last.keys()) if (key.startsWith(event)) this.#last.delete(key);
  }

  /** Forgets every status that was seen. */
  forget(): void {
    this.#last.clear();
  }

  saw(event: EventView): void {
    for (const { id, endpoint, status } of event.deliveries) {
      const key = `${event.id} ${endpoint}`;
      const before = this.#last.get(key);
      const left = (before === "delivered" && status !== "delivered") || (before === "failed" && status === "pending");
      if (left) this.#violations.push(`V6: ${id} went from ${before} to ${status}`);
      this.#last.set(key, status);
    }
  }
}

/** V1, V2, V3 and V5, once everything has had time to end. */
export async function checkEnd(run: Run, store: Store): Promise<void> {
  for (const acked of run.acked) {
    const { id, tenant, type, endpoints, atMost } = acked;
    const event = await store.reads.getEvent(null, id);
    if (event === null) {
      checkGone(run, acked);
      continue;
    }
    if (event.type !== type || event.tenant !== tenant) {
      run.violations.push(`V1: ${id} was acked as ${type} of ${tenant} and is ${event.type} of ${event.tenant}`);
    }
    if (
      event.deliveries.some(({ endpoint }) => !atMost.includes(endpoint) && !run.bulk.mayHaveAdded(acked, endpoint))
    ) {
      run.violations.push(`V1: ${id} is owed to others than its subscribers`);
    }
    for (const endpoint of endpoints) {
      const delivery = event.deliveries.find((one) => one.endpoint === endpoint);
      if (delivery === undefined) run.violations.push(`V1: ${id} is not owed to ${endpoint}`);
      else await checkDelivery(run, store, acked, event, delivery);
    }
  }
}

/** Only events whose deliveries have all ended are pruned, and never failed ones. */
function checkGone(run: Run, acked: Acked): void {
  const { id, endpoints } = acked;
  if (!run.kinds.prunes) return void run.violations.push(`V1: ${id} was acked and is gone`);
  for (const endpoint of endpoints) {
    const { url, leaving } = run.endpoints.all.get(endpoint)!;
    const { processed } = run.endpoints.receivers.get(url)!;
    const succeeded = processed.some(({ event, inTime }) => event === id && inTime);
    const cancelled = run.hands.tookBack(id) || run.holds.cancelledAt(endpoint) !== null || leaving;
    if (!succeeded && !cancelled && !run.bulk.mayHaveCancelled(acked, endpoint)) {
      run.violations.push(`V1: ${id} was pruned, and ${url} never had it`);
    }
  }
}

async function checkDelivery(run: Run, store: Store, acked: Acked, event: EventView, delivery: DeliveryView) {
  const violation = (text: string) => run.violations.push(text);
  const { endpoint, status } = delivery;
  const { id } = event;
  const { url, leaving } = run.endpoints.all.get(endpoint)!;
  const seen = run.endpoints.receivers.get(url)!.processed.filter((request) => request.event === id);
  if (new Set(seen.map(({ body }) => body)).size > 1) violation(`V3: ${id} reached ${url} with different bytes`);
  if (status === "delivered" && !seen.some(({ inTime }) => inTime)) {
    violation(`V2: ${delivery.id} is delivered and ${url} never said so`);
  }
  if (status === "cancelled" && !run.hands.tookBack(id) && !leaving && !run.bulk.mayHaveCancelled(acked, endpoint)) {
    const at = run.holds.cancelledAt(endpoint);
    if (at === null) violation(`V1: nobody cancelled ${delivery.id}`);
    else if (startsAfter(run.attempts, delivery.id, at)) violation(`V8: ${delivery.id} was sent after its cancel`);
  }
  if (Buffer.from(event.data ?? []).includes(DEADLY) && !["failed", "cancelled"].includes(status)) {
    violation(`${delivery.id} kills the process and is ${status}`);
  }
  if (status === "pending") violation(`V1: ${delivery.id} to ${url} is still pending at the end of its ladder`);
  if (status !== "failed") return;
  const attempts = (await attemptsOf(store, id, endpoint)).filter(({ retry }) => retry !== null);
  // Attempts are ordered by number, because the clock may have been set back.
  const last = attempts.toSorted((one, other) => one.number - other.number).at(-1);
  if (last?.error === "held_expired") {
    if (!run.holds.wasDisabled(endpoint)) violation(`V5: ${delivery.id} was held for too long, and nobody held it`);
    return;
  }
  const round = Math.max(...attempts.map((attempt) => attempt.round));
  const counted = attempts.filter((attempt) => attempt.round === round && attempt.outcome === "failed").length;
  if (counted !== LADDER.length + 1) violation(`V5: ${delivery.id} failed after ${counted} attempts`);
}

type DeliveryView = EventView["deliveries"][number];

/** V4, V5 and V10, for each attempt. */
export async function checkAttempts(run: Run, store: Store): Promise<void> {
  const byNumber = new Map<string, SeenAttempt[]>();
  const numbers = new Map<string, Set<number>>();
  for (const seen of run.attempts) {
    const key = `${seen.delivery} ${seen.number}`;
    byNumber.set(key, [...(byNumber.get(key) ?? []), seen]);
    numbers.set(seen.delivery, (numbers.get(seen.delivery) ?? new Set()).add(seen.number));
  }
  for (const acked of run.acked) {
    const page = await store.reads.listAttempts({ tenant: null, event: acked.id, limit: 100, order: "oldest" });
    if (page === null) continue;
    for (const { delivery, trigger, retry } of page.data) {
      if (trigger === "replay" && retry !== 0) run.violations.push(`V5: ${delivery} was replayed on rung ${retry}`);
    }
    checkGaps(run, page.data, byNumber);
    if (page.nextCursor === null) await checkRecorded(run, store, acked, page.data, numbers);
  }
}

/** V10: every attempt is recorded. If the process died, it is recorded once it was made again. */
async function checkRecorded(
  run: Run,
  store: Store,
  acked: Acked,
  attempts: readonly Attempt[],
  numbers: ReadonlyMap<string, ReadonlySet<number>>,
): Promise<void> {
  // Cancelled deliveries are not sent again, and a restore loses attempts made since the backup.
  if (run.kinds.restores || run.hands.tookBack(acked.id)) return;
  const recorded = new Set(attempts.map(({ delivery, number }) => `${delivery} ${number}`));
  for (const { id, endpoint, status } of (await store.reads.getEvent(null, acked.id))?.deliveries ?? []) {
    if (status === "cancelled" || run.endpoints.all.get(endpoint)!.leaving) continue;
    for (const number of numbers.get(id) ?? []) {
      if (!recorded.has(`${id} ${number}`)) run.violations.push(`V10: nothing is known of attempt ${number} of ${id}`);
    }
  }
}

/** V4: a retry starts no earlier than its rung after the previous attempt, and hardly later while nothing is wrong. */
function checkGaps(
  run: Run,
  attempts: readonly Attempt[],
  byNumber: ReadonlyMap<string, readonly SeenAttempt[]>,
): void {
  // After a restart it is unknown how far the clock was set before, and after a restore what happened since the backup.
  if ((run.clockSteps > 0 && run.crashes > 0) || run.kinds.restores) return;
  // A receiver that makes attempts time out may delay its own deliveries.
  const { kinds } = run;
  const hindered =
    kinds.receivers ||
    kinds.outages ||
    kinds.holds ||
    kinds.pauses ||
    kinds.shortages ||
    kinds.jobs ||
    kinds.addresses ||
    kinds.orders;
  const untroubled = run.crashes === 0 && !run.diskWasFull && !hindered;
  for (const attempt of attempts) {
    if (attempt.retry === null || attempt.outcome !== "failed") continue;
    const delay = LADDER[attempt.retry];
    // If a process died before it recorded the attempt, it was made again. The last one is recorded.
    const endedAt = byNumber.get(`${attempt.delivery} ${attempt.number}`)?.at(-1)?.endedAt;
    const number = nextOnLadder(run, attempts, attempt);
    const made = byNumber.get(`${attempt.delivery} ${number}`) ?? [];
    // The first of several may have been requested by hand, and lost with its process.
    if (made.length > 1 && isOffLadder(run, attempt.delivery)) continue;
    const [next] = made;
    if (delay === undefined || endedAt === null || endedAt === undefined || next === undefined) continue;
    const gap = next.startedAt - endedAt;
    if (gap < delay - ROUNDING_MS) run.violations.push(`V4: ${attempt.delivery} was retried ${delay - gap} ms early`);
    if (untroubled && gap > delay + LATE_MS)
      run.violations.push(`V4: ${attempt.delivery} was retried ${gap - delay} ms late`);
  }
}

/** True if some of the delivery's attempts may have been requested. */
function isOffLadder(run: Run, delivery: string): boolean {
  return run.hands.attempted(delivery) || run.bulk.any;
}

/** Manual attempts have numbers too. It is unknown whether an attempt that was never recorded was one. */
function nextOnLadder(run: Run, attempts: readonly Attempt[], { delivery, number, round }: Attempt): number | null {
  if (!isOffLadder(run, delivery)) return number + 1;
  const later = attempts.filter((attempt) => attempt.delivery === delivery && attempt.number > number);
  const next = later.sort((a, b) => a.number - b.number).find(({ retry }) => retry !== null);
  if (next === undefined || next.round !== round) return null;
  return later.filter((attempt) => attempt.number < next.number).length === next.number - number - 1
    ? next.number
    : null;
}

/** V7: no two attempts of a delivery are in flight at once. An attempt of a dead process ended with it. */
export function checkOneAtATime(run: Run): void {
  const last = new Map<string, SeenAttempt>();
  for (const attempt of run.attempts) {
    const before = last.get(attempt.delivery);
    if ((before?.endedAt ?? 0) > attempt.startedAt) {
      run.violations.push(`V7: ${attempt.delivery} was attempted twice at once`);
    }
    last.set(attempt.delivery, attempt);
  }
}

/** A delivery in a line, with its attempts as the network saw them. */
interface Lined {
  readonly event: string;
  readonly delivery: string;
  readonly sequence: number;
  readonly attempts: readonly SeenAttempt[];
}

/**
 * V16: the deliveries of an ordering key at an endpoint are numbered in the order of their publishes, no two of them are
 * attempted at once, and none is attempted before the one ahead had its last attempt, unless somebody replayed that one
 * or took it back.
 */
export async function checkOrder(run: Run, store: Store): Promise<void> {
  const made = Map.groupBy(run.attempts, ({ delivery }) => delivery);
  const lines = new Map<string, Lined[]>();
  for (const { id } of run.acked) {
    const event = await store.reads.getEvent(null, id);
    for (const { id: delivery, endpoint, sequence } of event?.deliveries ?? []) {
      if (sequence === null || sequence === 0) continue;
      const line = `${endpoint} ${event!.orderingKey ?? "erased"}`;
      const lined = { event: id, delivery, sequence, attempts: made.get(delivery) ?? [] };
      lines.set(line, [...(lines.get(line) ?? []), lined]);
    }
  }
  for (const [line, all] of lines) if (!line.endsWith("erased")) checkLine(run, all);
}

function checkLine(run: Run, all: readonly Lined[]): void {
  const line = all.toSorted((one, other) => one.sequence - other.sequence);
  const violation = (text: string) => run.violations.push(`V16: ${text}`);
  const attempts = line.flatMap(({ attempts: made }) => made).toSorted((one, other) => one.startedAt - other.startedAt);
  for (const [at, { delivery, startedAt }] of attempts.entries()) {
    const before = attempts.slice(0, at).find((one) => one.delivery !== delivery && (one.endedAt ?? 0) > startedAt);
    if (before !== undefined) violation(`${delivery} was attempted while ${before.delivery} was on the wire`);
  }
  for (const [at, ahead] of line.entries()) {
    const next = line[at + 1];
    if (next === undefined) break;
    if (next.event < ahead.event) violation(`${next.event} has a later number than ${ahead.event}`);
    const isTouched =
      run.kinds.restores ||
      run.bulk.any ||
      run.replayed.has(ahead.event) ||
      run.hands.tookBack(ahead.event) ||
      run.hands.attempted(ahead.delivery);
    const [first, last] = [next.attempts[0], ahead.attempts.at(-1)];
    if (isTouched || first === undefined || last === undefined || first.startedAt > last.startedAt) continue;
    violation(`${next.delivery} was attempted before ${ahead.delivery}, which is ahead of it, had its last attempt`);
  }
}

/** V3, at the end: the private key of the endpoint's own tenant made each `v1a` entry. No run rotates these keys. */
export async function checkKeys(run: Run, store: Store): Promise<void> {
  for (const { signing, entries } of run.endpoints.receivers.values()) {
    if (entries.length === 0) continue;
    const keys = await store.signingKeys.get(signing!.tenant);
    const key = keys === null || keys === "damaged" ? null : new AsymmetricVerifyingKey(publicKeyOf(keys.current));
    for (const { id, at, body, header } of entries.splice(0)) {
      if (key?.verifyStandard(id, at, Buffer.from(body), header) === true) continue;
      run.violations.push(`V3: ${id} was signed with another key than that of ${signing!.tenant}`);
    }
  }
}

async function attemptsOf(store: Store, event: string, endpoint: string): Promise<Attempt[]> {
  const page = await store.reads.listAttempts({ tenant: null, event, limit: 100, order: "oldest" });
  return (page?.data ?? []).filter((attempt) => attempt.endpoint === endpoint);
}

export function startsAfter(attempts: readonly SeenAttempt[], id: string, instant: number): boolean {
  return attempts.some(({ delivery, startedAt }) => delivery === id && startedAt > instant);
}
