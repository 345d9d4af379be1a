/**
 * Decides which endpoint sends next. Endpoints with something to send take turns in a ring, one delivery each, within
 * their own cap of attempts in flight and their own rate. So a slow or dead endpoint fills its cap and delays no other.
 * A job's deliveries are added at its own pace.
 *
 *   add ──► ready ──next──► in flight ──ended──► ready | idle
 *             │ └── no token ──► throttled ── its time ──► ready
 *             └──── dead: in a separate ring, open while the dead hold less than their share and keep to their pace
 *
 * Times are monotonic milliseconds.
 */
import type { Send } from "../../domain/deliveries/delivery.ts";
import { INITIAL_CAP } from "../../domain/endpoints/endpoint.ts";
import { Timetable, type Scheduled } from "../../domain/time/timetable.ts";
import { EvenPace, TokenBucket } from "../../domain/time/token-bucket.ts";
import { Destinations, type EndpointDestination } from "./destinations.ts";
import { EndpointQueue, type Speed } from "./endpoint-queue.ts";
import { PacedJobs } from "./paced-jobs.ts";

/**
 * Dead receivers together hold at most this part of everything in flight. They may exceed it only until the attempts
 * end that were in flight to a receiver when it was found dead.
 */
const DEAD_SHARE = 1 / 4;
/**
 * The attempts per second to all dead receivers together. Without this limit, a receiver that refuses in microseconds
 * would use up its backlog's rungs and a whole core.
 */
const DEAD_PER_SECOND = 500;
/** The time that an endpoint waits if its destination is full. */
const FULL_MS = 20;
/** The maximum number of idle endpoints to remember, with their caps and whether they were dead. */
const IDLE_LIMIT = 16_384;

/** An endpoint's queue, with its place in a ring or in the timetable. */
class Queue extends EndpointQueue implements Member<Queue>, Scheduled {
  readonly destination: EndpointDestination;
  ring: Ring<Queue> | null = null;
  previous: Queue | null = null;
  next: Queue | null = null;
  /** Grows with each entry into a ring, and so shows across rings which of two entered first. */
  ticket = 0;
  wakeAt = 0;
  heapAt = -1;

  constructor(endpoint: string, ceiling: number, destination: EndpointDestination) {
    super(endpoint, ceiling);
    this.destination = destination;
  }
}

export class FairQueue {
  /**
   * Every endpoint with something waiting or in flight, every one with its own limits, and the remembered idle ones.
   */
  readonly #queues = new Map<string, Queue>();
  readonly #ready = new Ring<Queue>();
  readonly #dead = new Ring<Queue>();
  /** The idle queues, in the order in which they became idle. */
  readonly #idle = new Ring<Queue>();
  readonly #throttled = new Timetable<Queue>();
  /** Null until something is sent for a job. */
  #paced: PacedJobs | null = null;
  readonly #defaultCeiling: number;
  #maxInFlight: number;
  readonly #deadPace = new TokenBucket(DEAD_PER_SECOND);
  #ticket = 0;
  #waiting = 0;
  #inFlight = 0;
  #deadInFlight = 0;

  readonly #destinations: Destinations;

  /** At most `defaultCeiling` attempts are in flight for one endpoint, and `maxInFlight` in total. */
  constructor(defaultCeiling: number, maxInFlight: number, destinations = new Destinations(Number.POSITIVE_INFINITY)) {
    this.#destinations = destinations;
    this.#defaultCeiling = defaultCeiling;
    this.#maxInFlight = maxInFlight;
  }

  /** Sets the total limit. Attempts above it stay in flight until they end. */
  setMaxInFlight(maxInFlight: number): void {
    this.#maxInFlight = maxInFlight;
  }

  /** The number of deliveries that are waiting for their turn. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The number of attempts that have started and not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  get endpoints(): number {
    return this.#queues.size;
  }

  /** Returns the number of attempts to this endpoint that may be in flight at a time, for now. */
  cap(endpoint: string): number {
    return this.#queues.get(endpoint)?.cap ?? Math.min(INITIAL_CAP, this.#defaultCeiling);
  }

  /** Allows only one attempt at a time, until answers show that there may be more. */
  startLow(endpoint: string): void {
    const queue = this.#queue(endpoint);
    queue.cap = Math.min(1, queue.ceiling);
    this.#place(queue);
  }

