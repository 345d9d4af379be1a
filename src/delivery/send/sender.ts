/**
 * Sends what the dispatcher hands it: the fair queue chooses the delivery, the request is signed and posted, and the
 * outcome is reported. The sender does not know the store or the ladder.
 */
import { type Clock, Slice } from "../../clock.ts";
import type { AddressRules } from "../../domain/network/address.ts";
import { noResponse, type Ended, type Outcome } from "../../domain/deliveries/attempt.ts";
import type { Send } from "../../domain/deliveries/delivery.ts";
import { isSameRoute } from "../../domain/endpoints/auth.ts";
import type { Target } from "../../domain/endpoints/endpoint.ts";
import type { Exchange } from "../http/exchange.ts";
import { Speedometer } from "./endpoint-queue.ts";
import { Destinations, InFlightLimit, type EndpointDestination } from "./destinations.ts";
import { FairQueue } from "./fair-queue.ts";
import type { Signer } from "./signer.ts";
import { unawaited } from "../../domain/unawaited.ts";

/**
 * The interface that a sender offers to the dispatcher. A sender on the same thread implements it, and so does a pool
 * of threads.
 */
export interface Sending {
  /** The number of attempts on the wire. */
  readonly inFlight: number;
  /** Returns the number of attempts to this endpoint that may be in flight at a time, as far as the sender knows. */
  cap(endpoint: string): number;
  /**
   * Sets an endpoint's settings. They apply to attempts that start after this resolves, and to sends handed over after
   * the call. An endpoint that was just enabled starts with one attempt at a time, because its receiver's capacity is
   * unknown.
   */
  setTarget(target: Target): Promise<void>;
  /** Sets the rules for every new connection, and for every request that is not on the wire yet. */
  setEgress(rules: AddressRules): void;
  /** The targets of their endpoints must have been set. Each send ends, is given back, or waits while paused. */
  send(sends: readonly Send[]): void;
  /**
   * Starts no more of the endpoint's waiting sends. Returns the ids of the deliveries that it gives back. With `isGone`
   * the endpoint was deleted, and everything about it is forgotten.
   */
  forget(endpoint: string, isGone?: boolean): Promise<readonly string[]>;
  /** Resolves once nothing starts any more. */
  pause(): Promise<void>;
  resume(): void;
  /** Starts one attempt in spite of the pause: the next in turn. */
  probe(): void;
  /** Pauses, and resolves when nothing is in flight and every end was reported. */
  drain(): Promise<void>;
  /** Pauses, and ends everything in flight as `interrupted`. */
  abort(): void;
  /** Call this after a drain. */
  close(): Promise<void>;
}

/** The connection to one endpoint: an exchange, or a simulated one. */
export type Wire = Pick<Exchange, "post" | "abort" | "close">;

export interface SenderParts {
  readonly clock: Clock;
  readonly signer: (target: Target) => Signer;
  readonly open: (target: Target) => Wire;
  readonly maxInFlight: number;
  readonly endpointMaxInFlight: number;
  /** The limit for one destination, across all of its endpoints. Default: no limit. */
  readonly destinationMaxInFlight?: number;
  /** Returns the number of attempts that the open files allow, which may be fewer. */
  readonly capacity?: () => number;
  readonly onEnded: (ended: Ended, send: Send) => void;
  /** Called before the first byte of an attempt. */
  readonly onStart?: ((send: Send) => void) | undefined;
  readonly onEgress?: (rules: AddressRules) => void;
  readonly onClosed?: () => void;
}

interface Receiver {
  readonly target: Target;
  readonly signer: Signer;
  readonly wire: Wire;
  readonly speedometer: Speedometer;
  readonly destination: EndpointDestination;
}

const MAX_SLEEP_MS = 60_000;

export class Sender implements Sending {
  readonly #parts: SenderParts;
  readonly #queue: FairQueue;
  readonly #destinations: Destinations;
  readonly #limit: InFlightLimit;
  #maxInFlight: number;
  readonly #receivers = new Map<string, Receiver>();
  /** Wires on which nothing new is sent, kept until their attempts have ended. */
  readonly #leaving = new Set<Wire>();
  #paused = false;
  /** True while starting resumes only in a later turn of the event loop. */
  #yields = false;
  /** Set while deliveries wait only for a rate, a pace or a limit. */
  #cancelTimer: (() => void) | null = null;
  #wakeAt = Number.POSITIVE_INFINITY;
  #onDrained: (() => void)[] = [];

  constructor(parts: SenderParts) {
    this.#parts = parts;
    const { clock, destinationMaxInFlight = Number.POSITIVE_INFINITY, endpointMaxInFlight, capacity } = parts;
    this.#maxInFlight = parts.maxInFlight;
    const most = () => Math.min(this.#maxInFlight, capacity?.() ?? this.#maxInFlight);
    this.#limit = new InFlightLimit(most, clock.monotonic());
    this.#destinations = new Destinations(destinationMaxInFlight);
    this.#queue = new FairQueue(endpointMaxInFlight, most(), this.#destinations);
  }

  get inFlight(): number {
    return this.#queue.inFlight;
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  cap(endpoint: string): number {
    return this.#queue.cap(endpoint);
  }

  /** With `low`, an endpoint starts with one attempt at a time, as if just enabled. */
  async setTarget(target: Target, low = false): Promise<void> {
    const before = this.#receivers.get(target.endpoint);
    const sameRoute = before !== undefined && isSameRoute(before.target, target);
    const sameUrl = before?.target.url === target.url;
    if (before !== undefined && !sameRoute) this.#leave(before.wire);
    const wire = sameRoute ? before.wire : this.#parts.open(target);
    const speedometer = sameUrl ? before!.speedometer : new Speedometer();
    const destination = this.#destinations.of(target.endpoint);
    if (!sameUrl) destination.leadTo(target.url);
    this.#receivers.set(target.endpoint, {
      target,
      signer: this.#parts.signer(target),
      wire,
      speedometer,
      destination: destination,
    });
    if (low || (before?.target.enabled === false && target.enabled)) this.#queue.startLow(target.endpoint);
    this.#queue.setCeiling(target.endpoint, target.maxInFlight);
    this.#queue.setRate(target.endpoint, target.ratePerSecond, this.#parts.clock.monotonic());
    // Waiting deliveries may start now if the rate was raised or removed.
    this.#pump();
  }

