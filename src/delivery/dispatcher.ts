/**
 * Which deliveries come next. It keeps a window of pending deliveries per endpoint in memory, reads what has fallen
 * due behind them, hands them to the sender, and has recorded what came of each.
 *
 *   publish ──fresh──► window ──► sending ──ended──► recorder ──► released
 *      └──waiting──► disk ──due──► window                └──retry──► disk
 */
import type { Clock } from "../clock.ts";
import type { Claim } from "../domain/delivery.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { Ladder } from "../domain/ladder.ts";
import type { Log } from "../log.ts";
import type { EventDelivery, Handover, Store, Waiting } from "../store/store.ts";
import { CarefulSending } from "./careful-sending.ts";
import { ClockShift } from "./clock-shift.ts";
import type { Deliveries } from "./deliveries.ts";
import { Disabling, type DisablingRules } from "./disabling.ts";
import { DueReader } from "./due-reader.ts";
import { Forgetting } from "./forgetting.ts";
import { Handing } from "./handing.ts";
import { endpointsOwed, HorizonSweep } from "./horizon-sweep.ts";
import { Idleness } from "./idleness.ts";
import { ManualAttempts } from "./manual-attempts.ts";
import { OutageWatch } from "./outage-watch.ts";
import { Pauses } from "./pauses.ts";
import { Recorder, type EndedClaim } from "./recorder.ts";
import type { Ended, Sending } from "./sending.ts";
import { Room } from "./room.ts";
import { Shortage } from "./shortage.ts";
import { Suspects } from "./suspects.ts";
import { Targets } from "./targets.ts";
import { Waker } from "./waker.ts";
import type { DeliveryWatcher } from "./watcher.ts";
import { Windows } from "./windows.ts";
import { Withdrawal } from "./withdrawal.ts";

type DispatcherStore = Pick<
  Store,
  | "due"
  | "earliestDue"
  | "waiting"
  | "fresh"
  | "record"
  | "target"
  | "park"
  | "shiftDue"
  | "clockUnsettled"
  | "clockSettled"
  | "lastInstant"
  | "careful"
  | "markStarted"
  | "suspects"
  | "outlived"
  | "failingSince"
  | "disableEndpoint"
  | "requestedAttempt"
  | "requestedAttempts"
  | "getPause"
>;

export interface DispatcherParts {
  readonly store: DispatcherStore;
  readonly sending: (onEnded: (batch: readonly Ended[]) => void) => Sending;
  readonly clock: Clock;
  readonly ladder: Ladder;
  readonly maxRetryAfter?: number;
  /** How long an attempt may take. */
  readonly timeoutMs: number;
  readonly log: Log;
  /** Bytes of bodies that memory may hold. */
  readonly heldBytes: number;
  /** Called where an error is our bug: the daemon must end rather than go on wrongly. */
  readonly onFault: (error: unknown) => void;
  /** When endpoints are disabled by themselves; left out: never. */
  readonly disabling?: DisablingRules;
  readonly watcher?: DeliveryWatcher;
}

/** A death of the process after this long is no sign of a deadly delivery. */
const YOUNG_MS = 60_000;

