/**
 * A pool of senders, each on its own thread. Each endpoint belongs to one of them. A thread that dies is replaced and
 * nothing is lost: the new thread gets what was waiting, and what was on the wire goes into quarantine.
 */
import type { Clock } from "../../clock.ts";
import type { AddressRules } from "../../domain/network/address.ts";
import type { Ended } from "../../domain/deliveries/attempt.ts";
import type { Send } from "../../domain/deliveries/delivery.ts";
import { INITIAL_CAP, type Target } from "../../domain/endpoints/endpoint.ts";
import type { Log } from "../../log.ts";
import type { SenderSettings } from "../send/open-sender.ts";
import type { Sending } from "../send/sender.ts";
import { Quarantine } from "./quarantine.ts";
import { ThreadPort, type Outstanding, type StartThread, type ThreadPortParts } from "./thread-port.ts";
import { unawaited } from "../../domain/unawaited.ts";

export interface SenderPoolParts {
  readonly threads: number;
  readonly start: StartThread;
  readonly settings: SenderSettings;
  readonly clock: Pick<Clock, "after" | "nextTurn">;
  readonly now: () => number;
  readonly log: Log;
  readonly onEnded: (batch: readonly Ended[]) => void;
  /** Called when a thread died and was replaced. */
  readonly onDeath?: () => void;
}

export class SenderPool implements Sending {
  readonly #parts: SenderPoolParts;
  /** The settings for threads that are started later. */
  #settings: SenderSettings;
  readonly #threads: ThreadPort[];
  readonly #targets = new Map<string, Target>();
  readonly #caps = new Map<string, number>();
  readonly #quarantine: Quarantine;
  #maxInFlight: number;
  #paused = false;
  #closed = false;
  #probes = 0;

