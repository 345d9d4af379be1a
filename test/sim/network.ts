/** A model of the network. A request reaches a receiver or is lost, and its sender may die before the response. */
import { noResponse, type Outcome } from "../../src/domain/deliveries/attempt.ts";
import type { SignedRequest } from "../../src/delivery/http/exchange.ts";
import type { WayOut } from "./addresses.ts";
import type { VirtualClock } from "./clock.ts";
import type { Random } from "./random.ts";
import type { SimReceiver } from "./receiver.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

/** A tenth of the specified limit. */
export const TIMEOUT_MS = 1000;
/** The maximum number of requests that one sender may have in flight, in total and for one endpoint. */
export const MAX_IN_FLIGHT = 64;
export const ENDPOINT_MAX_IN_FLIGHT = 16;
/** All receivers are hosts of one domain. */
export const DESTINATION_MAX_IN_FLIGHT = 24;
/** A payload that kills the process that sends it. */
export const DEADLY = '"deadly":true';

/** One request as the network saw it. */
export interface SeenAttempt {
  readonly delivery: string;
  readonly number: number;
  readonly url: string;
  readonly startedAt: number;
  /** Null if the whole process died during the request. */
  endedAt: number | null;
}

export interface SimNetworkParts {
  readonly clock: VirtualClock;
  readonly random: Random;
  /** True if no receiver can be reached. */
  readonly isCutOff: () => boolean;
  /** Opens a connection. Null if every address is allowed. */
  readonly wayOut: WayOut | null;
  /** True if this process has no file descriptor left. */
  readonly isShort: () => boolean;
  readonly receiverOf: (url: string) => SimReceiver;
  readonly onAttempt: (attempt: SeenAttempt) => void;
  readonly onDeadly: () => void;
  readonly violations: string[];
}

/** The part of the network that one sender uses while it lives. */
export class SimNetwork {
  readonly #parts: SimNetworkParts;
  readonly #isAlive: () => boolean;
  readonly #onWire = new Set<SeenAttempt>();

  constructor(parts: SimNetworkParts, isAlive: () => boolean) {
    this.#parts = parts;
    this.#isAlive = isAlive;
  }

  post(url: string, tenant: string, request: SignedRequest): Promise<Outcome> {
    const { clock, wayOut, isShort, onAttempt, onDeadly, receiverOf } = this.#parts;
    return new Promise((resolve) => {
      if (!this.#isAlive()) return;
      if (Buffer.from(request.body).includes(DEADLY)) return onDeadly();
      if (isShort()) {
        clock.at(clock.monotonic + 1, () => this.#isAlive() && resolve(noResponse("interrupted", "EMFILE", 1)));
        return;
      }
      const seen: SeenAttempt = { ...labels(request), url, startedAt: clock.monotonic, endedAt: null };
      this.#onWire.add(seen);
      this.#checkBounds(url);
      onAttempt(seen);
      receiverOf(url).signed(request, clock.now());
      receiverOf(url).signedToo(request, clock.monotonic);
      if (wayOut === null) return this.#send(seen, request, resolve);
      unawaited(
        wayOut.open(url, tenant).then((fault) => {
          if (!this.#isAlive()) return;
          if (fault === null) return this.#send(seen, request, resolve);
          const { error, message, evidence } = fault;
          this.#end(seen, 0, () => resolve(noResponse(error, message, 0, { evidence })));
        }),
      );
    });
  }

  #send(seen: SeenAttempt, request: SignedRequest, resolve: (outcome: Outcome) => void): void {
    const { clock, random, isCutOff, receiverOf } = this.#parts;
    if (isCutOff()) {
      // There is no route, which this host or a router reports at once, or there is no response.
      const afterMs = random.chance(0.5) ? random.between(1, 5) : TIMEOUT_MS;
      const evidence = afterMs < TIMEOUT_MS && random.chance(0.5) ? "cut_off" : "silence";
      this.#end(seen, afterMs, () => resolve(noResponse("timeout", "cut off", afterMs, { evidence })));
      return;
    }
    const receiver = receiverOf(seen.url);
    const { outcome, afterMs, processed } = receiver.answer(request, random);
    // A request that reached the receiver was processed, even if the sender dies before the response.
    const heardAt = random.between(0, afterMs);
    if (processed !== null) clock.at(clock.monotonic + heardAt, () => receiver.processed.push(processed));
    this.#end(seen, afterMs, () => resolve(outcome));
  }

  /** Only the sender died, so its requests end. */
  drop(): void {
    for (const seen of this.#onWire) seen.endedAt = this.#parts.clock.monotonic;
  }

  /** V9: the requests in flight stay within their limits. */
  #checkBounds(url: string): void {
    const { violations } = this.#parts;
    if (this.#onWire.size > MAX_IN_FLIGHT) violations.push(`V9: ${this.#onWire.size} attempts are on the wire`);
    const alike = [...this.#onWire].filter((seen) => seen.url === url).length;
    if (alike > ENDPOINT_MAX_IN_FLIGHT) violations.push(`V9: ${alike} attempts to ${url} are on the wire`);
  }

  #end(seen: SeenAttempt, afterMs: number, report: () => void): void {
    const { clock } = this.#parts;
    clock.at(clock.monotonic + afterMs, () => {
      if (!this.#isAlive()) return;
      this.#onWire.delete(seen);
      seen.endedAt = clock.monotonic;
      report();
    });
  }
}

function labels({ headers }: SignedRequest): { delivery: string; number: number } {
  const value = (name: string) => headers[headers.indexOf(name) + 1]!;
  return { delivery: value("x-webhookd-delivery"), number: Number(value("x-webhookd-attempt")) };
}