  setEgress(rules: AddressRules): void {
    this.#parts.onEgress?.(rules);
  }

  send(sends: readonly Send[]): void {
    for (const send of sends) this.#queue.add(send);
    this.#pump();
  }

  /** Sets the total limit. Attempts above it stay in flight until they end. */
  setMaxInFlight(maxInFlight: number): void {
    this.#maxInFlight = maxInFlight;
    this.#limit.look(this.#parts.clock.monotonic());
    this.#pump();
  }

  async forget(endpoint: string, isGone = false): Promise<readonly string[]> {
    const given = this.takeBack(endpoint).map(({ delivery }) => delivery);
    if (isGone) this.#drop(endpoint);
    return given;
  }

  /** Like `forget`, but returns the sends, in the order in which they would have started. */
  takeBack(endpoint: string): readonly Send[] {
    return this.#queue.forget(endpoint);
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
    this.#queue.setMaxInFlight(Math.max(1, this.#limit.at(now)));
    const send = this.#queue.next(now);
    if (send !== undefined) this.#start(send);
  }

  drain(): Promise<void> {
    this.#stopStarting();
    return this.#queue.inFlight === 0 ? Promise.resolve() : new Promise((resolve) => this.#onDrained.push(resolve));
  }

  abort(): void {
    this.#stopStarting();
    for (const { wire } of this.#receivers.values()) wire.abort();
    for (const wire of this.#leaving) wire.abort();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#receivers.values()].map((receiver) => receiver.wire.close()));
    this.#receivers.clear();
    this.#parts.onClosed?.();
  }

  #drop(endpoint: string): void {
    const receiver = this.#receivers.get(endpoint);
    if (receiver === undefined) return;
    this.#receivers.delete(endpoint);
    this.#leave(receiver.wire);
    this.#destinations.drop(endpoint);
    // A queue without its own limits is dropped like any other idle one.
    this.#queue.setCeiling(endpoint, null);
    this.#queue.setRate(endpoint, null, this.#parts.clock.monotonic());
  }

  #leave(wire: Wire): void {
    this.#leaving.add(wire);
    unawaited(wire.close().then(() => this.#leaving.delete(wire)));
  }

  #stopStarting(): void {
    this.#paused = true;
    this.#disarm();
  }

  #pump(): void {
    if (this.#paused || this.#yields) return;
    const { clock } = this.#parts;
    const now = clock.monotonic();
    this.#queue.setMaxInFlight(this.#limit.at(now));
    const slice = new Slice(clock, now);
    for (let send = this.#queue.next(now); send !== undefined; send = this.#queue.next(now)) {
      this.#start(send);
      // Starting thousands in one turn would hold up everything else.
      if (slice.isOver()) return this.#yield();
    }
    this.#arm(now);
  }

  #yield(): void {
    this.#yields = true;
    this.#parts.clock.nextTurn(() => {
      this.#yields = false;
      this.#pump();
    });
  }

  #arm(now: number): void {
    const growsAt = this.#queue.waiting > 0 ? this.#limit.growsAt : Number.POSITIVE_INFINITY;
    const at = Math.min(this.#queue.nextAt(), growsAt);
    if (at === this.#wakeAt) return;
    this.#disarm();
    if (at === Number.POSITIVE_INFINITY) return;
    this.#wakeAt = at;
    // Rounded up, because timers cut fractions off; limited, because they fire at once beyond 2^31 ms.
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

  #start(send: Send): void {
    const receiver = this.#receivers.get(send.endpoint);
    if (receiver === undefined) throw new Error(`no target for ${send.endpoint}`);
    this.#parts.onStart?.(send);
    const startedAt = this.#parts.clock.now();
    const end = (outcome: Outcome) => this.#end(send, receiver, startedAt, outcome);
    if (send.corrupt) {
      // Never send these bytes: they are not the ones that were accepted.
      queueMicrotask(() => end(noResponse("payload_corrupt", "the stored payload does not match its checksum", 0)));
      return;
    }
    unawaited(receiver.wire.post(receiver.signer.sign(send, Math.floor(startedAt / 1000))).then(end));
  }

  #end(send: Send, receiver: Receiver, startedAt: number, outcome: Outcome): void {
    const now = this.#parts.clock.monotonic();
    this.#queue.ended(send, receiver.speedometer.speedOf(outcome, now));
    if (outcome.remoteAddress !== null) receiver.destination.reached(outcome.remoteAddress);
    if (outcome.evidence === "shortage") this.#limit.short(this.#queue.inFlight, now);
    const { delivery, endpoint } = send;
    const secretVersion = send.corrupt ? null : receiver.target.secretVersion;
    this.#parts.onEnded({ delivery, endpoint, url: receiver.target.url, startedAt, secretVersion, outcome }, send);
    if (this.#queue.inFlight === 0) for (const resolve of this.#onDrained.splice(0)) resolve();
    this.#pump();
  }
}
