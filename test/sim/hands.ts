/** An operator who attempts by hand, cancels and erases as the API does, and remembers the responses. */
import type { EventView, Store, Withdrawal } from "../../src/store/store.ts";
import { startsAfter, type Acked, type Run } from "./invariants.ts";
import { DEADLY } from "./network.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const AGAIN_MS = 1000;

/** Requests about a delivery or an event. `ackedAt` is the monotonic time of the first response, or null. */
interface Asked {
  count: number;
  lastAt: number;
  ackedAt: number | null;
}

export class Hands {
  readonly #random: Random;
  readonly #monotonic: () => number;
  readonly #manual = new Map<string, Asked>();
  readonly #cancelled = new Map<string, Asked>();
  /** The time of the last answered cancel, by delivery. */
  readonly #takenBackAt = new Map<string, number>();
  readonly #erased = new Map<string, Asked>();

  constructor(random: Random, monotonic: () => number) {
    this.#random = random;
    this.#monotonic = monotonic;
  }

  /** Does something to an event, usually one of the last, because most faults affect deliveries in progress. */
  touch(process: Process, acked: readonly Acked[]): void {
    const { id: event } = this.#random.pick(this.#random.chance(0.7) ? acked.slice(-5) : acked);
    const act = this.#random.pick([this.#attempt, this.#attempt, this.#attempt, this.#cancel, this.#erase]);
    process.store.reads.getEvent(null, event).then(
      (found) => {
        if (found === null || Buffer.from(found.data ?? []).includes(DEADLY)) return;
        act.call(this, process, found).catch(() => {});
      },
      () => {},
    );
  }

  /** True if an operator cancelled or erased the event, or tried to. */
  tookBack(event: string): boolean {
    return this.#cancelled.has(event) || this.#erased.has(event);
  }

  attempted(delivery: string): boolean {
    return this.#manual.has(delivery);
  }

  /** Returns the time at which an attempt of this delivery was last requested. */
  lastAskedAt(delivery: string): number {
    return this.#manual.get(delivery)?.lastAt ?? Number.NEGATIVE_INFINITY;
  }

  async #attempt(process: Process, { deliveries }: EventView): Promise<void> {
    if (deliveries.length === 0) return;
    const { id } = this.#random.pick(deliveries);
    // Sometimes two attempts are requested at once.
    const times = this.#random.chance(0.3) ? 2 : 1;
    const once = async () => {
      const asked = this.#ask(this.#manual, id);
      const requested = await process.store.deliveries.requestAttempt(null, id, 0);
      if (!process.alive) return;
      if (requested.result !== "requested") return void asked.count--;
      process.dispatcher.attempt(requested);
      asked.ackedAt ??= this.#monotonic();
    };
    await Promise.all(Array.from({ length: times }, once));
  }

  async #cancel(process: Process, { id }: EventView): Promise<void> {
    await this.#takeBack(process, this.#ask(this.#cancelled, id), () => process.store.events.cancel(null, id, null));
  }

  async #erase(process: Process, { id }: EventView): Promise<void> {
    await this.#takeBack(process, this.#ask(this.#erased, id), () =>
      process.store.events.erase(null, id, process.clock.now()),
    );
  }

  /** A full disk may refuse it, even half-way, so it is requested again. */
  async #takeBack(process: Process, asked: Asked, ask: () => Promise<Withdrawal>): Promise<void> {
    const again = () => void process.clock.after(AGAIN_MS, () => unawaited(this.#takeBack(process, asked, ask)));
    const withdrawal = await ask().catch(again);
    if (withdrawal === undefined) return;
    if (withdrawal.result !== "withdrawn") return;
    await process.dispatcher.withdraw(withdrawal.deliveries);
    if (!process.alive) return;
    asked.ackedAt ??= this.#monotonic();
    for (const { delivery } of withdrawal.deliveries) this.#takenBackAt.set(delivery, this.#monotonic());
  }

  /** V8 and V14, once everything has had time to end. */
  async check(
    store: Store,
    { attempts, bulk, holds, kinds }: Pick<Run, "attempts" | "bulk" | "holds" | "kinds">,
  ): Promise<string[]> {
    const violations: string[] = [];
    for (const [id, at] of this.#takenBackAt) {
      // The delivery may have been pruned by now, or replayed if it had failed.
      const delivery = await store.reads.getDelivery(null, id);
      if (delivery?.status !== "cancelled" || !startsAfter(attempts, id, at)) continue;
      // After a replay it may have been cancelled again, by a disable or a job.
      const { event, endpoint } = delivery;
      if ((holds.cancelledAt(endpoint) ?? at) > at) continue;
      if (bulk.mayHaveCancelled({ id: event, sentAt: at }, endpoint)) continue;
      violations.push(`V8: ${id} was attempted after it was cancelled`);
    }
    for (const [event, { ackedAt }] of this.#erased) {
      if (ackedAt === null) continue;
      const found = await store.reads.getEvent(null, event);
      if (found === null) continue;
      const { data } = (await store.reads.listAttempts({ tenant: null, event, limit: 100, order: "oldest" }))!;
      if (found.data !== null) violations.push(`V14: ${event} was erased and says something`);
      if (data.some(({ responseBody }) => responseBody.length > 0)) violations.push(`V14: ${event} keeps an answer`);
      for (const { id } of found.deliveries) {
        if (startsAfter(attempts, id, ackedAt)) violations.push(`V8: ${id} was attempted after it was erased`);
      }
    }
    // A disable cancels attempts that were requested before it.
    for (const [id, { count, ackedAt }] of this.#manual)
      violations.push(...(await this.#unmade(store, id, count + bulk.attempting, kinds.holds ? null : ackedAt)));
    return violations;
  }

  #ask(all: Map<string, Asked>, id: string): Asked {
    const asked = all.get(id) ?? { count: 0, lastAt: 0, ackedAt: null };
    asked.count++;
    asked.lastAt = this.#monotonic();
    all.set(id, asked);
    return asked;
  }

  async #unmade(store: Store, id: string, count: number, ackedAt: number | null): Promise<string[]> {
    const delivery = await store.reads.getDelivery(null, id);
    if (delivery === null) return [];
    const { data } = (await store.reads.listAttempts({ tenant: null, delivery: id, limit: 100, order: "oldest" }))!;
    const made = data.filter(({ trigger }) => trigger === "manual").length;
    if (made > count) return [`V14: ${id} was attempted by hand ${made} times and asked for ${count} times`];
    const settled = ["delivered", "cancelled"].includes(delivery.status) || this.tookBack(delivery.event);
    if (made === 0 && ackedAt !== null && !settled) return [`V14: ${id} was to be attempted by hand and never was`];
    return [];
  }
}
