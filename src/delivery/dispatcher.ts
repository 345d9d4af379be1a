/**
 * Decides which deliveries come next. Every event is an input to the core (`core/`), which changes memory and returns
 * effects. The executor carries them out.
 */
import type { Clock } from "../clock.ts";
import type { AddressRules } from "../domain/network/address.ts";
import type { Ended } from "../domain/deliveries/attempt.ts";
import type { Claim } from "../domain/deliveries/delivery.ts";
import type { Ladder } from "../domain/deliveries/due-time.ts";
import type { Halt } from "../domain/deliveries/pause.ts";
import type { Capacity } from "../domain/events/routing.ts";
import type { Log } from "../log.ts";
import type { EventDelivery, Handover, Store, Waiting, WithdrawnDelivery } from "../store/store.ts";
import { CarefulSending, Trial } from "./careful-mode.ts";
import { endpointDropped, endpointReadable } from "./core/changed.ts";
import { requested } from "./core/disk.ts";
import { published, replayed, stopping, tick } from "./core/lifecycle.ts";
import { refreshAll, type Deliveries, type DeliveryWatcher } from "./deliveries.ts";
import { Executor } from "./executor.ts";
import { findPending, HorizonSweep } from "./horizon-sweep.ts";
import { Lease } from "./lease.ts";
import type { AutoDisableRules, Memory, Queue } from "./memory/memory.ts";
import type { Sending } from "./send/sender.ts";
import { unawaited } from "../domain/unawaited.ts";

/** A process that dies after this long is not assumed to have died of a deadly delivery. */
const YOUNG_MS = 60_000;
/** The maximum number of steps of the store in one run. The next run, ten seconds later, does more. */
const HASTENED_AT_ONCE = 20;

export interface DispatcherParts {
  readonly store: Store;
  readonly sending: (onEnded: (batch: readonly Ended[]) => void) => Sending;
  readonly clock: Clock;
  readonly log: Log;
  readonly ladder: Ladder;
  /** The longest time, in milliseconds, by which a receiver may postpone its next attempt. Default: 0. */
  readonly maxRetryAfter?: number;
  /** The time limit of an attempt. */
  readonly timeoutMs: number;
  /** The number of body bytes that memory may hold. */
  readonly loadedBytes: number;
  /** The conditions under which endpoints are disabled automatically. Default: never. */
  readonly autoDisable?: AutoDisableRules;
  /** Returns why this host's resolvers are of no use, or null. By default they are assumed to answer. */
  readonly askResolvers?: () => Promise<string | null>;
  /** Called for an error that is our bug: the daemon must end rather than go on with wrong state. */
  readonly onFault: (error: unknown) => void;
  readonly watchers?: readonly DeliveryWatcher[];
}

export class Dispatcher implements Deliveries {
  readonly #parts: DispatcherParts;
  readonly #watchers: readonly DeliveryWatcher[];
  readonly #memory: Memory;
  readonly #executor: Executor;
  readonly lease: Lease;
  /** Null unless the last process died in a way that calls for care. */
  #careful: CarefulSending | null = null;
  readonly #trial: Trial;
  readonly #sweep: HorizonSweep;
  #youngUntil: number;
  #tookUp = true;
  /** The number of deliveries that `hasten` has moved since the start. */
  putOff = 0;
  #isUnloading = false;

