/**
 * Uses threads while there is much to send. While there is little, this thread sends by itself, which saves two
 * wake-ups for each event and the memory of a thread.
 *
 *   here ──more than a given rate──► threads ──a minute of quiet──► here
 *
 * An endpoint moves with its next send, or at once if any of its sends is waiting. Its attempts on the wire end where
 * they began, and until then count against the caps at the new place. Waiting sends move with it, in order. A new
 * thread compiles as it runs, which would hold up a thousand endpoints that moved at once for a third of a second. So
 * endpoints move to threads one after another, and meanwhile each place has half of the total limit of attempts in
 * flight.
 */
import type { Ended } from "../../domain/deliveries/attempt.ts";
import type { Send } from "../../domain/deliveries/delivery.ts";
import { INITIAL_CAP, type Target } from "../../domain/endpoints/endpoint.ts";
import type { AddressRules } from "../../domain/network/address.ts";
import type { Sender, Sending } from "../send/sender.ts";
import { Demand, type DemandParts } from "./demand.ts";
import { limitedAt, other, PLACES, spreadMoves, type Endpoint, type Place } from "./places.ts";
import type { SenderPool } from "./sender-pool.ts";
import { unawaited } from "../../domain/unawaited.ts";

type OnEnded = (batch: readonly Ended[]) => void;

export interface ThreadsOnDemandParts extends Pick<DemandParts, "clock" | "busyPerSecond" | "busyInAll" | "restMs"> {
  readonly openHere: (onEnded: (ended: Ended) => void) => Promise<Sender>;
  readonly openThreads: (onEnded: OnEnded, onDeath: () => void) => SenderPool;
  /** True if a delivery is suspected of killing the process. Threads are then used from start to end. */
  readonly isSuspicious: boolean;
  readonly maxInFlight: number;
  readonly endpointMaxInFlight: number;
  /** The number of endpoints that move to threads per second. */
  readonly movesPerSecond: number;
  readonly onEnded: OnEnded;
  readonly onThreadsEnded: () => void;
}

export class ThreadsOnDemand implements Sending {
  readonly #parts: ThreadsOnDemandParts;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #outstanding = { here: 0, threads: 0 };
  readonly #demand: Demand;
  #here: Sender | null = null;
  #opening: Promise<Sender> | null = null;
  #threads: SenderPool | null = null;
  #place: Place = "here";
  #rules: AddressRules | null = null;
  /** True while the threads that sends will move to are starting. */
  #isWanted = false;
  /** Stops the moves to threads, one endpoint after another. Null unless they are in progress. */
  #cancelMoved: (() => void) | null = null;
  #paused = false;
  #stopped = false;
  /** True once a delivery is suspected of killing its sender. From then on, this thread sends nothing. */
  #suspicious: boolean;

  constructor(parts: ThreadsOnDemandParts) {
    this.#parts = parts;
    this.#suspicious = parts.isSuspicious;
    this.#demand = new Demand({
      ...parts,
      onBusy: () => unawaited(this.#goToThreads()),
      onRest: () => unawaited(this.#goHere()),
    });
    if (this.#suspicious) {
      this.#place = "threads";
      this.#startThreads();
    }
  }

