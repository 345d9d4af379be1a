import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { type Clock, Crowd, Slice } from "../../clock.ts";
import { AddressPolicy, type AddressRules } from "../../domain/network/address.ts";
import { softLimitOf } from "../../domain/files.ts";
import { packed } from "../../build.ts";
import { IDLE_MS } from "./answer.ts";
import { dialTcp, type Dial } from "./dial.ts";
import { createResolve, type Resolve } from "./resolver.ts";

/** What the operator says of the way out, as plain data. */
export interface EgressSettings {
  /** From the start of an attempt to the end of the final header block. */
  readonly timeoutMs: number;
  readonly addresses: AddressRules;
  readonly resolver: "c-ares" | "system";
  /** PEM file of further authorities to trust; "" for none. */
  readonly caFile: string;
}

/** What a test puts in the place of the real network. */
export interface Network {
  readonly resolve?: Resolve;
  readonly dial?: Dial;
  readonly ownAddresses?: () => readonly string[];
  /** Instead of the authorities that `trust` reads. */
  readonly secureContext?: SecureContext;
  /** How long a body may take after its header block. */
  readonly bodyMs?: number;
  /** How long a receiver must have been silent before its connections are used again; 0 for at once. */
  readonly restMs?: number;
}

/** A receiver that answers twice mostly does so at once, and hardly ever later than this. */
const REST_MS = 250;
const BODY_MS = 1000;
/** So long after a shortage no connection rests: attempts need them. */
const SHORT_MS = 5000;

/** What the ways to all endpoints share. Proxies named in the environment play no part in it. */
export class Egress {
  readonly clock: Clock;
  /** Replaced as a whole when the rules change: a connection keeps the one it was vetted by. */
  policy: AddressPolicy;
  readonly resolve: Resolve;
  readonly dial: Dial;
  readonly restMs: number;
  readonly secureContext: SecureContext;
  /** Connections that are kept though nothing is sent on them. */
  resting = 0;
  /** For how many of those there is room. */
  restRoom = Number.POSITIVE_INFINITY;
  /** And at one address; `restingAt` has those with any. */
  restRoomAt = Number.POSITIVE_INFINITY;
  readonly restingAt = new Map<string, number>();
  /** When there was last nothing left to open a connection with, on the monotonic clock. */
  shortAt: number | null = null;
  /** Connections to be opened: each costs more than a request, and what it leads to as much again. */
  readonly opening: Crowd;
  readonly attempts: Deadlines;
  readonly bodies: Deadlines;
  /** Connections that rest. */
  readonly idle: Deadlines;
  #unwritten: { write(): void }[] = [];
  readonly #policyOf: (rules: AddressRules) => AddressPolicy;

  constructor(settings: EgressSettings, clock: Clock, network: Network = {}) {
    const { addresses, resolver, caFile, timeoutMs } = settings;
    this.clock = clock;
    this.#policyOf = addressPolicies(clock, network.ownAddresses);
    this.policy = this.#policyOf(addresses);
    this.resolve = network.resolve ?? createResolve(resolver, addresses.allowLoopback);
    this.dial = network.dial ?? dialTcp;
    this.restMs = network.restMs ?? REST_MS;
    this.opening = new Crowd(clock);
    this.attempts = new Deadlines(clock, timeoutMs);
    this.bodies = new Deadlines(clock, network.bodyMs ?? BODY_MS);
    this.idle = new Deadlines(clock, IDLE_MS);
    this.secureContext = network.secureContext ?? trust(caFile);
  }

  /** One more rests at this address, or one less. */
  countResting(address: string | null, by: 1 | -1): void {
    this.resting += by;
    if (address === null || this.restRoomAt === Number.POSITIVE_INFINITY) return;
    const count = (this.restingAt.get(address) ?? 0) + by;
    if (count === 0) this.restingAt.delete(address);
    else this.restingAt.set(address, count);
  }

  /** Whether one more connection may rest at this address. */
  hasRoomAt(address: string | null): boolean {
    if (this.resting >= this.restRoom) return false;
    if (address !== null && (this.restingAt.get(address) ?? 0) >= this.restRoomAt) return false;
    return this.shortAt === null || this.clock.monotonic() - this.shortAt >= SHORT_MS;
  }

