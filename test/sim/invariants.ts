/** What must hold in every run; the names are those of the reliability plan. */
import type { Attempt, EventView, Store } from "../../src/store/store.ts";
import type { Hands } from "./hands.ts";
import type { Holds } from "./holds.ts";
import { LADDER } from "./ladder.ts";
import type { Kinds } from "./plants.ts";
import { DEADLY, type SeenAttempt } from "./network.ts";
import type { SimReceiver } from "./receiver.ts";

/** An event whose publish was answered, and the endpoints that had chosen its type. */
export interface Acked {
  readonly id: string;
  readonly tenant: string;
  readonly type: string;
  /** Those that had chosen it for certain, and those that may have. */
  readonly endpoints: readonly string[];
  readonly atMost: readonly string[];
  readonly deadly: boolean;
}

/** What is known of a run from outside of the code under test. */
export interface Run {
  readonly acked: readonly Acked[];
  readonly endpoints: ReadonlyMap<string, { readonly url: string }>;
  readonly receivers: ReadonlyMap<string, SimReceiver>;
  readonly attempts: readonly SeenAttempt[];
  readonly violations: string[];
  readonly crashes: number;
  readonly clockSteps: number;
  readonly diskWasFull: boolean;
  readonly kinds: Pick<Kinds, "receivers" | "outages" | "holds" | "pauses" | "shortages">;
  readonly hands: Hands;
  readonly holds: Pick<Holds, "cancelledAt">;
}

/** Retries may come this much later than their rung while nothing is wrong: a tick, and a turn. */
const LATE_MS = 1100;
/** Instants are whole milliseconds, durations are not. */
const ROUNDING_MS = 2;

/** V6: a status moves only along the allowed edges. */
export class StatusWatch {
  readonly #violations: string[];
  readonly #last = new Map<string, string>();

  constructor(violations: string[]) {
    this.#violations = violations;
  }

