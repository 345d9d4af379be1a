import { expect } from "vitest";
import { Turns, type Speed } from "../../src/delivery/send/fair-queue.ts";
import type { Job } from "../../src/domain/delivery.ts";

let serial = 0;
export function aJob(endpoint: string, fresh = true): Job {
  const event = `evt_${String(++serial).padStart(6, "0")}`;
  return { event, delivery: `dlv_${event}`, endpoint, body: new Uint8Array(0), number: 1, trigger: "ladder", fresh };
}

export function takeAll(turns: Turns, now = 0): Job[] {
  const taken: Job[] = [];
  for (let job = turns.next(now); job !== undefined; job = turns.next(now)) taken.push(job);
  return taken;
}

interface Receiver {
  readonly name: string;
  readonly fresh: Job[];
  readonly backlog: Job[];
  readonly inFlight: Job[];
  readonly speeds: Speed[];
  rate: number | null;
  /** When attempts started since the rate was last set. */
  starts: number[];
  /** Who has started since this one became ready, and before it started itself. */
  overtakenBy: Set<string>;
}

/**
 * Turns beside a plain account of what waits and what is in flight. Every start is checked against the rules, and so is
 * every refusal: nobody may be kept waiting without one of them saying so.
 */
export class Model {
  readonly turns: Turns;
  now = 0;
  readonly #ceiling: number;
  readonly #maxInFlight: number;
  readonly #receivers = new Map<string, Receiver>();

  constructor(ceiling: number, maxInFlight: number) {
    this.#ceiling = ceiling;
    this.#maxInFlight = maxInFlight;
    this.turns = new Turns(ceiling, maxInFlight);
  }

  get waiting(): number {
    return this.#sum((receiver) => receiver.fresh.length + receiver.backlog.length);
  }

  get inFlight(): number {
    return this.#sum((receiver) => receiver.inFlight.length);
  }

  add(name: string, fresh: boolean): void {
    const receiver = this.#receiver(name);
    const job = aJob(name, fresh);
    (fresh ? receiver.fresh : receiver.backlog).push(job);
    this.turns.add(job);
    this.#checkCounts();
  }

  setCeiling(name: string, maxInFlight: number | null): void {
    this.turns.setCeiling(name, maxInFlight);
    expect(this.turns.cap(name)).toBeLessThanOrEqual(Math.min(maxInFlight ?? this.#ceiling, this.#ceiling));
    this.#checkCounts();
  }

  setRate(name: string, rate: number | null): void {
    const receiver = this.#receiver(name);
    receiver.rate = rate;
    receiver.starts = [];
    this.turns.setRate(name, rate, this.now);
  }

  forget(name: string): void {
    const receiver = this.#receiver(name);
    const expected = [...receiver.fresh.splice(0), ...receiver.backlog.splice(0)];
    expect(this.turns.forget(name)).toEqual(expected);
    this.#checkCounts();
  }

  /** Ends the attempt at this place among those in flight, counted round. */
  end(at: number, speed: Speed): void {
    const jobs = [...this.#receivers.values()].flatMap((receiver) => receiver.inFlight);
    const job = jobs[at % jobs.length];
    if (job === undefined) return;
    const receiver = this.#receiver(job.endpoint);
    receiver.inFlight.splice(receiver.inFlight.indexOf(job), 1);
    const wasDead = isDead(receiver);
    if (speed !== "unknown") receiver.speeds.push(speed);
    if (isDead(receiver) !== wasDead) receiver.overtakenBy.clear();
    this.turns.ended(job, speed);
    this.#checkCounts();
  }

  /** Starts up to so many; the answer is how many did. */
  start(limit: number): number {
    for (let started = 0; started < limit; started++) {
      const before = this.#ready();
      const job = this.turns.next(this.now);
      if (job === undefined) {
        this.#checkRefusal(before);
        return started;
      }
      this.#checkStart(job, before);
    }
    return limit;
  }

  /** Time passes until all that waits was started and has ended. */
  drain(speed: Speed): void {
    // Each starts once, ends once, and waits for a token once, or twice when the cap shrinks meanwhile.
    let steps = 4 * (this.waiting + this.inFlight);
    for (; steps > 0 && this.waiting + this.inFlight > 0; steps--) {
      if (this.start(1) > 0) continue;
      if (this.inFlight > 0) this.end(0, speed);
      else this.now = this.turns.nextAt();
    }
    expect({ waiting: this.waiting, inFlight: this.inFlight }).toEqual({ waiting: 0, inFlight: 0 });
  }

  #checkStart(job: Job, ready: readonly Receiver[]): void {
    const receiver = this.#receiver(job.endpoint);
    expect(ready).toContain(receiver);
    const [lane, other] = job.fresh ? [receiver.fresh, receiver.backlog] : [receiver.backlog, receiver.fresh];
    expect(lane.shift()).toBe(job);
    if (other.length > 0) this.#checkHalf(receiver, job);
    receiver.inFlight.push(job);
    this.#checkRate(receiver);
    this.#checkRing(receiver, ready);
    this.#checkCounts();
  }

  /** The lane that goes first holds less than half, or the other one has its half. */
  #checkHalf(receiver: Receiver, job: Job): void {
    const cap = this.turns.cap(receiver.name);
    const same = receiver.inFlight.filter(({ fresh }) => fresh === job.fresh).length;
    if (same * 2 >= cap) expect((receiver.inFlight.length - same) * 2).toBeGreaterThanOrEqual(cap);
  }

  #checkRate(receiver: Receiver): void {
    const { rate, starts } = receiver;
    if (rate === null) return;
    starts.push(this.now);
    starts.forEach((from, at) => {
      const allowed = Math.max(Math.floor(rate) + 1, 1.5 + (rate * (this.now - from)) / 1000);
      expect(starts.length - at).toBeLessThanOrEqual(allowed + 1e-6);
    });
  }