  constructor(parts: SenderPoolParts) {
    this.#parts = parts;
    this.#settings = parts.settings;
    this.#maxInFlight = parts.settings.maxInFlight;
    this.#quarantine = new Quarantine({
      start: (onDeath) => this.#open(1, onDeath),
      targetOf: (endpoint) => this.#targets.get(endpoint)!,
      isPaused: () => this.#paused,
      onEnded: ({ delivery, endpoint }, outcome) => {
        const url = this.#targets.get(endpoint)?.url ?? "";
        parts.onEnded([{ delivery, endpoint, url, startedAt: parts.now(), secretVersion: null, outcome }]);
      },
      log: parts.log,
    });
    this.#threads = Array.from({ length: parts.threads }, (_, at) => this.#startThread(at));
  }

  get inFlight(): number {
    let inFlight = 0;
    for (const thread of this.#all()) inFlight += thread.inFlight;
    return inFlight;
  }

  cap(endpoint: string): number {
    return this.#caps.get(endpoint) ?? Math.min(INITIAL_CAP, this.#parts.settings.endpointMaxInFlight);
  }

  /** Resolves once every thread has started and answers. */
  async ready(): Promise<void> {
    const isUp = (at: number) => this.#threads[at]!.ask({ kind: "forget", endpoint: "" });
    // A thread that could not start does not answer, and another takes its place.
    const ready = async (at: number) => {
      while (!this.#closed && (await isUp(at)) === undefined);
    };
    await Promise.all(this.#threads.map((_, at) => ready(at)));
  }

  /** With `low`, an endpoint starts with one attempt at a time, as if just enabled. */
  async setTarget(target: Target, low = false): Promise<void> {
    if (this.#targets.get(target.endpoint)?.enabled === false && target.enabled) this.#caps.set(target.endpoint, 1);
    this.#targets.set(target.endpoint, target);
    // A quarantine thread gets its targets when it starts a send, so tell it only if it is running.
    const threads = [this.#threadOf(target.endpoint), this.#quarantine.thread];
    await Promise.all(threads.map((thread) => thread?.ask({ kind: "target", target, low })));
  }

  /** Sets the total limit. Attempts above it stay in flight until they end. */
  setMaxInFlight(maxInFlight: number): void {
    this.#maxInFlight = maxInFlight;
    // If a thread has more outstanding than its share, the other threads get that much less.
    const over = this.#threads.map(({ outstanding }, at) => Math.max(0, outstanding - this.#share(at)));
    const isLess = maxInFlight < this.#parts.settings.maxInFlight;
    const all = over.reduce((sum, each) => sum + each, 0);
    for (const [at, thread] of this.#threads.entries()) {
      thread.tell({
        kind: "limit",
        maxInFlight: isLess ? Math.max(0, this.#share(at) - (all - over[at]!)) : this.#share(at),
      });
    }
  }

  setEgress(addresses: AddressRules): void {
    this.#settings = { ...this.#settings, addresses };
    for (const thread of this.#all()) thread.tell({ kind: "egress", rules: addresses });
  }

  send(sends: readonly Send[]): void {
    if (this.#threads.length === 1) this.#threads[0]!.send(sends);
    else for (const send of sends) this.#threadOf(send.endpoint).send([send]);
  }

  async forget(endpoint: string, isGone = false): Promise<readonly string[]> {
    const given: string[] = [];
    // A thread that died in the meantime did not answer; its sends went to its replacement or into quarantine. So ask
    // again until no thread was replaced.
    let asked: (ThreadPort | null)[] = [];
    while (asked[0] !== this.#threadOf(endpoint) || asked[1] !== this.#quarantine.thread) {
      asked = [this.#threadOf(endpoint), this.#quarantine.thread];
      // Ask the quarantine first, or it could start the next suspect after a thread was asked.
      given.push(...this.#quarantine.forget(endpoint));
      for (const thread of asked) if (thread !== null) given.push(...(await thread.forget(endpoint, isGone)));
    }
    if (isGone) {
      this.#targets.delete(endpoint);
      this.#caps.delete(endpoint);
    }
    return given;
  }

  /** Takes back the endpoint's waiting sends, in order, to send them elsewhere. Suspects stay. */
  takeBack(endpoint: string): Promise<readonly Send[]> {
    return this.#threadOf(endpoint).takeBack(endpoint);
  }

  async pause(): Promise<void> {
    this.#paused = true;
    await Promise.all([...this.#all()].map((thread) => thread.ask({ kind: "pause" })));
  }

  resume(): void {
    this.#paused = false;
    for (const thread of this.#all()) thread.tell({ kind: "resume" });
    this.#quarantine.next();
  }

  /** Probes on a thread that has something waiting. The threads take turns. */
  probe(): void {
    const busy = this.#threads.filter(({ outstanding }) => outstanding > 0);
    if (busy.length > 0) busy[this.#probes++ % busy.length]!.tell({ kind: "probe" });
    else this.#quarantine.try();
  }

  async drain(): Promise<void> {
    this.#paused = true;
    await Promise.all([...this.#all()].map((thread) => thread.ask({ kind: "drain" })));
  }

  abort(): void {
    this.#paused = true;
    for (const thread of this.#all()) thread.tell({ kind: "abort" });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#all()].map((thread) => thread.close()));
  }

  *#all(): Generator<ThreadPort> {
    yield* this.#threads;
    if (this.#quarantine.thread !== null) yield this.#quarantine.thread;
  }

  #threadOf(endpoint: string): ThreadPort {
    return this.#threads[placeOf(endpoint, this.#threads.length)]!;
  }

  /**
   * Returns one thread's share of the limit. The shares add up to the limit, unless that is less than one per thread.
   */
  #share(at: number): number {
    const { settings, threads } = this.#parts;
    const share = Math.floor((this.#maxInFlight + threads - 1 - at) / threads);
    return settings.maxInFlight < threads ? Math.max(1, share) : share;
  }

  #startThread(at: number): ThreadPort {
    return this.#open(this.#share(at), (outstanding, began) => this.#replace(at, outstanding, began));
  }

  #open(maxInFlight: number, onDeath: ThreadPortParts["onDeath"]): ThreadPort {
    const { start, clock, onEnded } = this.#parts;
    return new ThreadPort({
      start,
      settings: { ...this.#settings, maxInFlight },
      clock,
      onError: (error) => this.#parts.log.error({ err: error }, "an uncaught error in a sender thread"),
      onDeath,
      onEnded: (batch, caps) => {
        for (const [endpoint, cap] of caps) this.#caps.set(endpoint, cap);
        const { deaths } = this.#quarantine;
        if (deaths.size > 0) for (const { delivery } of batch) deaths.delete(delivery);
        onEnded(batch);
      },
    });
  }

  #replace(at: number, outstanding: readonly Outstanding[], began: boolean): void {
    const suspects = outstanding.filter(({ onWire }) => onWire);
    this.#parts.log.error(
      { in_flight: suspects.length, waiting: outstanding.length - suspects.length },
      began ? "a sender thread died and is being replaced" : "a sender thread could not start and is being replaced",
    );
    const thread = this.#startThread(at);
    this.#threads[at] = thread;
    if (this.#paused) unawaited(thread.ask({ kind: "pause" }));
    for (const target of this.#targets.values()) {
      if (placeOf(target.endpoint, this.#threads.length) === at) unawaited(thread.ask({ kind: "target", target }));
    }
    thread.send(outstanding.filter(({ onWire }) => !onWire).map(({ send }) => send));
    this.#quarantine.suspect(suspects);
    if (began) this.#parts.onDeath?.();
  }
}

/** Hashes the id with FNV-1a, so that the same endpoint always goes to the same thread. */
function placeOf(endpoint: string, threads: number): number {
  if (threads === 1) return 0;
  let hash = 0x811c9dc5;
  for (let at = 0; at < endpoint.length; at++) hash = Math.imul(hash ^ endpoint.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % threads;
}
