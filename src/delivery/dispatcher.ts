/**
 * Which deliveries come next. It keeps a window of pending deliveries per endpoint in memory, reads what has fallen
 * due behind them, hands them to the sender, and has recorded what came of each.
 *
 *   publish ──fresh──► window ──► sending ──ended──► recorder ──► released
 *      └──waiting──► disk ──due──► window                └──retry──► disk
 */
import type { Clock } from "../clock.ts";
import type { Claim } from "../domain/delivery.ts";
import type { Target } from "../domain/endpoint.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { Ladder } from "../domain/ladder.ts";
import type { Log } from "../log.ts";
import type { EventDelivery, Handover, Store, Waiting } from "../store/store.ts";
import { CarefulSending } from "./careful-sending.ts";
import { ClockShift } from "./clock-shift.ts";
import type { Deliveries } from "./deliveries.ts";
import { Disabling, type DisablingRules } from "./disabling.ts";
import { Forgetting } from "./forgetting.ts";
import { endpointsOwed, HorizonSweep } from "./horizon-sweep.ts";
import { ManualAttempts } from "./manual-attempts.ts";
import { OutageWatch } from "./outage-watch.ts";
import { Pauses } from "./pauses.ts";
import { Recorder, type EndedClaim } from "./recorder.ts";
import type { Ended, Sending } from "./sending.ts";
import { Suspects } from "./suspects.ts";
import { Targets } from "./targets.ts";
import { INITIAL_CAP } from "./turns.ts";
import { Waker } from "./waker.ts";
import type { DeliveryWatcher } from "./watcher.ts";
import type { Window } from "./window.ts";
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