  get inFlight(): number {
    return (this.#here?.inFlight ?? 0) + (this.#threads?.inFlight ?? 0);
  }

  /**
   * At least 1: an endpoint with a cap of 0 would no longer be read, so no attempt would end and raise the cap again.
   */
  cap(endpoint: string): number {
    const place = this.#endpoints.get(endpoint)?.place ?? this.#place;
    return Math.max(1, this.#at(place)?.cap(endpoint) ?? Math.min(INITIAL_CAP, this.#parts.endpointMaxInFlight));
  }

  async setTarget(target: Target): Promise<void> {
    if (this.#place === "here" && this.#here === null) await this.#openHere();
    const place = this.#place;
    const fresh = { target, place, movesAt: 0, outstanding: { here: 0, threads: 0 }, isPaced: false, move: null };
    const endpoint: Endpoint = this.#endpoints.get(target.endpoint) ?? fresh;
    this.#endpoints.set(target.endpoint, endpoint);
    endpoint.target = target;
    const places = PLACES.filter((at) => endpoint.place === at || endpoint.outstanding[at] > 0);
    await Promise.all(
      places.map((at) => this.#at(at)?.setTarget(limitedAt(endpoint, at, this.#parts.endpointMaxInFlight))),
    );
  }

  setEgress(rules: AddressRules): void {
    this.#rules = rules;
    this.#here?.setEgress(rules);
    this.#threads?.setEgress(rules);
  }

  send(sends: readonly Send[]): void {
    this.#demand.sent(sends.length);
    const now = this.#parts.clock.monotonic();
    const runs = { here: [] as Send[], threads: [] as Send[] };
    for (const send of sends) {
      const endpoint = this.#endpoints.get(send.endpoint)!;
      if (send.pace !== undefined) endpoint.isPaced = true;
      const { move, movesAt, place } = endpoint;
      if (move === null && place !== this.#place && (place === null || movesAt <= now)) this.#move(endpoint);
      if (endpoint.move !== null) endpoint.move.held.push(send);
      else {
        this.#given(endpoint, endpoint.place!, 1);
        runs[endpoint.place!].push(send);
      }
    }
    for (const at of PLACES) if (runs[at].length > 0) this.#at(at)!.send(runs[at]);
  }

  async forget(name: string, isGone = false): Promise<readonly string[]> {
    const endpoint = this.#endpoints.get(name);
    await endpoint?.move?.taken;
    const given = endpoint?.move?.held.splice(0).map(({ delivery }) => delivery) ?? [];
    for (const at of PLACES) {
      const back = (await this.#at(at)?.forget(name, isGone)) ?? [];
      if (endpoint !== undefined) this.#given(endpoint, at, -back.length);
      given.push(...back);
    }
    this.#adjust();
    if (isGone && PLACES.every((at) => !endpoint?.outstanding[at])) this.#endpoints.delete(name);
    return given;
  }

  async pause(): Promise<void> {
    this.#paused = true;
    await Promise.all([this.#here?.pause(), this.#threads?.pause()]);
  }

  resume(): void {
    this.#paused = false;
    this.#here?.resume();
    this.#threads?.resume();
  }

  probe(): void {
    if (this.#threads === null || (this.#here?.waiting ?? 0) > 0) this.#here?.probe();
    else this.#threads.probe();
  }

  async drain(): Promise<void> {
    this.#stop();
    await Promise.all([this.#here?.drain(), this.#threads?.drain()]);
  }

  abort(): void {
    this.#stop();
    this.#here?.abort();
    this.#threads?.abort();
  }

  async close(): Promise<void> {
    this.#stop();
    await Promise.all([this.#here?.close(), this.#threads?.close()]);
  }

  #at(place: Place): Sender | SenderPool | null {
    return place === "here" ? this.#here : this.#threads;
  }

  #stop(): void {
    this.#paused = true;
    this.#stopped = true;
    this.#cancelMoved?.();
    this.#demand.stop();
  }

  async #openHere(): Promise<void> {
    this.#opening ??= this.#parts.openHere((ended) => this.#ended("here", [ended]));
    const here = await this.#opening;
    if (this.#here !== null) return;
    this.#here = here;
    if (this.#rules !== null) here.setEgress(this.#rules);
    if (this.#paused) unawaited(here.pause());
  }

  #startThreads(): SenderPool {
    const threads = this.#parts.openThreads(
      (batch) => this.#ended("threads", batch),
      () => {
        this.#suspicious = true;
        this.#parts.clock.nextTurn(() => unawaited(this.#goToThreads()));
      },
    );
    if (this.#rules !== null) threads.setEgress(this.#rules);
    if (this.#paused) unawaited(threads.pause());
    return (this.#threads = threads);
  }

  async #goToThreads(): Promise<void> {
    if (this.#isWanted) return;
    this.#isWanted = true;
    // This thread keeps sending until the threads answer, which may take as long as many events.
    await (this.#threads ?? this.#startThreads()).ready();
    this.#isWanted = false;
    if (this.#place === "threads" || this.#stopped) return;
    this.#goTo("threads");
    this.#demand.awaitRest();
  }

  async #goHere(): Promise<void> {
    await this.#openHere();
    if (!this.#suspicious && !this.#stopped) this.#goTo("here");
  }

  #goTo(place: Place): void {
    this.#place = place;
    this.#cancelMoved?.();
    this.#cancelMoved = null;
    const { clock, movesPerSecond } = this.#parts;
    const perSecond = place === "here" || this.#suspicious ? Number.POSITIVE_INFINITY : movesPerSecond;
    const spread = spreadMoves(this.#endpoints.values(), place, clock.monotonic(), perSecond);
    if (spread > 0) this.#cancelMoved = clock.after(spread, () => this.#moveRest());
    this.#adjust();
    if (spread === 0) this.#moveRest();
  }

  /** Moves the endpoints that have something outstanding. The others move with their next send. */
  #moveRest(): void {
    this.#cancelMoved = null;
    this.#adjust();
    for (const endpoint of this.#endpoints.values()) {
      const from = endpoint.place;
      if (from !== null && from !== this.#place && endpoint.outstanding[from] > 0 && endpoint.move === null)
        this.#move(endpoint);
    }
  }

  /** Moves an endpoint. New sends wait here until everything that waited at the old place is back. */
  #move(endpoint: Endpoint): void {
    const { isPaced, outstanding, place: from, target } = endpoint;
    const old = from === null ? null : this.#at(from);
    const low = old !== null && old.cap(target.endpoint) < INITIAL_CAP;
    const taken = old === null || outstanding[from!] === 0 ? [] : old.takeBack(target.endpoint);
    // Wait a second without starts, so that no second exceeds the pace, whatever each place has saved up.
    const pace = target.ratePerSecond ?? (isPaced ? 1 : null);
    const rest = pace === null ? 0 : Math.max(1000, 1000 / pace);
    const held: Send[] = [];
    const keep = (sends: readonly Send[]) => {
      if (from !== null) this.#given(endpoint, from, -sends.length);
      held.unshift(...sends);
      if (rest === 0) this.#arrive(endpoint, held, low);
      else this.#parts.clock.after(rest, () => this.#arrive(endpoint, held, low));
    };
    if (taken instanceof Promise) endpoint.move = { held, taken: taken.then(keep) };
    else {
      endpoint.move = { held, taken: Promise.resolve() };
      keep(taken);
    }
  }

  /** Hands the sends to whichever place is current by now. */
  #arrive(endpoint: Endpoint, sends: readonly Send[], low: boolean): void {
    const at = this.#at(this.#place)!;
    endpoint.move = null;
    endpoint.place = this.#place;
    this.#adjust();
    unawaited(at.setTarget(limitedAt(endpoint, this.#place, this.#parts.endpointMaxInFlight), low));
    this.#given(endpoint, this.#place, sends.length);
    if (sends.length > 0) at.send(sends);
  }

  #given(endpoint: Endpoint, at: Place, sends: number): void {
    endpoint.outstanding[at] += sends;
    this.#outstanding[at] += sends;
  }

  #ended(at: Place, batch: readonly Ended[]): void {
    for (const { endpoint: name } of batch) {
      const endpoint = this.#endpoints.get(name)!;
      this.#given(endpoint, at, -1);
      const isLast = endpoint.place !== at && endpoint.outstanding[at] === 0;
      if (isLast && endpoint.place !== null) unawaited(this.#at(endpoint.place)!.setTarget(endpoint.target));
    }
    this.#parts.onEnded(batch);
    if (at !== this.#place) this.#adjust();
  }

  /**
   * Attempts outstanding at the old place also count against the total limit of the new one. Once the threads have none
   * left and are not needed, they end.
   */
  #adjust(): void {
    const { maxInFlight } = this.#parts;
    const old = other(this.#place);
    const half = Math.ceil(maxInFlight / 2);
    if (this.#cancelMoved !== null) this.#at(old)?.setMaxInFlight(half);
    const elsewhere =
      this.#cancelMoved === null ? this.#outstanding[old] : Math.max(half, this.#at(old)?.inFlight ?? 0);
    this.#at(this.#place)?.setMaxInFlight(Math.max(0, maxInFlight - elsewhere));
    const threads = this.#threads;
    const isNeeded = this.#place === "threads" || this.#isWanted || this.#suspicious;
    if (isNeeded || threads === null || this.#outstanding.threads > 0) return;
    this.#threads = null;
    for (const endpoint of this.#endpoints.values()) if (endpoint.place === "threads") endpoint.place = null;
    unawaited(threads.close().then(() => this.#parts.onThreadsEnded()));
  }
}
