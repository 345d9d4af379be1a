import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import type { Clock } from "../../clock.ts";
import { AddressPolicy, type AddressRules } from "../../domain/network/address.ts";
import { softLimitOf } from "../../domain/open-files.ts";
import { packed } from "../../packed.ts";
import { Deadlines } from "./deadline.ts";
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
  readonly attempts: Deadlines;
  readonly bodies: Deadlines;
  readonly #policyOf: (rules: AddressRules) => AddressPolicy;

  constructor(settings: EgressSettings, clock: Clock, network: Network = {}) {
    const { addresses, resolver, caFile, timeoutMs } = settings;
    this.clock = clock;
    this.#policyOf = addressPolicies(clock, network.ownAddresses);
    this.policy = this.#policyOf(addresses);
    this.resolve = network.resolve ?? createResolve(resolver, addresses.allowLoopback);
    this.dial = network.dial ?? dialTcp;
    this.restMs = network.restMs ?? REST_MS;
    this.attempts = new Deadlines(clock, timeoutMs);
    this.bodies = new Deadlines(clock, network.bodyMs ?? BODY_MS);
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

  /** Every connection that is opened from now on, and every request that is not on the wire yet, keeps to these rules. */
  keepTo(rules: AddressRules): void {
    this.policy = this.#policyOf(rules);
  }

  /** After every exchange was closed: leaves no timer behind. */
  close(): void {
    this.attempts.close();
    this.bodies.close();
  }
}

/** With these Node trusts more than the public authorities. */
const TRUSTING = ["NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"];

/**
 * TLS 1.2 at least, the public authorities, and those of a PEM file if one is named. What the environment adds counts
 * in a checkout alone: the executable heeds its configuration. Costs 25 ms: make it once.
 */
export function trust(caFile = ""): SecureContext {
  const named = caFile === "" ? [] : [readFileSync(caFile, "utf8")];
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