  #checkRing(started: Receiver, ready: readonly Receiver[]): void {
    started.overtakenBy.clear();
    for (const receiver of this.#receivers.values()) {
      if (receiver === started) continue;
      // A token may come between two looks, so whoever has a rate is not known to have been ready all the while.
      if (receiver.rate !== null || !ready.includes(receiver)) receiver.overtakenBy.clear();
      else {
        expect(receiver.overtakenBy).not.toContain(started.name);
        receiver.overtakenBy.add(started.name);
      }
    }
  }

  #checkRefusal(ready: readonly Receiver[]): void {
    for (const receiver of ready) {
      expect(receiver.rate, `${receiver.name} is kept waiting`).not.toBeNull();
      const at = this.turns.nextAt();
      expect(at).toBeGreaterThan(this.now);
      expect(at).toBeLessThanOrEqual(this.now + 1000 / Math.min(1, receiver.rate!) + 1e-6);
    }
    const full = this.inFlight >= this.#maxInFlight || this.#deadShareUsed();
    if (ready.length === 0 && !full) expect(this.turns.nextAt()).toBe(Number.POSITIVE_INFINITY);
  }

  #checkCounts(): void {
    // Whoever could not start for a while, between two starts too, came back to the end of the ring.
    for (const receiver of this.#receivers.values()) if (!this.#mayStart(receiver)) receiver.overtakenBy.clear();
    expect(this.turns.waiting).toBe(this.waiting);
    expect(this.turns.inFlight).toBe(this.inFlight);
    expect(this.inFlight).toBeLessThanOrEqual(this.#maxInFlight);
  }

  /** Who may start, as far as anything but the rate goes. */
  #ready(): Receiver[] {
    if (this.inFlight >= this.#maxInFlight) return [];
    const deadShareUsed = this.#deadShareUsed();
    return [...this.#receivers.values()].filter(
      (receiver) => this.#mayStart(receiver) && !(deadShareUsed && isDead(receiver)),
    );
  }

  /** Whether something waits and the receiver's own cap has room. */
  #mayStart(receiver: Receiver): boolean {
    const waiting = receiver.fresh.length + receiver.backlog.length;
    return waiting > 0 && receiver.inFlight.length < this.turns.cap(receiver.name);
  }

  #deadShareUsed(): boolean {
    const inFlight = this.#sum((receiver) => (isDead(receiver) ? receiver.inFlight.length : 0));
    return inFlight >= Math.max(1, Math.floor(this.#maxInFlight / 4));
  }

  #sum(count: (receiver: Receiver) => number): number {
    return [...this.#receivers.values()].reduce((sum, receiver) => sum + count(receiver), 0);
  }

  #receiver(name: string): Receiver {
    let receiver = this.#receivers.get(name);
    if (receiver === undefined) {
      receiver = {
        name,
        fresh: [],
        backlog: [],
        inFlight: [],
        speeds: [],
        rate: null,
        starts: [],
        overtakenBy: new Set(),
      };
      this.#receivers.set(name, receiver);
    }
    return receiver;
  }
}

function isDead({ speeds }: Receiver): boolean {
  return speeds.length >= 3 && speeds.slice(-3).every((speed) => speed === "silent");
}
