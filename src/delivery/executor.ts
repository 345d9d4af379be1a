/**
 * Carries out what the core decides, and passes the results back to the core. Delivery awaits the store here, and the
 * sender, the timers and the store report here.
 *
 *   published ──send──► sender ──ended──► record ──► store ──recorded──► released
 *       └──waiting──► disk ──readDue──► send               └──retry──► disk
 */
import { Alarm } from "../alarm.ts";
import { Crowd } from "../clock.ts";
import type { Ended } from "../domain/deliveries/attempt.ts";
import { attemptFields, type Claim } from "../domain/deliveries/delivery.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { Log } from "../log.ts";
import type { EventDelivery } from "../store/store.ts";
import { givenBack, withdrawn } from "./core/changed.ts";
import { endRead, notParked, parked } from "./core/disk.ts";
import type { Disabling, Effects } from "./core/effects.ts";
import { ended, notRecorded, recordAgain, recorded, replayed, resolversAsked, timePassed } from "./core/lifecycle.ts";
import type { DeliveryWatcher } from "./deliveries.ts";
import { DueReader, Waker } from "./due-reader.ts";
import { ClockSteps, type Now } from "./memory/clock.ts";
import type { KnownEndpoint } from "./memory/endpoints.ts";
import { Memory, type DecidedAttempt, type DeliveryRules } from "./memory/memory.ts";
import { Questions, type QuestionsParts } from "./questions.ts";
import type { Sending } from "./send/sender.ts";
import { unawaited } from "../domain/unawaited.ts";

/** The number of deliveries that one commit writes back. */
const PARKED_AT_ONCE = 500;

export interface ExecutorParts extends QuestionsParts {
  readonly log: Log;
  readonly rules: DeliveryRules;
  readonly sending: (onEnded: (batch: readonly Ended[]) => void) => Sending;
  /** Called for an error that is our bug: the daemon must end rather than go on with wrong state. */
  readonly onFault: (error: unknown) => void;
  /** Called when the daemon disabled an endpoint, for which nothing more may be started. */
  readonly onDisabled: (endpoint: string) => Promise<void>;
  readonly watchers: readonly DeliveryWatcher[];
}

export class Executor {
  readonly memory: Memory;
  readonly sending: Sending;
  readonly #parts: ExecutorParts;
  readonly #clockSteps: ClockSteps;
  readonly #dueReader: DueReader;
  readonly #waker: Waker;
  readonly #alarms: { readonly unreachable: Alarm; readonly shortage: Alarm };
  readonly #questions: Questions;
  readonly #lookUps: Crowd;
  readonly #onReleased = new Map<string, () => void>();
  /** Resolves with the latest commit. Commits happen in the order of their calls, so it covers all earlier ones. */
  #written: Promise<void> = Promise.resolve();
  #recording = 0;
  #givesUp = false;
  #timerAt = Number.POSITIVE_INFINITY;
  #cancelTimer: (() => void) | null = null;
  #onIdle: (() => void)[] = [];

