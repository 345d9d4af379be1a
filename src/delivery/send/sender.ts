/**
 * Sends what the dispatcher hands it: turns say which delivery may start, the request is signed and posted, and what
 * came of it is reported. It knows no store and no ladder.
 */
import type { Clock } from "../../clock.ts";
import type { AddressRules } from "../../domain/address.ts";
import { noResponse, type Outcome } from "../../domain/attempt.ts";
import type { Job } from "../../domain/delivery.ts";
import type { Target } from "../../domain/endpoint.ts";
import type { Exchange } from "../http/exchange.ts";
import { InFlightLimit } from "./in-flight-limit.ts";
import type { Signer } from "./signed-request.ts";
import { isResumed, type Ended, type Sending } from "./sending.ts";
import { Pace } from "./speed.ts";
import { Turns } from "./fair-queue.ts";

/** The wire to one endpoint: an exchange, or a simulated one. */
export type Wire = Pick<Exchange, "post" | "abort" | "close">;

export interface SenderParts {
  readonly clock: Clock;
  readonly signer: (target: Target) => Signer;
  readonly open: (target: Target) => Wire;
  readonly maxInFlight: number;
  readonly endpointMaxInFlight: number;
  /** For how many at once there is room, where that may be fewer. */
  readonly room?: () => number;
  readonly onEnded: (ended: Ended, job: Job) => void;
  /** Called before the first byte of an attempt. */
  readonly onStart?: ((job: Job) => void) | undefined;
  readonly onEgress?: (rules: AddressRules) => void;
  readonly onClosed?: () => void;
}

interface Line {
  readonly target: Target;
  readonly signer: Signer;
  readonly wire: Wire;
  readonly pace: Pace;
}

const MAX_SLEEP_MS = 60_000;

export class Sender implements Sending {
  readonly #parts: SenderParts;
  readonly #turns: Turns;
  readonly #limit: InFlightLimit;
  readonly #lines = new Map<string, Line>();
  #paused = false;
  /** Set while deliveries wait for nothing but their endpoint's rate. */
  #cancelTimer: (() => void) | null = null;
  #wakeAt = Number.POSITIVE_INFINITY;
  #onDrained: (() => void)[] = [];

  constructor(parts: SenderParts) {
    this.#parts = parts;
    const { clock, endpointMaxInFlight, maxInFlight, room } = parts;
    const most = () => Math.min(maxInFlight, room?.() ?? maxInFlight);
    this.#limit = new InFlightLimit(most, clock.monotonic());
    this.#turns = new Turns(endpointMaxInFlight, most());
  }

  get inFlight(): number {
    return this.#turns.inFlight;
  }

  cap(endpoint: string): number {
    return this.#turns.cap(endpoint);
  }

  async setTarget(target: Target): Promise<void> {
    const before = this.#lines.get(target.endpoint);
    const sameUrl = before !== undefined && before.target.url === target.url;
    if (before !== undefined && !sameUrl) void before.wire.close();
    const wire = sameUrl ? before.wire : this.#parts.open(target);
    const pace = sameUrl ? before.pace : new Pace();
    this.#lines.set(target.endpoint, { target, signer: this.#parts.signer(target), wire, pace });
    if (isResumed(before?.target, target)) this.#turns.startLow(target.endpoint);
    this.#turns.setCeiling(target.endpoint, target.maxInFlight);
    this.#turns.setRate(target.endpoint, target.ratePerSecond, this.#parts.clock.monotonic());
    // What waits may go on by a higher rate, or by none.
    this.#pump();
  }

  setEgress(rules: AddressRules): void {
    this.#parts.onEgress?.(rules);
  }

  send(jobs: readonly Job[]): void {
    for (const job of jobs) this.#turns.add(job);
    this.#pump();
  }

  async forget(endpoint: string): Promise<readonly string[]> {
    return this.#turns.forget(endpoint).map(({ delivery }) => delivery);
  }

  async pause(): Promise<void> {
    this.#stopStarting();
  }

  resume(): void {
    this.#paused = false;
    this.#pump();
  }

  probe(): void {
    const now = this.#parts.clock.monotonic();
    this.#turns.setMaxInFlight(Math.max(1, this.#limit.at(now)));
    const job = this.#turns.next(now);
    if (job !== undefined) this.#start(job);
  }

  drain(): Promise<void> {
    this.#stopStarting();
    return this.#turns.inFlight === 0 ? Promise.resolve() : new Promise((resolve) => this.#onDrained.push(resolve));
  }

  abort(): void {
    this.#stopStarting();
    for (const line of this.#lines.values()) line.wire.abort();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#lines.values()].map((line) => line.wire.close()));
    this.#lines.clear();
    this.#parts.onClosed?.();
  }

  #stopStarting(): void {
    this.#paused = true;
    this.#disarm();
  }

  #pump(): void {
    if (this.#paused) return;
    const now = this.#parts.clock.monotonic();
    this.#turns.setMaxInFlight(this.#limit.at(now));
    for (let job = this.#turns.next(now); job !== undefined; job = this.#turns.next(now)) this.#start(job);
    this.#arm(now);
  }

  #arm(now: number): void {
    const growsAt = this.#turns.waiting > 0 ? this.#limit.growsAt : Number.POSITIVE_INFINITY;
    const at = Math.min(this.#turns.nextAt(), growsAt);
    if (at === this.#wakeAt) return;
    this.#disarm();
    if (at === Number.POSITIVE_INFINITY) return;
    this.#wakeAt = at;
    // Rounded up, because timers cut fractions off; and bounded, because they fire at once beyond 2^31 ms.
    const delay = Math.min(MAX_SLEEP_MS, Math.ceil(at - now));
    this.#cancelTimer = this.#parts.clock.after(delay, () => {
      this.#disarm();
      this.#pump();
    });
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#wakeAt = Number.POSITIVE_INFINITY;
  }

  #start(job: Job): void {
    const line = this.#lines.get(job.endpoint);
    if (line === undefined) throw new Error(`no target for ${job.endpoint}`);
    this.#parts.onStart?.(job);
    const startedAt = this.#parts.clock.now();
    const end = (outcome: Outcome) => this.#end(job, line, startedAt, outcome);
    if (job.corrupt) {
      // Never sent: these are not the bytes that were accepted.
      queueMicrotask(() => end(noResponse("payload_corrupt", "the stored payload does not match its checksum", 0)));
      return;
    }
    void line.wire.post(line.signer.sign(job, Math.floor(startedAt / 1000))).then(end);
  }

  #end(job: Job, line: Line, startedAt: number, outcome: Outcome): void {
    const now = this.#parts.clock.monotonic();
    this.#turns.ended(job, line.pace.speedOf(outcome, now));
    if (outcome.evidence === "shortage") this.#limit.short(this.#turns.inFlight, now);
    const { delivery, endpoint } = job;
    const secretVersion = job.corrupt ? null : line.target.secretVersion;
    this.#parts.onEnded({ delivery, endpoint, url: line.target.url, startedAt, secretVersion, outcome }, job);
    if (this.#turns.inFlight === 0) for (const resolve of this.#onDrained.splice(0)) resolve();
    this.#pump();
  }
}
