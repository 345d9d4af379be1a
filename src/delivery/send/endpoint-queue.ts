/**
 * What one endpoint has waiting, in two lanes, and how much of it may be in flight at once.
 *
 * The lanes (fresh deliveries; the backlog of retries and replays) take turns while both wait, and a lane that has
 * half of the cap in flight lets the other go first. So each gets at least half, and none starves however small the cap.
 */
import type { Job } from "../../domain/delivery.ts";
import { Fifo } from "./fifo.ts";
import type { Member, Ring } from "./ring.ts";
import type { Scheduled } from "../../domain/timetable.ts";
import type { EvenPace } from "../../domain/token-bucket.ts";

/** What an endpoint may have in flight before anything is known of it. */
export const INITIAL_CAP = 16;
const DEAD_AFTER = 3;

/**
 * What an attempt's end says about the receiver: it answered and could take more at once; it answered; no answer came
 * (refused, unreachable, out of time); nothing, because the fault was ours or nothing was sent.
 */
export type Speed = "fast" | "slow" | "silent" | "unknown";

interface Lane {
  readonly jobs: Fifo<Job>;
  inFlight: number;
}

export class Queue implements Member<Queue>, Scheduled {
  readonly endpoint: string;
  cap: number;
  ceiling: number;
  bucket: EvenPace | null = null;

  ring: Ring<Queue> | null = null;
  previous: Queue | null = null;
  next: Queue | null = null;
  /** Grows with each entry into a ring: who came first, across rings. */
  ticket = 0;
  wakeAt = 0;
  heapAt = -1;

  readonly #fresh: Lane = { jobs: new Fifo(), inFlight: 0 };
  readonly #backlog: Lane = { jobs: new Fifo(), inFlight: 0 };
  #lastTaken = this.#backlog;
  #silences = 0;

  constructor(endpoint: string, ceiling: number) {
    this.endpoint = endpoint;
    this.ceiling = ceiling;
    this.cap = Math.min(INITIAL_CAP, ceiling);
  }

  get waiting(): number {
    return this.#fresh.jobs.size + this.#backlog.jobs.size;
  }

  get inFlight(): number {
    return this.#fresh.inFlight + this.#backlog.inFlight;
  }

  /** Whether something waits and a slot is free; a token is another matter. */
  get mayStart(): boolean {
    return this.waiting > 0 && this.inFlight < this.cap;
  }

  /** Whether the last three attempts to end all went without an answer. */
  get dead(): boolean {
    return this.#silences >= DEAD_AFTER;
  }

  /** From this instant on the rate allows a start. */
  get readyAt(): number {
    return this.bucket?.readyAt ?? Number.NEGATIVE_INFINITY;
  }

  setCeiling(ceiling: number): void {
    this.ceiling = ceiling;
    this.cap = Math.min(this.cap, ceiling);
  }

  add(job: Job): void {
    (job.fresh ? this.#fresh : this.#backlog).jobs.push(job);
  }

  /** Starts the next one; something must be waiting. */
  take(now: number): Job {
    const lane = this.#laneInTurn();
    this.#lastTaken = lane;
    lane.inFlight++;
    this.bucket?.take(now);
    return lane.jobs.shift()!;
  }

  ended(job: Job, speed: Speed): void {
    const usedUp = this.inFlight >= this.cap;
    (job.fresh ? this.#fresh : this.#backlog).inFlight--;
    if (speed === "unknown") return;
    if (speed === "silent") {
      this.#silences++;
      this.cap = Math.max(1, this.cap >> 1);
    } else {
      this.#silences = 0;
      if (usedUp) this.cap = Math.min(this.ceiling, grown(this.cap, speed));
    }
  }

  drain(): Job[] {
    return [...this.#fresh.jobs.drain(), ...this.#backlog.jobs.drain()];
  }

  #laneInTurn(): Lane {
    if (this.#backlog.jobs.size === 0) return this.#fresh;
    if (this.#fresh.jobs.size === 0) return this.#backlog;
    const other = this.#lastTaken === this.#fresh ? this.#backlog : this.#fresh;
    return 2 * other.inFlight < this.cap ? other : this.#lastTaken;
  }
}

/**
 * Below the initial cap any answer shows that the receiver is back, so a few round trips restore it; above, only fast
 * ones show that it can take more.
 */
function grown(cap: number, speed: "fast" | "slow"): number {
  if (cap < INITIAL_CAP) return speed === "fast" ? Math.min(INITIAL_CAP, 2 * cap) : cap + 1;
  return speed === "fast" ? cap + 1 : cap;
}
