import { expect } from "vitest";
import { FairQueue } from "../../../src/delivery/send/fair-queue.ts";
import type { Speed } from "../../../src/delivery/send/endpoint-queue.ts";
import type { Send } from "../../../src/domain/deliveries/delivery.ts";

let serial = 0;
export function aSend(endpoint: string, fresh = true): Send {
  const event = `evt_${String(++serial).padStart(6, "0")}`;
  return { event, delivery: `dlv_${event}`, endpoint, body: new Uint8Array(0), number: 1, trigger: "ladder", fresh };
}

export function takeAll(queue: FairQueue, now = 0): Send[] {
  const taken: Send[] = [];
  for (let send = queue.next(now); send !== undefined; send = queue.next(now)) taken.push(send);
  return taken;
}

interface Receiver {
  readonly name: string;
  readonly fresh: Send[];
  readonly backlog: Send[];
  readonly inFlight: Send[];
  readonly speeds: Speed[];
  rate: number | null;
  /** The times at which attempts started since the rate was last set. */
  starts: number[];
  /** Receivers that have started since this one became ready and before it started itself. */
  overtakenBy: Set<string>;
}

/**
 * A fair queue beside a plain record of waiting sends and sends in flight. It checks every start against the rules, and
 * every refusal too: a receiver may be kept waiting only if a rule says so.
 */
export class Model {
  readonly queue: FairQueue;
  now = 0;
  readonly #ceiling: number;
  readonly #maxInFlight: number;
  readonly #receivers = new Map<string, Receiver>();

  constructor(ceiling: number, maxInFlight: number) {
    this.#ceiling = ceiling;
    this.#maxInFlight = maxInFlight;
    this.queue = new FairQueue(ceiling, maxInFlight);
  }

  get waiting(): number {
    return this.#sum((receiver) => receiver.fresh.length + receiver.backlog.length);
  }

  get inFlight(): number {
    return this.#sum((receiver) => receiver.inFlight.length);
  }

  add(name: string, fresh: boolean): void {
    const receiver = this.#receiver(name);
    const send = aSend(name, fresh);
    (fresh ? receiver.fresh : receiver.backlog).push(send);
    this.queue.add(send);
    this.#checkCounts();
  }

  setCeiling(name: string, maxInFlight: number | null): void {
    this.queue.setCeiling(name, maxInFlight);
    expect(this.queue.cap(name)).toBeLessThanOrEqual(Math.min(maxInFlight ?? this.#ceiling, this.#ceiling));
    this.#checkCounts();
  }

  setRate(name: string, rate: number | null): void {
    const receiver = this.#receiver(name);
    receiver.rate = rate;
    receiver.starts = [];
    this.queue.setRate(name, rate, this.now);
  }

  forget(name: string): void {
    const receiver = this.#receiver(name);
    const expected = [...receiver.fresh.splice(0), ...receiver.backlog.splice(0)];
    expect(this.queue.forget(name)).toEqual(expected);
    this.#checkCounts();
  }

  /** Ends the attempt at this position among those in flight, modulo their number. */
  end(at: number, speed: Speed): void {
    const sends = [...this.#receivers.values()].flatMap((receiver) => receiver.inFlight);
    const send = sends[at % sends.length];
    if (send === undefined) return;
    const receiver = this.#receiver(send.endpoint);
    receiver.inFlight.splice(receiver.inFlight.indexOf(send), 1);
    const wasDead = isDead(receiver);
    if (speed !== "unknown") receiver.speeds.push(speed);
    if (isDead(receiver) !== wasDead) receiver.overtakenBy.clear();
    this.queue.ended(send, speed);
    this.#checkCounts();
  }

  /** Starts at most `limit` sends and returns how many were started. */
  start(limit: number): number {
    for (let started = 0; started < limit; started++) {
      const before = this.#ready();
      const send = this.queue.next(this.now);
      if (send === undefined) {
        this.#checkRefusal(before);
        return started;
      }
      this.#checkStart(send, before);
    }
    return limit;
  }

  /** Lets time pass until every waiting send has started and ended. */
  drain(speed: Speed): void {
    // Each send starts once, ends once, and waits for a token once, or twice if the cap shrinks in the meantime.
    let steps = 4 * (this.waiting + this.inFlight);
    for (; steps > 0 && this.waiting + this.inFlight > 0; steps--) {
      if (this.start(1) > 0) continue;
      if (this.inFlight > 0) this.end(0, speed);
      else this.now = this.queue.nextAt();
    }
    expect({ waiting: this.waiting, inFlight: this.inFlight }).toEqual({ waiting: 0, inFlight: 0 });
  }

  #checkStart(send: Send, ready: readonly Receiver[]): void {
    const receiver = this.#receiver(send.endpoint);
    expect(ready).toContain(receiver);
    const [lane, other] = send.fresh ? [receiver.fresh, receiver.backlog] : [receiver.backlog, receiver.fresh];
    expect(lane.shift()).toBe(send);
    if (other.length > 0) this.#checkHalf(receiver, send);
    receiver.inFlight.push(send);
    this.#checkRate(receiver);
    this.#checkRing(receiver, ready);
    this.#checkCounts();
  }

  /** The lane that starts a send holds less than half of the cap, unless the other lane has its half. */
  #checkHalf(receiver: Receiver, send: Send): void {
    const cap = this.queue.cap(receiver.name);
    const same = receiver.inFlight.filter(({ fresh }) => fresh === send.fresh).length;
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
      // A token may be added between two checks, so a receiver with a rate may not have been ready all the time.
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
      const at = this.queue.nextAt();
      expect(at).toBeGreaterThan(this.now);
      expect(at).toBeLessThanOrEqual(this.now + 1000 / Math.min(1, receiver.rate!) + 1e-6);
    }
    const full = this.inFlight >= this.#maxInFlight || this.#deadShareUsed();
    if (ready.length === 0 && !full) expect(this.queue.nextAt()).toBe(Number.POSITIVE_INFINITY);
  }

  #checkCounts(): void {
    // A receiver that could not start for a while, even between two starts, went to the end of the ring.
    for (const receiver of this.#receivers.values()) if (!this.#mayStart(receiver)) receiver.overtakenBy.clear();
    expect(this.queue.waiting).toBe(this.waiting);
    expect(this.queue.inFlight).toBe(this.inFlight);
    expect(this.inFlight).toBeLessThanOrEqual(this.#maxInFlight);
  }

  /** Returns the receivers that may start if their rates allow it. */
  #ready(): Receiver[] {
    if (this.inFlight >= this.#maxInFlight) return [];
    const deadShareUsed = this.#deadShareUsed();
    return [...this.#receivers.values()].filter(
      (receiver) => this.#mayStart(receiver) && !(deadShareUsed && isDead(receiver)),
    );
  }

  /** True if a send is waiting and the receiver is below its own cap. */
  #mayStart(receiver: Receiver): boolean {
    const waiting = receiver.fresh.length + receiver.backlog.length;
    return waiting > 0 && receiver.inFlight.length < this.queue.cap(receiver.name);
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