  constructor(parts: ExecutorParts) {
    const { clock, log, rules } = parts;
    this.#parts = parts;
    this.sending = parts.sending((batch) => this.do(ended(this.memory, batch, this.now())));
    this.memory = new Memory(rules, (endpoint) => this.sending.cap(endpoint));
    this.#questions = new Questions(parts, this.memory, this.sending);
    this.#lookUps = new Crowd(clock);
    this.#clockSteps = new ClockSteps({ wall: clock.now(), monotonic: clock.monotonic() }, () => clock.uptime());
    this.#alarms = { unreachable: new Alarm(clock, log), shortage: new Alarm(clock, log) };
    this.#dueReader = new DueReader({ ...parts, memory: this.memory });
    this.#waker = new Waker({
      clock,
      pass: () => this.#readDue(),
      nextDueAt: () => this.memory.windows.nextDueAt,
      onRest: () => this.rest(),
      onError: (error) => this.failed(error),
    });
  }

  /** Reads both clocks, and notices if the wall clock was set. */
  now(): Now {
    const { clock, log } = this.#parts;
    const now = { wall: clock.now(), monotonic: clock.monotonic() };
    const by = this.#clockSteps.check(now);
    if (by === 0) return now;
    this.memory.dueMoves.begin(by, now, this.memory.ownEndpoints());
    log.warn({ step_ms: Math.round(by) }, "the clock was set; due times move with it");
    return now;
  }

  do(effects: Effects): void {
    const { sending } = this;
    if (effects.sending === "pause") unawaited(sending.pause());
    if (effects.sending === "resume") sending.resume();
    for (const each of effects.disable) this.#run(this.#disable(each));
    if (effects.record.length > 0) this.#record(effects.record);
    if (effects.send.length > 0) sending.send(effects.send);
    if (effects.park.length > 0) unawaited(this.park(effects.park).then(() => this.wake()));
    for (const endpoint of effects.lookUp) this.#lookUps.do(() => this.#run(this.lookUp(endpoint)));
    for (const wanted of effects.askFor) this.#run(this.#askFor(wanted));
    for (const { alarm, over, message, fields } of effects.alarms) {
      if (over) this.#alarms[alarm].clear(message);
      else this.#alarms[alarm].raise(message, fields);
    }
    if (effects.probe) sending.probe();
    if (effects.askResolvers) {
      unawaited(this.#questions.askResolvers().then((why) => this.do(resolversAsked(this.memory, why, this.now()))));
    }
    for (const delivery of effects.released) this.#tellReleased(delivery);
    if (effects.readDue) this.wake();
    this.#armTimer();
  }

  /** Starts a pass that reads what is due. */
  wake(): void {
    this.#waker.wake();
  }

  /** See `Deliveries.released`. */
  released({ endpoint, delivery }: Claim, enough?: AbortSignal): Promise<void> {
    if (this.memory.windows.find(endpoint, delivery) === undefined) return Promise.resolve();
    this.memory.watched.add(delivery);
    enough?.addEventListener("abort", () => this.#tellReleased(delivery), { once: true });
    return new Promise((resolve) => this.#onReleased.set(delivery, resolve));
  }

  /** Returns the current state of the endpoint once the sender knows it, or null if there is no such endpoint. */
  async lookUp(endpoint: string): Promise<KnownEndpoint | null> {
    try {
      const { effects, target } = await this.#questions.lookUp(endpoint);
      if (effects !== null) this.do(effects);
      return target;
    } finally {
      this.rest();
    }
  }

  /** The endpoint was deleted, so ignore the result of a look-up that is in progress. */
  forgetEndpoint(endpoint: string): void {
    this.#questions.forget(endpoint);
  }

  /** Makes the sender give back the endpoint's deliveries that it has not started. All of them are still loaded. */
  async takeBack(endpoint: string): Promise<Claim[]> {
    const given = await this.sending.forget(endpoint);
    const { lines, windows } = this.memory;
    return [...given.flatMap((delivery) => windows.find(endpoint, delivery) ?? []), ...lines.takeBack(endpoint)];
  }

  /**
   * Resolves once the endpoint's deliveries that were withdrawn, or that it must not get now, can no longer be started.
   */
  async sift(endpoint: string): Promise<void> {
    const effects = givenBack(this.memory, await this.takeBack(endpoint));
    const parks = effects.park.splice(0);
    this.do(effects);
    await this.park(parks);
  }

  /**
   * Resolves once these claims are no longer loaded. Never rejects: claims that do not fit on a full disk stay loaded.
   */
  async park(claims: readonly Claim[]): Promise<void> {
    const { clock, onFault, store } = this.#parts;
    for (let at = 0; at < claims.length; at += PARKED_AT_ONCE) {
      const chunk = claims.slice(at, at + PARKED_AT_ONCE);
      try {
        this.do(parked(this.memory, chunk, await store.deliveries.park(chunk, clock.now())));
      } catch (error) {
        notParked(this.memory, claims.slice(at));
        if (!(error instanceof WebhookdError)) onFault(error);
        break;
      }
    }
    this.rest();
  }

  /** The next tick retries after a known error, such as a full disk. Any other error is our bug. */
  failed(error: unknown): void {
    if (!(error instanceof WebhookdError)) this.#parts.onFault(error);
  }

  /** Follows the lines of ordering keys, which commits have moved. */
  reorder(): void {
    const reordered = this.#parts.store.deliveries.reordered();
    if (reordered === null) return;
    const { released, overtaken } = reordered;
    if (overtaken.length > 0) this.#run(this.withdraw(overtaken));
    if (released.length > 0) this.do(replayed(this.memory, released, this.now()));
  }

  /** Resolves once none of them is loaded, except those that have started. */
  async withdraw(deliveries: readonly EventDelivery[]): Promise<void> {
    const endpoints = withdrawn(this.memory, deliveries);
    await Promise.all([...endpoints].map((endpoint) => this.sift(endpoint)));
  }

  // --- the end ---

  /** Resolves the callers of `idle` if nothing is left to do. Called whenever something ends. */
  rest(): void {
    if (this.#onIdle.length === 0 || !this.#isIdle()) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /** Resolves when nothing is due, in flight or unrecorded. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle.push(resolve);
      this.rest();
    });
  }

  /** Leaves no timer behind. */
  stopTimers(): void {
    this.#waker.stop();
    this.#cancelTimer?.();
    this.#questions.cancel();
  }

  /** From now on, drops results that cannot be recorded. Their attempts are made again after the next start. */
  recordForTheLastTime(): void {
    this.#givesUp = true;
    this.do(recordAgain(this.memory, this.now()));
  }

  /** Nothing more will be released, so let everybody who waits for a release go on. */
  endReleases(): void {
    for (const delivery of this.memory.watched) this.#tellReleased(delivery);
  }

  #isIdle(): boolean {
    const { halts, manual, unrecorded, windows } = this.memory;
    if (this.#waker.passing || this.#recording > 0 || unrecorded.length > 0) return false;
    if (halts.stopping) return true;
    return !halts.onTrial && !manual.busy && windows.loaded === 0 && windows.nextDueAt > this.#parts.clock.now();
  }

  #record(attempts: readonly DecidedAttempt[]): void {
    const { log, store, watchers } = this.#parts;
    for (const attempt of attempts) {
      const level = attempt.outcome.outcome === "succeeded" ? "debug" : "info";
      if (attempt.isRetried || !log.isLevelEnabled(level)) continue;
      log[level](attemptFields(attempt, this.memory.endpoints.tenantOf(attempt.claim.endpoint)), "delivery.attempted");
    }
    this.#recording++;
    this.#written = store.deliveries.record(attempts).then(
      (results) => {
        this.#recording--;
        const wasStuck = this.memory.halts.has("unrecorded");
        this.do(recorded(this.memory, attempts, results, this.now()));
        this.reorder();
        if (wasStuck && !this.memory.halts.has("unrecorded")) log.info({}, "results can be recorded again");
        for (const watcher of watchers) {
          if (watcher.attempted) for (const [at, result] of results.entries()) watcher.attempted(attempts[at]!, result);
        }
        this.#waker.arm();
        this.rest();
      },
      (error: unknown) => {
        this.#recording--;
        if (!this.memory.halts.has("unrecorded")) {
          log.error({ err: error }, "results cannot be recorded; no attempt is made until they can be");
        }
        this.do(notRecorded(this.memory, this.#givesUp ? [] : attempts, this.now()));
        this.rest();
      },
    );
  }

  async #askFor(wanted: EventDelivery): Promise<void> {
    this.do(await this.#questions.askFor(wanted));
    this.rest();
  }

  /** Deliveries of such an endpoint are held, as for any other disabled one. */
  async #disable({ endpoint, reason, url }: Disabling): Promise<void> {
    const { clock, log, onDisabled, rules, store, watchers } = this.#parts;
    const now = clock.now();
    if (reason === "failing") {
      const since = await store.endpoints.failingSince(endpoint);
      if (since === null || now - since < rules.autoDisable.afterMs) return;
    }
    if (!(await store.endpoints.disable(endpoint, url, reason, now))) return;
    log.warn({ endpoint, reason }, "endpoint.disabled");
    for (const watcher of watchers) watcher.disabled?.(endpoint, reason);
    await onDisabled(endpoint);
  }

  async #readDue(): Promise<void> {
    if (this.memory.halts.onTrial) return;
    this.now();
    for await (const step of this.#dueReader.pass(this.#written)) {
      if ("unknown" in step) await (this.#questions.lookUpOf(step.unknown) ?? this.lookUp(step.unknown));
      else this.do(endRead(this.memory, step.read, step.page, this.#parts.clock.now()));
    }
  }

  #tellReleased(delivery: string): void {
    this.memory.watched.delete(delivery);
    this.#onReleased.get(delivery)?.();
    this.#onReleased.delete(delivery);
  }

  #run(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.failed(error));
  }

  #armTimer(): void {
    const { reachability, shortage } = this.memory;
    const at = Math.min(reachability.wakeAt, shortage.wakeAt);
    if (at >= this.#timerAt) return;
    this.#cancelTimer?.();
    this.#timerAt = at;
    const { clock } = this.#parts;
    this.#cancelTimer = clock.after(Math.max(1, Math.ceil(at - clock.monotonic())), () => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      this.do(timePassed(this.memory, this.now()));
    });
  }
}