  /** A replay may take a failed delivery back to pending. */
  replayed(event: string): void {
    for (const key of this.#last.keys()) if (key.startsWith(event)) this.#last.delete(key);
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

/** V1, V2, V3, V5, once everything has had its time. */
export async function checkEnd(run: Run, store: Store): Promise<void> {
  const violation = (text: string) => run.violations.push(text);
  for (const { id, tenant, type, endpoints, atMost } of run.acked) {
    const event = await store.reads.getEvent(null, id);
    if (event === null) {
      violation(`V1: ${id} was acked and is gone`);
      continue;
    }
    if (event.type !== type || event.tenant !== tenant) {
      violation(`V1: ${id} was acked as ${type} of ${tenant} and is ${event.type} of ${event.tenant}`);
    }
    if (event.deliveries.some(({ endpoint }) => !atMost.includes(endpoint))) {
      violation(`V1: ${id} is owed to others than its subscribers`);
    }
    for (const endpoint of endpoints) {
      const { url } = run.endpoints.get(endpoint)!;
      const delivery = event.deliveries.find((one) => one.endpoint === endpoint);
      if (delivery === undefined) {
        violation(`V1: ${id} is not owed to ${url}`);
        continue;
      }
      const seen = run.receivers.get(url)!.processed.filter((request) => request.event === id);
      if (new Set(seen.map(({ body }) => body)).size > 1) violation(`V3: ${id} reached ${url} with different bytes`);
      const succeeded = seen.some(({ inTime }) => inTime);
      if (delivery.status === "delivered" && !succeeded)
        violation(`V2: ${delivery.id} is delivered and ${url} never said so`);
      if (delivery.status === "cancelled" && !run.hands.tookBack(id)) {
        const at = run.holds.cancelledAt(endpoint);
        if (at === null) violation(`V1: nobody cancelled ${delivery.id}`);
        else if (startsAfter(run.attempts, delivery.id, at)) violation(`V8: ${delivery.id} was sent after its cancel`);
      }
      if (Buffer.from(event.data ?? []).includes(DEADLY) && !["failed", "cancelled"].includes(delivery.status)) {
        violation(`${delivery.id} kills the process and is ${delivery.status}`);
      }
      if (delivery.status === "pending")
        violation(`V1: ${delivery.id} to ${url} is still pending at the end of its ladder`);
      if (delivery.status === "failed") {
        const attempts = (await attemptsOf(store, id, endpoint)).filter(({ retry }) => retry !== null);
        const round = Math.max(...attempts.map((attempt) => attempt.round));
        const counted = attempts.filter((attempt) => attempt.round === round && attempt.outcome === "failed").length;
        if (counted !== LADDER.length + 1) violation(`V5: ${delivery.id} failed after ${counted} attempts`);
      }
    }
  }
}

/** V4: a retry comes no earlier than its rung after the attempt before it, and while nothing is wrong hardly later. */
export async function checkGaps(run: Run, store: Store): Promise<void> {
  // After a restart nobody knows by how much the clock was set before it.
  if (run.clockSteps > 0 && run.crashes > 0) return;
  // A receiver that lets attempts run into the limit may hold up its own deliveries.
  const hindered =
    run.kinds.receivers || run.kinds.outages || run.kinds.holds || run.kinds.pauses || run.kinds.shortages;
  const untroubled = run.crashes === 0 && !run.diskWasFull && !hindered;
  const byNumber = new Map<string, { startedAt: number; endedAt: number | null }[]>();
  for (const seen of run.attempts) {
    const key = `${seen.delivery} ${seen.number}`;
    byNumber.set(key, [...(byNumber.get(key) ?? []), seen]);
  }
  for (const { id } of run.acked) {
    const attempts = await attemptsOf(store, id);
    for (const attempt of attempts) {
      if (attempt.retry === null || attempt.outcome !== "failed") continue;
      const delay = LADDER[attempt.retry];
      // A process that died before it could record made the attempt again: the last one is the recorded one.
      const endedAt = byNumber.get(`${attempt.delivery} ${attempt.number}`)?.at(-1)?.endedAt;
      const number = nextOnLadder(run, attempts, attempt);
      const next = byNumber.get(`${attempt.delivery} ${number}`)?.[0];
      if (delay === undefined || endedAt === null || endedAt === undefined || next === undefined) continue;
      const gap = next.startedAt - endedAt;
      if (gap < delay - ROUNDING_MS) run.violations.push(`V4: ${attempt.delivery} was retried ${delay - gap} ms early`);
      if (untroubled && gap > delay + LATE_MS)
        run.violations.push(`V4: ${attempt.delivery} was retried ${gap - delay} ms late`);
    }
  }
}

/** Manual attempts come between; of one that was never recorded nobody knows whether it was one. */
function nextOnLadder(run: Run, attempts: readonly Attempt[], { delivery, number, round }: Attempt): number | null {
  if (!run.hands.attempted(delivery)) return number + 1;
  const later = attempts.filter((attempt) => attempt.delivery === delivery && attempt.number > number);
  const next = later.sort((a, b) => a.number - b.number).find(({ retry }) => retry !== null);
  if (next === undefined || next.round !== round) return null;
  return later.filter((attempt) => attempt.number < next.number).length === next.number - number - 1
    ? next.number
    : null;
}

/** V7: no two attempts of a delivery are on the wire at once. Those of a process that died ended with it. */
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

async function attemptsOf(store: Store, event: string, endpoint?: string): Promise<Attempt[]> {
  const page = await store.reads.listAttempts({ tenant: null, event, limit: 100, order: "oldest" });
  return (page?.data ?? []).filter((attempt) => endpoint === undefined || attempt.endpoint === endpoint);
}

export function startsAfter(attempts: readonly SeenAttempt[], id: string, instant: number): boolean {
  return attempts.some(({ delivery, startedAt }) => delivery === id && startedAt > instant);
}
