import { readFileSync } from "node:fs";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import type { Clock } from "../../clock.ts";
import type { AddressPolicy } from "../../domain/address.ts";
import { packed } from "../../packed.ts";
import { Deadlines } from "./deadline.ts";
import { dialTcp, type Dial } from "./dial.ts";
import type { Resolve } from "./resolver.ts";

export interface EgressParts {
  readonly clock: Clock;
  readonly policy: AddressPolicy;
  readonly resolve: Resolve;
  /** From the start of an attempt to the end of the final header block. */
  readonly timeoutMs: number;
  /** PEM file of further authorities to trust; "" for none. */
  readonly caFile?: string;
  /** Instead of `caFile`, what `trust` made before. */
  readonly secureContext?: SecureContext;
  /** How long a body may take after its header block; 1,000 unless a test is in a hurry. */
  readonly bodyMs?: number;
  /** How long a receiver must have been silent before its connections are used again; 0 for at once. */
  readonly restMs?: number;
  readonly dial?: Dial;
  /** For how many connections there is room to rest; any number if it is not said. */
  readonly restRoom?: () => number;
}

/** So long after a shortage no connection rests: attempts need them. */
const SHORT_MS = 5000;

/** Who answers twice mostly does so at once, and hardly ever later than this. */
const REST_MS = 250;

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
  readonly #restRoom: () => number;
  #shortAt = Number.NEGATIVE_INFINITY;
  readonly attempts: Deadlines;
  readonly bodies: Deadlines;

  constructor(parts: EgressParts) {
    this.clock = parts.clock;
    this.policy = parts.policy;
    this.resolve = parts.resolve;
    this.dial = parts.dial ?? dialTcp;
    this.#restRoom = parts.restRoom ?? (() => Number.POSITIVE_INFINITY);
    this.restMs = parts.restMs ?? REST_MS;
    this.attempts = new Deadlines(parts.clock, parts.timeoutMs);
    this.bodies = new Deadlines(parts.clock, parts.bodyMs ?? 1000);
    this.secureContext = parts.secureContext ?? trust(parts.caFile);
  }

  /** Whether one more connection may rest. */
  get mayRest(): boolean {
    if (this.resting >= this.#restRoom()) return false;
    return this.#shortAt === Number.NEGATIVE_INFINITY || this.clock.monotonic() - this.#shortAt >= SHORT_MS;
  }

  /** There was nothing left to open a connection with. */
  ranShort(): void {
    this.#shortAt = this.clock.monotonic();
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