  /** Null restores the default. */
  setCeiling(endpoint: string, maxInFlight: number | null): void {
    const ceiling = Math.min(maxInFlight ?? this.#defaultCeiling, this.#defaultCeiling);
    if (ceiling === this.#defaultCeiling && !this.#queues.has(endpoint)) return;
    const queue = this.#queue(endpoint);
    queue.setCeiling(ceiling);
    this.#place(queue);
  }

  /** Null removes the limit. */
  setRate(endpoint: string, perSecond: number | null, now: number): void {
    if (perSecond === null && !this.#queues.has(endpoint)) return;
    const queue = this.#queue(endpoint);
    if (perSecond === null) queue.bucket = null;
    else if (queue.bucket === null) queue.bucket = new EvenPace(perSecond);
    else queue.bucket.setRate(perSecond, now);
    // The time at which it may resume was computed with the old rate.
    this.#throttled.remove(queue);
    this.#place(queue);
  }

  add(send: Send): void {
    this.#waiting++;
    if (send.pace === undefined) this.#enqueue(send);
    else (this.#paced ??= new PacedJobs()).add(send);
  }

  /** Returns the next delivery to attempt, or undefined if none of those that wait may start now. */
  next(now: number): Send | undefined {
    for (let send = this.#paced?.take(now); send !== undefined; send = this.#paced?.take(now)) this.#enqueue(send);
    for (let queue = this.#throttled.take(now); queue !== undefined; queue = this.#throttled.take(now)) {
      this.#place(queue);
    }
    if (this.#inFlight >= this.#maxInFlight) return undefined;
    for (let queue = this.#first(now); queue !== null; queue = this.#first(now)) {
      queue.ring!.remove(queue);
      const readyAt = queue.destination.isFull ? Math.max(queue.readyAt, now + FULL_MS) : queue.readyAt;
      if (readyAt > now) this.#throttled.add(queue, readyAt);
      else return this.#start(queue, now);
    }
    return undefined;
  }

  /**
   * Returns when to call `next` again even if nothing was added and nothing ended, because a rate or a pace allows a
   * start then. After `next` has returned undefined, this lies in the future. Infinity if nothing waits for a rate or
   * pace.
   */
  nextAt(): number {
    const dead = this.#deadMayStart && this.#inFlight < this.#maxInFlight && this.#dead.first !== null;
    const { POSITIVE_INFINITY } = Number;
    const pacedAt = this.#paced?.wakeAt ?? POSITIVE_INFINITY;
    return Math.min(this.#throttled.wakeAt, pacedAt, dead ? this.#deadReadyAt : POSITIVE_INFINITY);
  }

  ended(send: Send, speed: Speed): void {
    const queue = this.#queues.get(send.endpoint);
    if (queue === undefined) throw new Error(`ended without having started: ${send.delivery}`);
    if (queue.dead) this.#deadInFlight -= queue.inFlight;
    queue.ended(send, speed);
    queue.destination.ended();
    if (queue.dead) this.#deadInFlight += queue.inFlight;
    this.#inFlight--;
    this.#place(queue);
  }

  /** Takes back the deliveries of the endpoint that are still waiting. Attempts in flight count until they end. */
  forget(endpoint: string): Send[] {
    const sends = this.#paced?.forget(endpoint) ?? [];
    const queue = this.#queues.get(endpoint);
    if (queue !== undefined) {
      sends.unshift(...queue.drain());
      this.#place(queue);
    }
    this.#waiting -= sends.length;
    return sends;
  }

  #enqueue(send: Send): void {
    const queue = this.#queue(send.endpoint);
    queue.add(send);
    this.#place(queue);
  }

  #queue(endpoint: string): Queue {
    let queue = this.#queues.get(endpoint);
    if (queue === undefined) {
      queue = new Queue(endpoint, this.#defaultCeiling, this.#destinations.of(endpoint));
      this.#queues.set(endpoint, queue);
    }
    return queue;
  }

  /** Returns the first queue in order of entry that may start, disregarding its own rate. */
  #first(now: number): Queue | null {
    const ready = this.#ready.first;
    const dead = this.#dead.first;
    if (dead === null || !this.#deadMayStart || this.#deadReadyAt > now) return ready;
    return ready === null || dead.ticket < ready.ticket ? dead : ready;
  }

  get #deadMayStart(): boolean {
    return this.#deadInFlight < Math.max(1, Math.floor(this.#maxInFlight * DEAD_SHARE));
  }

  get #deadReadyAt(): number {
    return this.#deadPace.readyAt(DEAD_PER_SECOND);
  }

  #start(queue: Queue, now: number): Send {
    const send = queue.take(now);
    queue.destination.started();
    if (send.pace !== undefined) this.#paced?.started(send, now);
    this.#waiting--;
    this.#inFlight++;
    if (queue.dead) {
      this.#deadInFlight++;
      this.#deadPace.take(now);
    }
    this.#place(queue);
    return send;
  }

  /** Moves a queue to the ring that it belongs in after a change. */
  #place(queue: Queue): void {
    if (!queue.mayStart) this.#throttled.remove(queue);
    const ring = this.#ringOf(queue);
    if (ring === queue.ring) return;
    queue.ring?.remove(queue);
    if (ring === null) return;
    queue.ticket = this.#ticket++;
    ring.push(queue);
    if (this.#idle.size > IDLE_LIMIT) this.#dropIdlest();
  }

  #ringOf(queue: Queue): Ring<Queue> | null {
    if (queue.heapAt !== -1) return null;
    if (queue.mayStart) return queue.dead ? this.#dead : this.#ready;
    // The queue holds an endpoint's own limits, which exist nowhere else, so it must not be dropped.
    const ordinary = queue.bucket === null && queue.ceiling === this.#defaultCeiling;
    return ordinary && queue.waiting === 0 && queue.inFlight === 0 ? this.#idle : null;
  }

  #dropIdlest(): void {
    const queue = this.#idle.first!;
    this.#idle.remove(queue);
    this.#queues.delete(queue.endpoint);
  }
}

/** A member of a ring, and of only one at a time. It holds the links itself, so that a turn allocates nothing. */
export interface Member<T extends Member<T>> {
  ring: Ring<T> | null;
  previous: T | null;
  next: T | null;
}

/** Members waiting for a turn, in the order of their entry. Any of them may leave at any time. */
export class Ring<T extends Member<T>> {
  #first: T | null = null;
  #last: T | null = null;
  #size = 0;

  get first(): T | null {
    return this.#first;
  }

  get size(): number {
    return this.#size;
  }

  push(member: T): void {
    member.ring = this;
    member.previous = this.#last;
    if (this.#last === null) this.#first = member;
    else this.#last.next = member;
    this.#last = member;
    this.#size++;
  }

  remove(member: T): void {
    const { previous, next } = member;
    if (previous === null) this.#first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    member.ring = member.previous = member.next = null;
    this.#size--;
  }
}