/** Rows that are read in one turn of the event loop. */
const READ_LIMIT = 256;
/** What a read costs at least, in rows: so many reads go into one turn. */
const READ_COST = 8;
/** Deliveries that memory holds, in all; fresh ones of one endpoint; and what an endpoint may hold when it is full. */
const HELD_LIMIT = 20_000;
const HELD_FRESH_LIMIT = 4096;
const HELD_FEW = 32;
/** A death of the process after this long is no sign of a deadly delivery. */
const YOUNG_MS = 60_000;
const OUR_FAULT_PAUSE_MS = 1000;
const AGAIN_MS = 1000;

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
  #youngUntil: number;
  #makingRoom = false;
  #stopping = false;
  #cancelShortage: (() => void) | null = null;
  #idleWaiters: (() => void)[] = [];
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
        this.#settleIdle();
      },
      onStuck: () => void this.#pauses.begin("unrecorded"),
      onFlowing: () => this.#pauses.end("unrecorded"),
    });
    this.#outage = new OutageWatch({
      ...parts,
      record: (ended) => this.#record(ended),
      again: (ended) => ended.forEach(({ claim }) => this.#send(claim.endpoint, [claim])),
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
      send: (claim) => this.#send(claim.endpoint, [claim]),
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
      resend: (endpoint, claims) => this.#send(endpoint, claims),
    });
    this.#manual = new ManualAttempts({
      ...parts,
      isHeld: ({ endpoint, delivery }) => this.#windows.find(endpoint, delivery) !== undefined,
      hold: (claim) => this.#windows.hold(claim),
      send: (claim) => this.#send(claim.endpoint, [claim]),
      mayStart: () => !this.#stopping && !this.#suspects.onTrial,
      onRest: () => this.#settleIdle(),
    });
    this.#sweep = new HorizonSweep({
      ...parts,
      windows: this.#windows,
      isSentTo: async (endpoint) => (await parts.store.target(endpoint))?.enabled === true,
      onRepaired: (endpoint) => void this.refresh(endpoint).catch((error: unknown) => this.#failed(error)),
    });
    this.#waker = new Waker({
      clock: parts.clock,
      pass: () => this.#pass(),
      nextDueAt: () => this.#windows.nextDueAt,
      onRest: () => this.#settleIdle(),
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
    for (const claim of this.#forgetting.takeRefused()) this.#send(claim.endpoint, [claim]);
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
    const held = this.#windows.heldOf(endpoint);
    // When others fill the memory, one who holds little still gets its fresh deliveries sent straight away.
    if (this.#isFull) return held < HELD_FEW;
    const cap = this.#sending.cap(endpoint);
    return held < (cap < INITIAL_CAP ? 2 * cap : HELD_FRESH_LIMIT);
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
    else for (const claim of handover.fresh) this.#send(claim.endpoint, [claim]);
    if (handover.waiting.length > 0) this.wake();
    if (this.#isFull) this.#makeRoom();
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
    if (!target.enabled) await this.#handOver(target, await this.#forgetting.takeBack(endpoint));
    this.#windows.plan(this.#windows.of(endpoint));
    this.wake();
  }

  async drop(endpoint: string): Promise<void> {
    this.#parts.watcher?.changed(endpoint);
    this.#targets.forget(endpoint);
    this.#windows.of(endpoint).nextDueAt = Number.POSITIVE_INFINITY;
    for (const delivery of await this.#sending.forget(endpoint)) this.#release(endpoint, delivery);
    this.#settleIdle();
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
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      this.#settleIdle();
    });
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

  get #isFull(): boolean {
    return this.#windows.held >= HELD_LIMIT || this.#windows.bytes >= this.#parts.heldBytes;
  }

  async #pass(): Promise<void> {
    if (this.#suspects.onTrial) return;
    this.#shift.look();
    await this.#shift.run();
    const now = this.#parts.clock.now();
    let readInThisTurn = 0;
    for (let window = this.#windows.takeDue(now); window !== undefined; window = this.#windows.takeDue(now)) {
      try {
        readInThisTurn += await this.#read(window);
      } catch (error) {
        // The agenda named it once, and the next pass must find it again.
        this.#windows.plan(window);
        throw error;
      }
      if (this.#stopping) return;
      if (readInThisTurn < READ_LIMIT) continue;
      readInThisTurn = 0;
      await new Promise<void>((resolve) => this.#parts.clock.nextTurn(resolve));
    }
  }

  /**
   * Reads what is due of one endpoint, as much as its window takes; the rest comes when there is room again. The
   * answer is what the read cost, in rows.
   */
  async #read(window: Window): Promise<number> {
    const room = 2 * this.#sending.cap(window.endpoint) - window.held.size;
    if (room <= 0) return 0;
    const target = await this.#targets.get(window.endpoint);
    if (target === null || !target.enabled) return 1;
    const limit = Math.min(room, READ_LIMIT);
    const until = this.#parts.clock.now();
    const after = window.beginRead();
    let claims: Claim[];
    try {
      const page = await this.#parts.store.due(window.endpoint, after, until, limit);
      if (page.cancelling) return this.#readLater(window);
      claims = this.#windows.endRead(window, page, until, limit);
    } catch (error) {
      window.cancelRead();
      throw error;
    }
    this.#send(window.endpoint, claims);
    return Math.max(READ_COST, claims.length);
  }

  /** What it was owed is being cancelled; new events go on meanwhile. */
  #readLater(window: Window): number {
    window.cancelRead();
    window.nextDueAt = this.#parts.clock.now() + AGAIN_MS;
    this.#windows.plan(window);
    return READ_COST;
  }

  /** Hands claims that memory holds to the sender, once it knows their endpoint. */
  #send(endpoint: string, claims: readonly Claim[]): void {
    if (this.#targets.isOpen(endpoint)) {
      this.#sending.send(this.#withdrawal.sift(claims));
      return;
    }
    void this.#targets
      .get(endpoint)
      .then(async (target) => {
        if (target !== null) await this.#handOver(target, claims);
        else for (const { delivery } of claims) this.#release(endpoint, delivery);
        this.#settleIdle();
      })
      .catch((error: unknown) => this.#parts.onFault(error));
  }

  /** To the sender; or back to the disk while the endpoint is disabled. What was asked for is sent all the same. */
  async #handOver({ enabled }: Target, held: readonly Claim[]): Promise<void> {
    const claims = this.#withdrawal.sift(held);
    const sent = enabled ? claims : claims.filter(({ trigger }) => trigger === "test" || trigger === "manual");
    if (sent.length > 0) this.#sending.send(sent);
    if (sent.length === claims.length) return;
    await this.#forgetting.forget(claims.filter((claim) => !sent.includes(claim)));
    // Enabled again meanwhile, perhaps.
    this.wake();
  }

  #ended(batch: readonly Ended[]): void {
    const claims: EndedClaim[] = [];
    for (const ended of batch) {
      const claim = this.#windows.find(ended.endpoint, ended.delivery);
      if (claim === undefined) throw new Error(`${ended.delivery} ended and was not held`);
      if (ended.outcome.ours && !this.#stopping) this.#waitForOurselves(claim, ended.outcome.detail);
      else claims.push({ claim, ended });
    }
    const decided = this.#outage.sort(claims);
    if (decided.length > 0) this.#record(decided);
  }

  #record(ended: readonly EndedClaim[]): void {
    for (const each of ended) this.#disabling.look(each.claim, each.ended);
    this.#recorder.record(ended);
  }

  /** Nothing of the receiver's: the delivery takes its turn again, without a rung, once we had time to recover. */
  #waitForOurselves(claim: Claim, detail: string): void {
    this.#parts.log.error({ event: claim.event, endpoint: claim.endpoint }, `no attempt can be made: ${detail}`);
    void this.#pauses.begin("shortage");
    this.#send(claim.endpoint, [claim]);
    this.#cancelShortage?.();
    this.#cancelShortage = this.#parts.clock.after(OUR_FAULT_PAUSE_MS, () => this.#pauses.end("shortage"));
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

  #makeRoom(): void {
    if (this.#makingRoom) return;
    this.#makingRoom = true;
    // After the turn, so that all of a batch is there.
    const turn = new Promise<void>((resolve) => this.#parts.clock.nextTurn(resolve));
    void turn
      .then(() => this.#forgetUntilThereIsRoom())
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#makingRoom = false;
      });
  }

  /** Forgets what whoever holds most has not started; it is on the disk, and is read again when there is room. */
  async #forgetUntilThereIsRoom(): Promise<void> {
    while (this.#isFull) {
      const most = this.#windows.fullest();
      const before = this.#windows.held;
      if (most === undefined || most.held.size < HELD_FEW) break;
      await this.#forgetting.forget(await this.#forgetting.takeBack(most.endpoint));
      if (this.#windows.held >= before) break;
    }
    this.wake();
  }

  /** A full disk moves and parks nothing; the next tick tries again. */
  #failed(error: unknown): void {
    if (!(error instanceof WebhookdError)) this.#parts.onFault(error);
  }

  #settleIdle(): void {
    if (this.#idleWaiters.length === 0 || this.#waker.passing || this.#recorder.busy) return;
    const owing =
      this.#suspects.onTrial ||
      this.#manual.busy ||
      this.#windows.held > 0 ||
      this.#windows.nextDueAt <= this.#parts.clock.now();
    if (owing && !this.#stopping) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}