export class Dispatcher implements Deliveries {
  readonly #parts: DispatcherParts;
  readonly #sending: Sending;
  readonly #pauses: Pauses;
  readonly #windows = new Windows();
  readonly #targets: Targets;
  readonly #shift: ClockShift;
  readonly #recorder: Recorder;
  readonly #suspects: Suspects;
  readonly #outage: OutageWatch;
  readonly #waker: Waker;
  readonly #forgetting: Forgetting;
  readonly #disabling: Disabling;
  readonly #manual: ManualAttempts;
  readonly #withdrawal: Withdrawal;
  readonly #sweep: HorizonSweep;
  readonly #handing: Handing;
  readonly #reader: DueReader;
  readonly #room: Room;
  readonly #shortage: Shortage;
  readonly #idleness = new Idleness(() => this.#isIdle());
  #youngUntil: number;
  #stopping = false;
  /** By delivery: who waits for its end. */
  readonly #watched = new Map<string, () => void>();

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#youngUntil = parts.clock.monotonic() + YOUNG_MS;
    const sending = parts.sending((batch) => this.#ended(batch));
    this.#sending = parts.store.careful ? new CarefulSending(sending, parts.store, parts.onFault) : sending;
    this.#pauses = new Pauses(this.#sending);
    this.#targets = new Targets(parts.store, this.#sending);
    this.#shift = new ClockShift({
      ...parts,
      endpoints: () => this.#windows.endpoints(),
      written: () => this.#recorder.written(),
      onMoved: (waiting) => this.#windows.noteWaiting(waiting),
      onStep: (by) => parts.log.warn({ step_ms: Math.round(by) }, "the clock was set; due times move with it"),
    });
    this.#recorder = new Recorder({
      ...parts,
      shift: this.#shift,
      tenantOf: (endpoint) => this.#targets.tenantOf(endpoint),
      onRecorded: (claim, waiting) => this.#recorded(claim, waiting),
      onCommitted: () => {
        this.#waker.arm();
        this.#idleness.look();
      },
      onStuck: () => void this.#pauses.begin("unrecorded"),
      onFlowing: () => this.#pauses.end("unrecorded"),
    });
    this.#outage = new OutageWatch({
      ...parts,
      record: (ended) => this.#record(ended),
      again: (ended) => ended.forEach(({ claim }) => this.#handing.send(claim.endpoint, [claim])),
      pause: () => void this.#pauses.begin("unreachable"),
      probe: () => void (this.#pauses.isOnly("unreachable") && this.#sending.probe()),
      resume: () => this.#pauses.end("unreachable"),
    });
    this.#suspects = new Suspects({
      ...parts,
      // A disable takes back what was asked for by hand; what else is owed goes back to the disk.
      isOwed: async ({ trigger, delivery }) =>
        trigger !== "manual" || (await parts.store.requestedAttempt(delivery)) !== null,
      hold: (claim) => this.#windows.hold(claim),
      send: (claim) => this.#handing.send(claim.endpoint, [claim]),
      urlOf: async (endpoint) => (await this.#targets.get(endpoint))?.url ?? "",
      record: (ended) => this.#recorder.record([ended]),
    });
    this.#forgetting = new Forgetting({
      ...parts,
      sending: this.#sending,
      windows: this.#windows,
      now: () => parts.clock.now(),
      release: ({ endpoint, delivery }) => this.#release(endpoint, delivery),
    });
    this.#disabling = new Disabling({
      ...parts,
      rules: parts.disabling ?? { onGone: false, afterMs: 0 },
      onDisabled: (endpoint, reason) => {
        parts.watcher?.disabled(endpoint, reason);
        return this.refresh(endpoint);
      },
    });
    this.#withdrawal = new Withdrawal({
      takeBack: (endpoint) => this.#forgetting.takeBack(endpoint),
      windows: this.#windows,
      release: ({ endpoint, delivery }) => this.#release(endpoint, delivery),
      resend: (endpoint, claims) => this.#handing.send(endpoint, claims),
    });
    this.#handing = new Handing({
      ...parts,
      sending: this.#sending,
      targets: this.#targets,
      withdrawal: this.#withdrawal,
      forgetting: this.#forgetting,
      release: ({ endpoint, delivery }) => this.#release(endpoint, delivery),
      wake: () => this.wake(),
      onRest: () => this.#idleness.look(),
    });
    this.#reader = new DueReader({
      ...parts,
      windows: this.#windows,
      targets: this.#targets,
      shift: this.#shift,
      sending: this.#sending,
      send: (endpoint, claims) => this.#handing.send(endpoint, claims),
      stopping: () => this.#stopping,
    });
    this.#room = new Room({
      ...parts,
      windows: this.#windows,
      forgetting: this.#forgetting,
      sending: this.#sending,
      onRoom: () => this.wake(),
      onError: (error) => this.#failed(error),
    });
    this.#shortage = new Shortage({
      ...parts,
      pauses: this.#pauses,
      again: (claim) => this.#handing.send(claim.endpoint, [claim]),
    });
    this.#manual = new ManualAttempts({
      ...parts,
      isHeld: ({ endpoint, delivery }) => this.#windows.find(endpoint, delivery) !== undefined,
      hold: (claim) => this.#windows.hold(claim),
      send: (claim) => this.#handing.send(claim.endpoint, [claim]),
      mayStart: () => !this.#stopping && !this.#suspects.onTrial,
      onRest: () => this.#idleness.look(),
    });
    this.#sweep = new HorizonSweep({
      ...parts,
      windows: this.#windows,
      isSentTo: async (endpoint) => (await parts.store.target(endpoint))?.enabled === true,
      onRepaired: (endpoint) => void this.refresh(endpoint).catch((error: unknown) => this.#failed(error)),
    });
    this.#waker = new Waker({
      clock: parts.clock,
      pass: async () => {
        if (!this.#suspects.onTrial) await this.#reader.pass();
      },
      nextDueAt: () => this.#windows.nextDueAt,
      onRest: () => this.#idleness.look(),
      onError: (error) => this.#failed(error),
    });
  }

  /** Finds out who is owed something. Nothing is read of what is owed until it is due. */
  async start(): Promise<void> {
    if ((await this.#parts.store.getPause()) !== null) await this.pause();
    for await (const page of endpointsOwed(this.#parts.store)) {
      for (const [endpoint, dueAt] of page) {
        const window = this.#windows.of(endpoint);
        window.nextDueAt = dueAt;
        this.#windows.plan(window);
      }
    }
    if (this.#parts.store.lastInstant > this.#parts.clock.now()) this.#shift.clamp();
    await this.#manual.load();
    const suspects = await this.#parts.store.suspects();
    const trial = suspects.length === 0 ? Promise.resolve() : this.#suspects.try(suspects);
    void trial.then(
      () => {
        this.wake();
        this.#manual.retry();
      },
      (error: unknown) => this.#parts.onFault(error),
    );
  }

  /** Each second: tries again what could not be recorded, reads what is due. */
  tick(): void {
    if (this.#parts.clock.monotonic() >= this.#youngUntil) {
      this.#youngUntil = Number.POSITIVE_INFINITY;
      // Not to have it written costs a little care after the next death.
      this.#parts.store.outlived().catch(() => {});
    }
    this.#recorder.retry();
    for (const claim of this.#forgetting.takeRefused()) this.#handing.send(claim.endpoint, [claim]);
    this.#manual.retry();
    this.wake();
  }

  wake(): void {
    this.#waker.wake();
  }

  /** Each minute: finds deliveries that memory has lost, of which there must be none, and has them sent. */
  async sweep(): Promise<void> {
    await this.#sweep.run().catch((error: unknown) => this.#failed(error));
  }

  /** How many deliveries sweeps found lost since the start: anything but 0 is a bug of ours. */
  get lost(): number {
    return this.#sweep.found;
  }

  // --- Deliveries ---

  readonly hasRoom = (endpoint: string): boolean => {
    if (this.#stopping || this.#suspects.onTrial) return false;
    return this.#room.isFor(endpoint);
  };

  accept(handover: Handover): void {
    this.#parts.watcher?.accepted(handover);
    this.#shift.look();
    for (const waiting of handover.waiting) {
      // It was due at once: if that lies ahead now, the clock was set back while it was being committed.
      if (waiting.dueAt > this.#parts.clock.now()) this.#shift.clamp([waiting.endpoint]);
      this.#windows.noteWaiting(waiting);
    }
    for (const claim of handover.fresh) this.#windows.hold(claim);
    if (handover.fresh.every(({ endpoint }) => this.#targets.isOpen(endpoint))) this.#sending.send(handover.fresh);
    else for (const claim of handover.fresh) this.#handing.send(claim.endpoint, [claim]);
    if (handover.waiting.length > 0) this.wake();
    this.#room.look();
  }

  whenReleased({ endpoint, delivery }: Claim, run: () => void): () => void {
    if (this.#windows.find(endpoint, delivery) === undefined) this.#parts.clock.nextTurn(run);
    else this.#watched.set(delivery, run);
    return () => void this.#watched.delete(delivery);
  }

  async refresh(endpoint: string): Promise<void> {
    this.#parts.watcher?.changed(endpoint);
    const target = await this.#targets.renew(endpoint);
    if (target === null) return this.drop(endpoint);
    // What was asked for before it was disabled is owed no more; nor what was cancelled when it was enabled.
    const manual = this.#manual;
    const given = target.enabled ? await manual.takenInVainFor(endpoint) : manual.takenFor(endpoint);
    await this.#withdrawal.withdraw(given);
    if (!target.enabled) await this.#handing.handOver(target, await this.#forgetting.takeBack(endpoint));
    this.#windows.plan(this.#windows.of(endpoint));
    this.wake();
  }

  async drop(endpoint: string): Promise<void> {
    this.#parts.watcher?.changed(endpoint);
    this.#targets.forget(endpoint);
    this.#windows.of(endpoint).nextDueAt = Number.POSITIVE_INFINITY;
    for (const delivery of await this.#sending.forget(endpoint)) this.#release(endpoint, delivery);
    this.#idleness.look();
  }

  get inFlight(): number {
    return this.#sending.inFlight;
  }

  get paused(): boolean {
    return this.#pauses.has("operator");
  }

  pause(): Promise<void> {
    return this.#pauses.begin("operator");
  }

  resume(): void {
    this.#pauses.end("operator");
  }

  oldestDueAt(now: number): number | null {
    return this.#windows.oldestDueAt(now, (endpoint) => this.#targets.isOpen(endpoint));
  }

  attempt(requested: EventDelivery): void {
    this.#manual.request(requested);
  }

  async withdraw(deliveries: readonly EventDelivery[]): Promise<void> {
    this.#suspects.withdraw(deliveries);
    this.#parts.watcher?.withdrawn(deliveries);
    await this.#withdrawal.withdraw(deliveries);
    this.wake();
  }

  // --- the end ---

  /** Resolves when nothing is due, in flight or unrecorded. */
  idle(): Promise<void> {
    return this.#idleness.reached();
  }

  /** Starts no attempt from now on; resolves when those in flight have ended and are recorded. */
  async stop(): Promise<void> {
    this.#startNothing();
    await this.#sending.drain();
    this.#recorder.end();
    await this.idle();
    // Nothing ends any more.
    for (const run of this.#watched.values()) run();
    await this.#sending.close();
  }

  /** Ends what is in flight as `interrupted`; `stop` then resolves soon. */
  abort(): void {
    // Or what it ends would be taken for a shortage, and be made again once that is over.
    this.#startNothing();
    this.#sending.abort();
  }

  // --- internal ---

  #startNothing(): void {
    this.#stopping = true;
    void this.#pauses.begin("stopping");
    this.#waker.stop();
    this.#outage.stop();
  }

  #ended(batch: readonly Ended[]): void {
    const claims: EndedClaim[] = [];
    for (const ended of batch) {
      const claim = this.#windows.find(ended.endpoint, ended.delivery);
      if (claim === undefined) throw new Error(`${ended.delivery} ended and was not held`);
      if (ended.outcome.ours && !this.#stopping) this.#shortage.wait(claim, ended.outcome.detail);
      else claims.push({ claim, ended });
    }
    const decided = this.#outage.sort(claims);
    if (decided.length > 0) this.#record(decided);
  }

  #record(ended: readonly EndedClaim[]): void {
    for (const each of ended) this.#disabling.look(each.claim, each.ended);
    this.#recorder.record(ended);
  }

  /** Its end leaves room for what waits behind the window. */
  #recorded({ endpoint, delivery }: Claim, waiting: Waiting | null): void {
    this.#release(endpoint, delivery);
    if (waiting !== null) this.#windows.noteWaiting(waiting);
    const window = this.#windows.of(endpoint);
    // Read in halves of a window, not row by row.
    if (window.nextDueAt > this.#parts.clock.now() || window.held.size > this.#sending.cap(endpoint)) return;
    this.#windows.plan(window);
    this.wake();
  }

  #release(endpoint: string, delivery: string): void {
    this.#windows.release(endpoint, delivery);
    this.#withdrawal.released(delivery);
    this.#suspects.released();
    if (this.#watched.size > 0) this.#watched.get(delivery)?.();
    this.#manual.released(delivery);
  }

  /** A full disk moves and parks nothing; the next tick tries again. */
  #failed(error: unknown): void {
    if (!(error instanceof WebhookdError)) this.#parts.onFault(error);
  }

  #isIdle(): boolean {
    if (this.#waker.passing || this.#recorder.busy) return false;
    const owing =
      this.#suspects.onTrial ||
      this.#manual.busy ||
      this.#windows.held > 0 ||
      this.#windows.nextDueAt <= this.#parts.clock.now();
    return !owing || this.#stopping;
  }
}