  /**
   * Writes a request when all that has come by now was read: what came unasked would pass for the answer to a request
   * that is on the wire.
   */
  writeSoon(kept: { write(): void }): void {
    if (this.#unwritten.push(kept) > 1) return;
    this.clock.nextTurn(() => {
      const unwritten = this.#unwritten;
      this.#unwritten = [];
      for (const each of unwritten) each.write();
    });
  }

  /** Every connection that is opened from now on, and every request that is not on the wire yet, keeps to these rules. */
  keepTo(rules: AddressRules): void {
    this.policy = this.#policyOf(rules);
  }

  /** After every exchange was closed: leaves no timer behind. */
  close(): void {
    this.attempts.close();
    this.bodies.close();
    this.idle.close();
  }
}

/** Something with a time limit. It is in at most one list at a time. */
export abstract class Timed {
  dueAt = 0;
  list: Deadlines | null = null;
  before: Timed | null = null;
  after: Timed | null = null;

  /** Called once, outside any list, when the limit has passed. */
  abstract expire(): void;
}

/** A timer this late means that the process itself stood still. */
const STALLED_MS = 100;

/**
 * One time limit shared by all who have it. They become due in the order they came, so a linked list and one timer do
 * the work of a timer each; whatever ends in time leaves nothing behind.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #limitMs: number;
  #first: Timed | null = null;
  #last: Timed | null = null;
  #cancelTimer: (() => void) | null = null;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  add(entry: Timed, now: number = this.#clock.monotonic()): void {
    entry.dueAt = now + this.#limitMs;
    entry.list = this;
    entry.before = this.#last;
    if (this.#last === null) this.#first = entry;
    else this.#last.after = entry;
    this.#last = entry;
    if (this.#cancelTimer === null) this.#arm(this.#limitMs);
  }

  remove(entry: Timed): void {
    if (entry.list !== this) return;
    if (entry.before === null) this.#first = entry.after;
    else entry.before.after = entry.after;
    if (entry.after === null) this.#last = entry.before;
    else entry.after.before = entry.before;
    entry.list = entry.before = entry.after = null;
  }

  /** Leaves no timer behind. What is in the list never becomes due. */
  close(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  #arm(delayMs: number): void {
    this.#cancelTimer = this.#clock.after(delayMs, this.#ring);
  }

  readonly #ring = (): void => {
    this.#cancelTimer = null;
    const now = this.#clock.monotonic();
    // Answers that came during a stall still lie in the socket: they are read first, and count.
    if (this.#first !== null && now - this.#first.dueAt > STALLED_MS)
      this.#cancelTimer = this.#clock.after(1, this.#expire);
    else this.#expire();
  };

  readonly #expire = (): void => {
    this.#cancelTimer = null;
    const now = this.#clock.monotonic();
    const slice = new Slice(this.#clock, now);
    for (let entry = this.#first; entry !== null && entry.dueAt <= now; entry = this.#first) {
      this.remove(entry);
      entry.expire();
      if (slice.isOver()) break;
    }
    if (this.#first !== null && this.#cancelTimer === null) this.#arm(Math.max(1, this.#first.dueAt - now));
  };
}

/** With these Node trusts more than the public authorities. */
const TRUSTING = ["NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"];

/**
 * TLS 1.2 at least, the public authorities, and those of a PEM file if one is named. What the environment adds counts
 * in a checkout alone: the executable heeds its configuration. Costs 25 ms: make it once.
 */
export function trust(caFile = ""): SecureContext {
  const named = caFile === "" ? [] : [readFileSync(caFile)];
  const isAltered = packed && TRUSTING.some((name) => process.env[name]);
  const ca =
    isAltered || named.length > 0 ? [...getCACertificates(isAltered ? "bundled" : "default"), ...named] : undefined;
  return createSecureContext({ minVersion: "TLSv1.2", ...(ca !== undefined && { ca }) });
}

/** Where endpoints may be, by rules that may change: the one place where rules and this host's addresses meet. */
export function addressPolicies(
  clock: Pick<Clock, "monotonic">,
  ownAddresses: () => readonly string[] = readOwnAddresses(clock),
): (rules: AddressRules) => AddressPolicy {
  return (rules) => new AddressPolicy(rules, ownAddresses);
}

/** An address that was added counts a second later at the most; asking the kernel at each dial would cost too much. */
const FRESH_MS = 1000;

/** No endpoint may have one of these, unless it is named exactly. */
export function readOwnAddresses(
  clock: Pick<Clock, "monotonic">,
  interfaces: typeof networkInterfaces = networkInterfaces,
): () => readonly string[] {
  const read = () => Object.values(interfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  let addresses = read();
  let readAt = clock.monotonic();
  return () => {
    const now = clock.monotonic();
    if (now - readAt < FRESH_MS) return addresses;
    readAt = now;
    try {
      addresses = read();
    } catch {
      // No descriptor is left to ask with: what was known holds on.
    }
    return addresses;
  };
}

/** Files that this process may have open at once; null where the system does not tell. */
export function openFilesLimit(): number | null {
  try {
    return softLimitOf(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return null;
  }
}
