/**
 * The queue of one endpoint, in two lanes, with the limit of how much of it may be in flight at a time. The lanes
 * (fresh deliveries, and the backlog of retries and replays) take turns while both wait, and a lane that has half of
 * the cap in flight lets the other go first. So each gets at least half, and neither starves however small the cap.
 */
import type { Outcome } from "../../domain/deliveries/attempt.ts";
import type { Send } from "../../domain/deliveries/delivery.ts";
import { INITIAL_CAP } from "../../domain/endpoints/endpoint.ts";
import type { EvenPace } from "../../domain/time/token-bucket.ts";

const DEAD_AFTER = 3;

/**
 * The evidence about the receiver from the end of an attempt: `fast` if it answered and could take more at a time;
 * `slow` if it answered; `silent` if it did not (refused, unreachable, timed out); `unknown` if the fault was ours or
 * nothing was sent.
 */
export type Speed = "fast" | "slow" | "silent" | "unknown";

interface Lane {
  readonly sends: Fifo<Send>;
  inFlight: number;
}

export class EndpointQueue {
  readonly endpoint: string;
  cap: number;
  ceiling: number;
  bucket: EvenPace | null = null;

  readonly #fresh: Lane = { sends: new Fifo(), inFlight: 0 };
  readonly #backlog: Lane = { sends: new Fifo(), inFlight: 0 };
  #lastTaken = this.#backlog;
  #silences = 0;

  constructor(endpoint: string, ceiling: number) {
    this.endpoint = endpoint;
    this.ceiling = ceiling;
    this.cap = Math.min(INITIAL_CAP, ceiling);
  }

  get waiting(): number {
    return this.#fresh.sends.size + this.#backlog.sends.size;
  }

  get inFlight(): number {
    return this.#fresh.inFlight + this.#backlog.inFlight;
  }

  /** True if something waits and a slot is free. The rate may still forbid a start. */
  get mayStart(): boolean {
    return this.waiting > 0 && this.inFlight < this.cap;
  }

  /** True if each of the last three attempts to end got no answer. */
  get dead(): boolean {
    return this.#silences >= DEAD_AFTER;
  }

  /** The instant from which the rate allows a start. */
  get readyAt(): number {
    return this.bucket?.readyAt ?? Number.NEGATIVE_INFINITY;
  }

  /** With 0, nothing starts until the ceiling is raised. */
  setCeiling(ceiling: number): void {
    this.ceiling = ceiling;
    this.cap = Math.min(Math.max(1, this.cap), ceiling);
  }

  add(send: Send): void {
    (send.fresh ? this.#fresh : this.#backlog).sends.push(send);
  }

  /** Starts the next send. There must be one waiting. */
  take(now: number): Send {
    const lane = this.#laneInTurn();
    this.#lastTaken = lane;
    lane.inFlight++;
    this.bucket?.take(now);
    return lane.sends.shift()!;
  }

  ended(send: Send, speed: Speed): void {
    const usedUp = this.inFlight >= this.cap;
    (send.fresh ? this.#fresh : this.#backlog).inFlight--;
    if (speed === "unknown") return;
    if (speed === "silent") {
      this.#silences++;
      this.cap = Math.min(this.ceiling, Math.max(1, this.cap >> 1));
    } else {
      this.#silences = 0;
      if (usedUp) this.cap = Math.min(this.ceiling, grown(this.cap, speed));
    }
  }

  drain(): Send[] {
    return [...this.#fresh.sends.drain(), ...this.#backlog.sends.drain()];
  }

  #laneInTurn(): Lane {
    if (this.#backlog.sends.size === 0) return this.#fresh;
    if (this.#fresh.sends.size === 0) return this.#backlog;
    const other = this.#lastTaken === this.#fresh ? this.#backlog : this.#fresh;
    return 2 * other.inFlight < this.cap ? other : this.#lastTaken;
  }
}

/**
 * Below the initial cap any answer shows that the receiver is back, so a few round trips restore the cap. Above it,
 * only fast answers show that the receiver can take more.
 */
function grown(cap: number, speed: "fast" | "slow"): number {
  if (cap < INITIAL_CAP) return speed === "fast" ? Math.min(INITIAL_CAP, 2 * cap) : cap + 1;
  return speed === "fast" ? cap + 1 : cap;
}

/** An answer that takes longer never raises the cap. */
const FAST_MS = 1000;
/** Added to twice the quickest answer, to allow for delays by a scheduler or a garbage collector. */
const SLACK_MS = 2;
/** Forget the quickest answer after one to two of these, because a receiver may have moved further away. */
const MEMORY_MS = 60_000;

/**
 * Judges from an endpoint's answers whether it could take more at a time. An answer much slower than the recent
 * quickest means that requests queue up somewhere, at the receiver or here, so sending more at a time would only slow
 * it down. The cap therefore settles where the endpoint's throughput does: at about 30 on a fast network, and at its
 * ceiling for a receiver that needs 80 ms for each.
 */
export class Speedometer {
  #quickest = Number.POSITIVE_INFINITY;
  #quickestBefore = Number.POSITIVE_INFINITY;
  #since = Number.NEGATIVE_INFINITY;

  /** `now` is in monotonic milliseconds. */
  speedOf(outcome: Outcome, now: number): Speed {
    // Judge by the lack of a route, not by time: without one, attempts fail in microseconds.
    if (outcome.evidence === "cut_off") return "silent";
    if (outcome.ours || outcome.error === "payload_corrupt") return "unknown";
    if (outcome.statusCode === null) return "silent";
    const took = outcome.durationMs;
    this.#note(took, now);
    // A refusal does not raise the cap, however soon it comes.
    if (outcome.outcome !== "succeeded" || took >= FAST_MS) return "slow";
    return took <= 2 * Math.min(this.#quickest, this.#quickestBefore) + SLACK_MS ? "fast" : "slow";
  }

  #note(took: number, now: number): void {
    if (now - this.#since >= MEMORY_MS) {
      this.#quickestBefore = this.#quickest;
      this.#quickest = Number.POSITIVE_INFINITY;
      this.#since = now;
    }
    if (took < this.#quickest) this.#quickest = took;
  }
}

const SMALLEST_BUFFER = 4;
/** The longest buffer that is kept while empty. */
const KEPT_BUFFER = 32;

/** A first-in, first-out queue in a circular buffer, so that both ends take constant time at any length. */
export class Fifo<T> {
  /** Its length is a power of two, or zero before the first item. */
  #items: (T | undefined)[] = [];
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: T): void {
    if (this.#size === this.#items.length) this.#grow();
    this.#items[(this.#head + this.#size) & (this.#items.length - 1)] = item;
    this.#size++;
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#items.length - 1);
    this.#size--;
    // There is a queue per endpoint, so a burst must not leave its buffer behind for good.
    if (this.#size === 0 && this.#items.length > KEPT_BUFFER) this.#items = [];
    return item;
  }

  drain(): T[] {
    const items: T[] = [];
    while (this.#size > 0) items.push(this.shift()!);
    return items;
  }

  #grow(): void {
    const items: (T | undefined)[] = [];
    for (let i = 0; i < this.#size; i++) items.push(this.#items[(this.#head + i) & (this.#size - 1)]);
    // Fill the array rather than leave holes, which are slower to read.
    for (let free = Math.max(SMALLEST_BUFFER, this.#size); free > 0; free--) items.push(undefined);
    this.#items = items;
    this.#head = 0;
  }
}
