/**
 * Which deliveries come next. Each thing that happens is an input to the core (`core/`), which changes what memory holds
 * and answers with effects; the executor does them.
 */
import type { Clock } from "../clock.ts";
import type { AddressRules } from "../domain/network/address.ts";
import type { Ended } from "../domain/deliveries/attempt.ts";
import type { Claim } from "../domain/deliveries/delivery.ts";
import type { Ladder } from "../domain/deliveries/due-time.ts";
import type { Halt } from "../domain/deliveries/pause.ts";
import type { Log } from "../log.ts";
import type { EventDelivery, Handover, Store, Waiting, WithdrawnDelivery } from "../store/store.ts";
import { CarefulSending, Trial } from "./careful-mode.ts";
import { endpointDropped, endpointReadable, withdrawn } from "./core/changed.ts";
import { requested } from "./core/disk.ts";
import { hasRoom, published, stopping, tick } from "./core/way.ts";
import type { Deliveries, DeliveryWatcher } from "./deliveries.ts";
import { Executor } from "./executor.ts";
import { findOwed, HorizonSweep } from "./horizon-sweep.ts";
import { Lease } from "./lease.ts";
import type { AutoDisableRules, Memory, Queue } from "./memory/memory.ts";
import type { Sending } from "./send/sender.ts";

/** A death of the process after this long is no sign of a deadly delivery. */
const YOUNG_MS = 60_000;
/** Steps of the store: others are made ten seconds later. */
const HASTENED_AT_ONCE = 20;

export interface DispatcherParts {
  readonly store: Store;
  readonly sending: (onEnded: (batch: readonly Ended[]) => void) => Sending;
  readonly clock: Clock;
  readonly log: Log;
  readonly ladder: Ladder;
  /** Milliseconds by which a receiver may put off its next attempt; left out: none. */
  readonly maxRetryAfter?: number;
  /** How long an attempt may take. */
  readonly timeoutMs: number;
  /** Bytes of bodies that memory may hold. */
  readonly loadedBytes: number;
  /** When endpoints are disabled by themselves; left out: never. */
  readonly autoDisable?: AutoDisableRules;
  /** Why this host's resolvers are of no use to anybody, or null; left out: they answer. */
  readonly askResolvers?: () => Promise<string | null>;
  /** Called where an error is our bug: the daemon must end rather than go on wrongly. */
  readonly onFault: (error: unknown) => void;
  readonly watchers?: readonly DeliveryWatcher[];
}

export class Dispatcher implements Deliveries {
  readonly #parts: DispatcherParts;
  readonly #watchers: readonly DeliveryWatcher[];
  readonly #memory: Memory;
  readonly #executor: Executor;
  readonly lease: Lease;
  /** Null while nothing is suspected. */
  #careful: CarefulSending | null = null;
  readonly #trial: Trial;
  readonly #sweep: HorizonSweep;
  #youngUntil: number;
  #tookUp = true;
  /** Since the start. */
  putOff = 0;
  #makesRoom = false;

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

