import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { createSecureContext, getCACertificates, type SecureContext, type SecureContextOptions } from "node:tls";
import { type Clock, Crowd, Slice } from "../../clock.ts";
import { AddressPolicy, type AddressRules } from "../../domain/network/address.ts";
import { softLimitOf } from "../../domain/files.ts";
import { packed } from "../../build.ts";
import { IDLE_MS } from "./answer.ts";
import { dialTcp, type Dial } from "./dial.ts";
import { createResolve, type Resolve } from "./resolver.ts";

/** The operator's settings for outgoing connections, as plain data. */
export interface EgressSettings {
  /** The time limit from the start of an attempt to the end of the final header block. */
  readonly timeoutMs: number;
  readonly addresses: AddressRules;
  readonly resolver: "c-ares" | "system";
  /** A PEM file of additional authorities to trust. "" for none. */
  readonly caFile: string;
}

/** Replacements for the real network, for tests. */
export interface Network {
  readonly resolve?: Resolve;
  readonly dial?: Dial;
  readonly ownAddresses?: () => readonly string[];
  /** Replaces the authorities that `trust` reads. */
  readonly secureContext?: SecureContext;
  /** The time that a body may take after its header block. */
  readonly bodyMs?: number;
  /** The time that a receiver must have been silent before its connections are reused. 0 for no wait. */
  readonly restMs?: number;
}

/** A receiver that answers twice usually does so at once, and hardly ever later than this. */
const REST_MS = 250;
const BODY_MS = 1000;
/** For this long after a shortage no connection stays idle, because attempts need the sockets. */
const SHORT_MS = 5000;

/** The certificates that the connections of one endpoint show and trust, as PEM. */
export interface TlsIdentity {
  /** The client certificate with its key. Null if none is shown. */
  readonly identity: { readonly certificate: string; readonly key: string } | null;
  /** The authorities that the receiver's certificate must come from. Null for those that all endpoints trust. */
  readonly ca: string | null;
}

/** The state that connections to all endpoints share. Proxies named in the environment are ignored. */
export class Egress {
  readonly clock: Clock;
  /** Replaced as a whole when the rules change, so that a connection keeps the policy that vetted it. */
  policy: AddressPolicy;
  readonly resolve: Resolve;
  readonly dial: Dial;
  readonly restMs: number;
  readonly secureContext: SecureContext;
  /** The number of idle connections that are kept. */
  resting = 0;
  /** The maximum number of idle connections. */
  maxResting = Number.POSITIVE_INFINITY;
  /** The maximum number of idle connections to one address. `restingAt` counts them by address. */
  maxRestingAt = Number.POSITIVE_INFINITY;
  readonly restingAt = new Map<string, number>();
  /** The last time that sockets or files ran out, on the monotonic clock. Null if they never did. */
  shortAt: number | null = null;
  /**
   * Spreads the opening of connections over time, because each costs more than a request here, and again on the other
   * side.
   */
  readonly opening: Crowd;
  readonly attempts: Deadlines;
  readonly bodies: Deadlines;
  readonly idle: Deadlines;
  #unwritten: { write(): void }[] = [];
  /** Read once, so that all connections trust the same, whatever becomes of the file. */
  readonly #trusted: Authorities;
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
    this.#trusted = authoritiesOf(caFile);
    this.secureContext = network.secureContext ?? contextOf(this.#trusted);
  }

  /** Makes the context of an endpoint's own identity or authorities. It takes a while, so keep it. */
  contextOf({ identity, ca }: TlsIdentity): SecureContext {
    const shown = identity === null ? {} : { cert: identity.certificate, key: identity.key };
    return contextOf({ ...shown, ...(ca === null ? this.#trusted : { ca }) });
  }

  /** Adds an idle connection to the counts, or removes one. */
  countResting(address: string | null, by: 1 | -1): void {
    this.resting += by;
    if (address === null || this.maxRestingAt === Number.POSITIVE_INFINITY) return;
    const count = (this.restingAt.get(address) ?? 0) + by;
    if (count === 0) this.restingAt.delete(address);
    else this.restingAt.set(address, count);
  }

  /** Returns true if one more connection to this address may be kept idle. */
  hasCapacityAt(address: string | null): boolean {
    if (this.resting >= this.maxResting) return false;
    if (address !== null && (this.restingAt.get(address) ?? 0) >= this.maxRestingAt) return false;
    return this.shortAt === null || this.clock.monotonic() - this.shortAt >= SHORT_MS;
  }

  /**
   * Writes a request once everything that has arrived by now was read. Otherwise stray bytes would pass for the
   * response to it.
   */
  writeSoon(kept: { write(): void }): void {
    if (this.#unwritten.push(kept) > 1) return;
    this.clock.nextTurn(() => {
      const unwritten = this.#unwritten;
      this.#unwritten = [];
      for (const each of unwritten) each.write();
    });
  }

  /** Applies these rules to every connection opened from now on, and to every request that is not on the wire yet. */
  keepTo(rules: AddressRules): void {
    this.policy = this.#policyOf(rules);
  }

  /** Leaves no timer behind. Call it when every exchange is closed. */
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

  /** Called once, after removal from its list, when the limit has passed. */
  abstract expire(): void;
}

/** A timer that is this late means that the process itself stood still. */
const STALLED_MS = 100;

/**
 * A time limit that many entries share. They become due in the order in which they were added, so a linked list and one
 * timer replace a timer for each. An entry that ends in time leaves nothing behind.
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

  /** Leaves no timer behind. Entries that are still in the list never become due. */
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
    // After a stall, responses that arrived in time still lie in the socket. Read them first, so that they count.
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

/** With these variables set, Node trusts more than the public authorities. */
const TRUSTING = ["NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"];

/**
 * Trusts the public authorities, and those of a PEM file if one is named, with TLS 1.2 or later. Authorities added by
 * the environment count only in a checkout; the executable follows its configuration alone. Costs 25 ms, so call it
 * once.
 */
export function trust(caFile = ""): SecureContext {
  return contextOf(authoritiesOf(caFile));
}

type Authorities = Pick<SecureContextOptions, "ca">;

function authoritiesOf(caFile: string): Authorities {
  const named = caFile === "" ? [] : [readFileSync(caFile)];
  const isAltered = packed && TRUSTING.some((name) => process.env[name]);
  const ca =
    isAltered || named.length > 0 ? [...getCACertificates(isAltered ? "bundled" : "default"), ...named] : undefined;
  return ca === undefined ? {} : { ca };
}

function contextOf(options: SecureContextOptions): SecureContext {
  return createSecureContext({ minVersion: "TLSv1.2", ...options });
}

/** Makes policies from rules that may change. Only this function combines the rules with this host's addresses. */
export function addressPolicies(
  clock: Pick<Clock, "monotonic">,
  ownAddresses: () => readonly string[] = readOwnAddresses(clock),
): (rules: AddressRules) => AddressPolicy {
  return (rules) => new AddressPolicy(rules, ownAddresses);
}

/** A new address of this host is noticed within a second. Asking the kernel at each dial would cost too much. */
const FRESH_MS = 1000;

/** Returns this host's own addresses. No endpoint may have one of these unless the configuration names it exactly. */
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
      // No file descriptor is left to read the addresses with, so keep the last known ones.
    }
    return addresses;
  };
}

/** Returns the number of files that this process may have open at a time, or null if the system does not say. */
export function openFilesLimit(): number | null {
  try {
    return softLimitOf(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return null;
  }
}