  constructor(parts: DispatcherParts) {
    const { clock, ladder, maxRetryAfter = 0, onFault, store, timeoutMs, loadedBytes } = parts;
    this.#parts = parts;
    this.#watchers = parts.watchers ?? [];
    this.#youngUntil = clock.monotonic() + YOUNG_MS;
    this.#executor = new Executor({
      ...parts,
      rules: {
        ladder,
        maxRetryAfter,
        timeoutMs,
        loadedBytes,
        autoDisable: parts.autoDisable ?? { onGone: false, afterMs: 0 },
      },
      sending: (onEnded) => {
        const sending = parts.sending(onEnded);
        return store.recovery.careful ? (this.#careful = new CarefulSending(sending, store, onFault)) : sending;
      },
      askResolvers: parts.askResolvers ?? (async () => null),
      onDisabled: (endpoint) => this.refresh(endpoint),
      watchers: this.#watchers,
    });
    this.#memory = this.#executor.memory;
    this.lease = new Lease({ store, clock, log: parts.log, executor: this.#executor, deliveries: this });
    this.#trial = new Trial(parts, this.#executor);
    this.#sweep = new HorizonSweep({ ...parts, memory: this.#memory });
  }

  /** Finds out which endpoints have deliveries waiting. The deliveries themselves are read when they are due. */
  async start(): Promise<void> {
    const { clock, store, onFault } = this.#parts;
    const { dueMoves, windows } = this.#memory;
    await this.lease.renew();
    if ((await store.operations.getPause()) !== null) await this.pause();
    this.#tookUp = await store.recovery.takeUp();
    await findPending(this.#parts, this.#memory);
    if (store.recovery.lastInstant > clock.now()) dueMoves.begin(null, this.#executor.now(), windows.endpoints());
    const suspects = await store.recovery.suspects();
    const trial = suspects.length === 0 ? Promise.resolve() : this.#trial.run(suspects);
    this.lease.listen();
    unawaited(trial.then(() => this.#executor.do(tick(this.#memory, this.#executor.now())), onFault));
  }

  /**
   * Called every second. Retries what could not be recorded, frees memory if nobody has published, and reads what is
   * due.
   */
  tick(): void {
    const { clock, store } = this.#parts;
    if (clock.monotonic() >= this.#youngUntil) {
      this.#youngUntil = Number.POSITIVE_INFINITY;
      this.#trial.end();
      // If this write fails, the next start is only more careful than it needs to be.
      store.recovery.outlived().catch(() => {});
    }
    if (!this.#tookUp) this.#takeUp().catch((error: unknown) => this.#executor.failed(error));
    if (this.#sweep.isWanted) unawaited(this.sweep());
    this.#careful?.retry();
    this.#executor.reorder();
    this.#executor.do(tick(this.#memory, this.#executor.now()));
    this.#unload();
  }

  /** Called every minute. Finds deliveries that memory has lost, and has them sent. There should be none. */
  async sweep(): Promise<void> {
    // Until everything has been taken over, a delivery that is missing from memory is not lost.
    if (!this.#tookUp || !this.lease.hasFoundAll) return;
    this.#executor.reorder();
    const failed = (error: unknown) => this.#executor.failed(error);
    const repaired = await this.#sweep.run().catch(failed);
    // An endpoint that cannot be read now must not keep the others waiting.
    for (const endpoint of repaired ?? []) await this.refresh(endpoint).catch(failed);
  }

  /**
   * Called every ten seconds. Gives deliveries that a wrong clock put off for longer than their ladder allows a due
   * time within it.
   */
  async hasten(): Promise<void> {
    if (!this.#tookUp || !this.lease.hasFoundAll) return;
    const moved = await this.#hasten().catch((error: unknown) => this.#executor.failed(error));
    const first = moved?.[0];
    if (first === undefined) return;
    this.putOff += moved!.length;
    const fields = { deliveries: moved!.length, endpoint: first.endpoint, event: first.event };
    this.#parts.log.warn(
      fields,
      "deliveries were due later than their ladder allows, because a clock was wrong; now they are not",
    );
    this.#executor.wake();
  }

  async #hasten(): Promise<readonly Waiting[]> {
    const { ladder, maxRetryAfter = 0, store } = this.#parts;
    const { dueMoves, windows } = this.#memory;
    const all: Waiting[] = [];
    for (let left = HASTENED_AT_ONCE; left > 0; left--) {
      const { wall: now } = this.#executor.now();
      // These due times are about to move with the clock anyway, and must not move twice.
      if (dueMoves.pending.length > 0) break;
      const moved = await store.recovery.hasten({ ladder, maxRetryAfter }, now);
      for (const each of moved) if (!this.#isElsewhere(each.endpoint)) windows.noteWaiting(each);
      all.push(...moved);
      if (moved.length === 0) break;
    }
    return all;
  }

  /** The number of deliveries that sweeps have found lost since the start. Anything but 0 is our bug. */
  get lost(): number {
    return this.#sweep.found;
  }

  /** Sets the rules for every new connection, and for every request that is not on the wire yet. */
  setEgress(rules: AddressRules): void {
    this.#executor.sending.setEgress(rules);
  }

  // --- Deliveries ---

  get capacity(): Capacity {
    return this.#memory.capacity;
  }

  accept(handover: Handover): void {
    for (const watcher of this.#watchers) watcher.accepted?.(handover);
    this.#executor.do(published(this.#memory, handover, this.#executor.now()));
    this.#unload();
  }

  replayed(waiting: readonly Waiting[]): void {
    for (const watcher of this.#watchers) watcher.accepted?.({ fresh: [], waiting });
    this.#executor.reorder();
    this.#executor.do(replayed(this.#memory, waiting, this.#executor.now()));
  }

  released(claim: Claim, enough: AbortSignal): Promise<void> {
    return this.#executor.released(claim, enough);
  }

  async refresh(endpoint: string, isHeard = false): Promise<void> {
    const { store } = this.#parts;
    const { manual } = this.#memory;
    if (!isHeard) for (const watcher of this.#watchers) watcher.changed?.(endpoint);
    if (this.#isElsewhere(endpoint)) return isHeard ? undefined : store.ownership.untilNotified([endpoint]);
    const target = await this.#executor.lookUp(endpoint);
    if (target === null) return this.drop(endpoint, isHeard);
    // Disabling an endpoint cancels the attempts that were requested earlier. If it was enabled again, make only those
    // that the store still has.
    const taken = manual.takenFor(endpoint);
    const isRequested = await Promise.all(
      taken.map(({ delivery }) => target.enabled && store.deliveries.requestedAttempt(delivery)),
    );
    await this.#executor.withdraw(taken.filter((_, at) => !isRequested[at]));
    if (!target.enabled) await this.#executor.sift(endpoint);
    this.#executor.do(endpointReadable(this.#memory, endpoint));
  }

  refreshAll(endpoints: readonly string[]): Promise<void> {
    return refreshAll(endpoints, (endpoint) => this.refresh(endpoint));
  }

  async drop(endpoint: string, isHeard = false): Promise<void> {
    if (!isHeard) for (const watcher of this.#watchers) watcher.changed?.(endpoint);
    const { ownership } = this.#parts.store;
    if (this.#isElsewhere(endpoint)) return isHeard ? undefined : ownership.untilNotified([endpoint]);
    this.#executor.forgetEndpoint(endpoint);
    this.#executor.do(endpointDropped(this.#memory, endpoint, []));
    const given = await this.#executor.sending.forget(endpoint, true);
    this.#executor.do(endpointDropped(this.#memory, endpoint, given));
    this.#executor.rest();
  }

  /** Null if the endpoint is not known at the moment. */
  tenantOf(endpoint: string): string | null {
    return this.#memory.endpoints.tenantOf(endpoint);
  }

  get inFlight(): number {
    return this.#executor.sending.inFlight;
  }

  get paused(): boolean {
    return this.#memory.halts.has("operator");
  }

  get halts(): readonly Halt[] {
    const { halts, shortage } = this.#memory;
    return shortage.halt === null ? halts.all : [...halts.all, shortage.halt];
  }

  pause(): Promise<void> {
    this.#memory.halts.begin("operator", "all sending is paused", this.#parts.clock.now());
    // Pause the sender even if sending was paused before: a probe may have been about to start.
    return this.#executor.sending.pause();
  }

  resume(): void {
    if (this.#memory.halts.end("operator")) this.#executor.sending.resume();
  }

  oldestDueAt(now: number): number | null {
    return this.#memory.oldestDueAt(now);
  }

  queues(now: number): readonly Queue[] {
    return this.#memory.queues(now);
  }

  atOnce(endpoint: string): number | null {
    return this.#isElsewhere(endpoint) ? null : this.#executor.sending.cap(endpoint);
  }

  attempt(wanted: EventDelivery): void {
    if (!this.#isElsewhere(wanted.endpoint)) this.#executor.do(requested(this.#memory, wanted));
  }

  async withdraw(deliveries: readonly WithdrawnDelivery[], isHeard = false): Promise<void> {
    this.#trial.withdraw(deliveries);
    if (!isHeard) for (const watcher of this.#watchers) watcher.withdrawn?.(deliveries);
    this.#executor.reorder();
    await this.#executor.withdraw(deliveries);
    this.#executor.wake();
    const elsewhere = isHeard ? [] : deliveries.filter(({ endpoint }) => this.#isElsewhere(endpoint));
    if (elsewhere.length > 0)
      await this.#parts.store.ownership.untilNotified(elsewhere.map(({ endpoint }) => endpoint));
  }

  /** Resolves when nothing is due, in flight or unrecorded. */
  idle(): Promise<void> {
    return this.#executor.idle();
  }

  /** Starts no more attempts. Resolves when those in flight have ended and are recorded. */
  async stop(): Promise<void> {
    const { sending } = this.#executor;
    this.#startNothing();
    await sending.drain();
    this.#executor.recordForTheLastTime();
    await this.idle();
    this.#executor.endReleases();
    await sending.close();
    await this.lease.end();
  }

  /** Ends what is in flight as `interrupted`, so that `stop` soon resolves. */
  abort(): void {
    // Otherwise the interrupted attempts would be taken for a shortage and made again when it is over.
    this.#startNothing();
    this.#executor.sending.abort();
  }

  #startNothing(): void {
    this.lease.stop();
    this.#executor.do(stopping(this.#memory, this.#executor.now()));
    this.#executor.stopTimers();
  }

  /** Takes over what the last process left, if the disk was too full for that at the start. */
  async #takeUp(): Promise<void> {
    if (!(await this.#parts.store.recovery.takeUp())) return;
    this.#tookUp = true;
    await findPending(this.#parts, this.#memory);
    this.#executor.wake();
  }

  #isElsewhere(endpoint: string): boolean {
    return this.#memory.elsewhere?.(endpoint) === true;
  }

  /** While memory is full, unloads unstarted deliveries of the endpoint with the most, until there is capacity. */
  #unload(): void {
    const { windows } = this.#memory;
    if (!windows.isFull || this.#isUnloading) return;
    this.#isUnloading = true;
    const make = async () => {
      // Wait for the end of the turn, so that the whole batch has arrived.
      await new Promise<void>((resolve) => this.#parts.clock.nextTurn(resolve));
      for (let most = windows.fullest(); windows.isFull && most !== null; most = windows.fullest()) {
        const before = windows.loaded;
        // From now on, new commits of this endpoint queue behind the unloaded deliveries.
        windows.of(most).overflow();
        await this.#executor.park(await this.#executor.takeBack(most));
        if (windows.loaded >= before) break;
      }
      this.#executor.wake();
    };
    unawaited(
      make()
        .catch((error: unknown) => this.#executor.failed(error))
        .finally(() => (this.#isUnloading = false)),
    );
  }
}
