/**
 * Limits how many attempts are in flight to one destination, for all endpoints together. Without a limit, one publish
 * with many endpoints at one place would open thousands of connections to somebody who never asked for any. A
 * destination is the address that answered last, or the registrable host until an address has answered. So a platform
 * that thousands of customers share is one destination only for their first attempts. While some endpoints are known by
 * host and some by address, there may be twice as many attempts. Addresses that are not public have no limit, because
 * the operator allowed them.
 */
import { isGlobal, parseAddress } from "../../domain/network/address.ts";

/** One destination. It exists while an endpoint leads to it. */
interface Destination {
  readonly key: string;
  endpoints: number;
  inFlight: number;
}

export class Destinations {
  readonly #most: number;
  readonly #byKey = new Map<string, Destination>();
  readonly #byEndpoint = new Map<string, EndpointDestination>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns the endpoint's `EndpointDestination`, always the same object. */
  of(endpoint: string): EndpointDestination {
    let destination = this.#byEndpoint.get(endpoint);
    if (destination === undefined)
      this.#byEndpoint.set(endpoint, (destination = new EndpointDestination(this.#most, this.#byKey)));
    return destination;
  }

  /** The endpoint was deleted. */
  drop(endpoint: string): void {
    this.#byEndpoint.get(endpoint)?.leadNowhere();
    this.#byEndpoint.delete(endpoint);
  }
}

/** The destination of one endpoint's attempts, and the number of them in flight. */
export class EndpointDestination {
  readonly #most: number;
  readonly #byKey: Map<string, Destination>;
  #to: Destination | null = null;
  #address: string | null = null;
  #inFlight = 0;

  constructor(most: number, byKey: Map<string, Destination>) {
    this.#most = most;
    this.#byKey = byKey;
  }

  get isFull(): boolean {
    return this.#to !== null && this.#to.inFlight >= this.#most;
  }

  /** The endpoint has a new URL. */
  leadTo(url: string): void {
    this.#address = null;
    this.#lead(registrable(new URL(url).hostname));
  }

  leadNowhere(): void {
    this.#lead(null);
  }

  /** An attempt was made at this address. */
  reached(address: string): void {
    if (address === this.#address) return;
    this.#address = address;
    this.#lead(isGlobal(address) ? address : null);
  }

  started(): void {
    this.#inFlight++;
    if (this.#to !== null) this.#to.inFlight++;
  }

  ended(): void {
    this.#inFlight--;
    if (this.#to !== null) this.#to.inFlight--;
  }

  /** From now on, attempts in flight count at the new destination. */
  #lead(key: string | null): void {
    const before = this.#to;
    if (before !== null) {
      before.inFlight -= this.#inFlight;
      if (--before.endpoints === 0) this.#byKey.delete(before.key);
    }
    this.#to = null;
    if (key === null || this.#most === Number.POSITIVE_INFINITY) return;
    const to = this.#byKey.get(key) ?? { key, endpoints: 0, inFlight: 0 };
    this.#byKey.set(key, to);
    to.endpoints++;
    to.inFlight += this.#inFlight;
    this.#to = to;
  }
}

/**
 * Approximates the registered domain without a list of all public suffixes: two labels, or three if the second is short
 * and the last a country's ("example.co.uk"). Null for an address that is not public.
 */
function registrable(hostname: string): string | null {
  const host = hostname.replace(/^\[|\]$|\.$/g, "");
  if (parseAddress(host) !== null) return isGlobal(host) ? host : null;
  const labels = host.split(".");
  const [second = "", last = ""] = labels.slice(-2);
  return labels.slice(second.length <= 3 && last.length === 2 ? -3 : -2).join(".");
}

const GROWS_MS = 1000;
/** The number of open files allowed may change while the process runs, so check again this often. */
const LOOK_MS = 10_000;

/**
 * Limits how many attempts may be in flight to what is configured and what the open files allow. After a shortage, the
 * limit begins at the number that got through, and doubles each second. Times are monotonic milliseconds.
 */
export class InFlightLimit {
  readonly #most: () => number;
  #ceiling: number;
  #lookedAt: number;
  #limit = Number.POSITIVE_INFINITY;
  #since = 0;

  constructor(most: () => number, now: number) {
    this.#most = most;
    this.#ceiling = most();
    this.#lookedAt = now;
  }

  at(now: number): number {
    if (now - this.#lookedAt >= LOOK_MS) this.look(now);
    while (this.#limit < this.#ceiling && now - this.#since >= GROWS_MS) {
      this.#limit = Math.max(1, 2 * this.#limit);
      this.#since += GROWS_MS;
    }
    if (this.#limit < this.#ceiling) return this.#limit;
    this.#limit = Number.POSITIVE_INFINITY;
    return this.#ceiling;
  }

  look(now: number): void {
    this.#lookedAt = now;
    this.#ceiling = this.#most();
  }

  /** The time at which the limit will rise. Infinity if it will not. */
  get growsAt(): number {
    return this.#limit === Number.POSITIVE_INFINITY ? this.#limit : this.#since + GROWS_MS;
  }

  /** An attempt failed for lack of resources while this many others were in flight. */
  short(inFlight: number, now: number): void {
    this.#limit = Math.min(this.#limit, inFlight);
    this.#since = now;
  }
}