  /** Finds out who is owed something. Nothing is read of what is owed until it is due. */
  async start(): Promise<void> {
    const { clock, store, onFault } = this.#parts;
    const { dueMoves, windows } = this.#memory;
    await this.lease.renew();
    if ((await store.operations.getPause()) !== null) await this.pause();
    this.#tookUp = await store.recovery.takeUp();
    await findOwed(this.#parts, this.#memory);
    if (store.recovery.lastInstant > clock.now()) dueMoves.begin(null, this.#executor.now(), windows.endpoints());
    const suspects = await store.recovery.suspects();
    const trial = suspects.length === 0 ? Promise.resolve() : this.#trial.run(suspects);
    this.lease.listen();
    void trial.then(() => this.#executor.do(tick(this.#memory, this.#executor.now())), onFault);
  }

  /** Each second: tries again what could not be recorded, makes room if nobody has published, reads what is due. */
  tick(): void {
    const { clock, store } = this.#parts;
    if (clock.monotonic() >= this.#youngUntil) {
      this.#youngUntil = Number.POSITIVE_INFINITY;
      this.#trial.end();
      // Not to have it written costs a little care after the next death.
      store.recovery.outlived().catch(() => {});
    }
    if (!this.#tookUp) void this.#takeUp().catch((error: unknown) => this.#executor.failed(error));
    if (this.#sweep.isWanted) void this.sweep();
    this.#careful?.retry();
    this.#executor.do(tick(this.#memory, this.#executor.now()));
    this.#makeRoom();
  }

  /** Each minute: finds deliveries that memory has lost, of which there must be none, and has them sent. */
  async sweep(): Promise<void> {
    // What is still to be taken up is not lost.
    if (!this.#tookUp || !this.lease.hasFoundAll) return;
    const failed = (error: unknown) => this.#executor.failed(error);
    const repaired = await this.#sweep.run().catch(failed);
    // One that cannot be read now keeps none of the others waiting.
    for (const endpoint of repaired ?? []) await this.refresh(endpoint).catch(failed);
  }

  /** Each ten seconds: what a wrong clock has put off for longer than its ladder allows is due in time again. */
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
      // What moves with the clock moves once.
      if (dueMoves.pending.length > 0) break;
      const moved = await store.recovery.hasten({ ladder, maxRetryAfter }, now);
      for (const each of moved) if (!this.#isElsewhere(each.endpoint)) windows.noteWaiting(each);
      all.push(...moved);
      if (moved.length === 0) break;
    }
    return all;
  }

  /** How many deliveries sweeps found lost since the start: anything but 0 is a bug of ours. */
  get lost(): number {
    return this.#sweep.found;
  }

  /** Every connection that is opened after it, and every request but those on the wire, keeps to these rules. */
  setEgress(rules: AddressRules): void {
    this.#executor.sending.setEgress(rules);
  }

  // --- Deliveries ---

  readonly hasRoom = (endpoint: string): boolean => hasRoom(this.#memory, endpoint);

  accept(handover: Handover): void {
    for (const watcher of this.#watchers) watcher.accepted?.(handover);
    this.#executor.do(published(this.#memory, handover, this.#executor.now()));
    this.#makeRoom();
  }

  released(claim: Claim, enough: AbortSignal): Promise<void> {
    return this.#executor.released(claim, enough);
  }

  async refresh(endpoint: string, isHeard = false): Promise<void> {
    const { store } = this.#parts;
    const { manual } = this.#memory;
    if (!isHeard) for (const watcher of this.#watchers) watcher.changed?.(endpoint);
    if (this.#isElsewhere(endpoint)) return isHeard ? undefined : store.ownership.heard([endpoint]);
    const target = await this.#executor.lookUp(endpoint);
    if (target === null) return this.drop(endpoint, isHeard);
    // What was asked for before it was disabled is owed no more; nor what was cancelled when it was enabled.
    const taken = manual.takenFor(endpoint);
    const owed = await Promise.all(
      taken.map(({ delivery }) => target.enabled && store.deliveries.requestedAttempt(delivery)),
    );
    await this.#withdraw(taken.filter((_, at) => !owed[at]));
    if (!target.enabled) await this.#executor.sift(endpoint);
    this.#executor.do(endpointReadable(this.#memory, endpoint));
  }

  async drop(endpoint: string, isHeard = false): Promise<void> {
    if (!isHeard) for (const watcher of this.#watchers) watcher.changed?.(endpoint);
    const { ownership } = this.#parts.store;
    if (this.#isElsewhere(endpoint)) return isHeard ? undefined : ownership.heard([endpoint]);
    this.#executor.forgetEndpoint(endpoint);
    this.#executor.do(endpointDropped(this.#memory, endpoint, []));
    const given = await this.#executor.sending.forget(endpoint, true);
    this.#executor.do(endpointDropped(this.#memory, endpoint, given));
    this.#executor.rest();
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
    // Even if all was paused before: a probe may have been on its way.
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

  attempt(owed: EventDelivery): void {
    if (!this.#isElsewhere(owed.endpoint)) this.#executor.do(requested(this.#memory, owed));
  }

  async withdraw(deliveries: readonly WithdrawnDelivery[], isHeard = false): Promise<void> {
    this.#trial.withdraw(deliveries);
    if (!isHeard) for (const watcher of this.#watchers) watcher.withdrawn?.(deliveries);
    await this.#withdraw(deliveries);
    this.#executor.wake();
    const elsewhere = isHeard ? [] : deliveries.filter(({ endpoint }) => this.#isElsewhere(endpoint));
    if (elsewhere.length > 0) await this.#parts.store.ownership.heard(elsewhere.map(({ endpoint }) => endpoint));
  }

  /** Resolves when nothing is due, in flight or unrecorded. */
  idle(): Promise<void> {
    return this.#executor.idle();
  }

  /** Starts no attempt from now on; resolves when those in flight have ended and are recorded. */
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

  /** Ends what is in flight as `interrupted`; `stop` then resolves soon. */
  abort(): void {
    // Or what it ends would be taken for a shortage, and be made again once that is over.
    this.#startNothing();
    this.#executor.sending.abort();
  }

  #startNothing(): void {
    this.lease.stop();
    this.#executor.do(stopping(this.#memory, this.#executor.now()));
    this.#executor.stopTimers();
  }

  /** The start was on a disk too full to take up what the last process left. */
  async #takeUp(): Promise<void> {
    if (!(await this.#parts.store.recovery.takeUp())) return;
    this.#tookUp = true;
    await findOwed(this.#parts, this.#memory);
    this.#executor.wake();
  }

  #isElsewhere(endpoint: string): boolean {
    return this.#memory.elsewhere?.(endpoint) === true;
  }

  /** Resolves once none of them is loaded but what was started. */
  async #withdraw(deliveries: readonly EventDelivery[]): Promise<void> {
    const endpoints = withdrawn(this.#memory, deliveries);
    await Promise.all([...endpoints].map((endpoint) => this.#executor.sift(endpoint)));
  }

  /** While memory is full: gives back what is not started of the endpoint that has most, until there is room. */
  #makeRoom(): void {
    const { windows } = this.#memory;
    if (!windows.isFull || this.#makesRoom) return;
    this.#makesRoom = true;
    const make = async () => {
      // After the turn, so that all of a batch is there.
      await new Promise<void>((resolve) => this.#parts.clock.nextTurn(resolve));
      for (let most = windows.fullest(); windows.isFull && most !== null; most = windows.fullest()) {
        const before = windows.loaded;
        // From now on what is committed queues behind them.
        windows.of(most).overflow();
        await this.#executor.park(await this.#executor.takeBack(most));
        if (windows.loaded >= before) break;
      }
      this.#executor.wake();
    };
    void make()
      .catch((error: unknown) => this.#executor.failed(error))
      .finally(() => (this.#makesRoom = false));
  }
}
