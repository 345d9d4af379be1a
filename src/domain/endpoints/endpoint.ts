/** An endpoint: a registered HTTPS URL, the event types it chose, and the secrets that sign for it. */
import type { HeldKeys } from "../deliveries/ordering.ts";
import type { AfterFailure, Ordering } from "../deliveries/ordering.ts";
import type { FilterDocument } from "../events/filter/filter.ts";
import type { EndpointAuth, ShownAuth } from "./auth.ts";
import type { BodyFormat } from "./body-format.ts";

/** The daemon itself disables an endpoint if its receiver answers 410, or if nothing has succeeded for too long. */
export const DISABLED_REASONS = ["gone", "failing"] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** The parts of an endpoint's row that may turn out to be damaged, by the names that callers know. */
export const ENDPOINT_PARTS = [
  "signing_secret",
  "next_signing_secret",
  "signing_key",
  "headers",
  "auth",
  "url",
  "events",
  "signatures",
  "filter",
  "metadata",
  "when_disabled",
  "ordering",
  "after_failure",
  "format",
  "rate_per_second",
  "max_in_flight",
  "tenant",
] as const;
export type EndpointPart = (typeof ENDPOINT_PARTS)[number];

/**
 * The parts of an endpoint that cannot be read. Until they are repaired nothing is sent to it, and its deliveries wait.
 */
export interface Damage {
  readonly parts: readonly EndpointPart[];
  /** Text for people. */
  readonly reason: string;
}

/**
 * The signatures that `webhook-signature` may carry: `v1` with the endpoint's secret, `v1a` with its tenant's private
 * key. `X-Service-Signature` does not depend on them.
 */
export const SIGNATURES = ["hmac", "ed25519"] as const;
export type Signature = (typeof SIGNATURES)[number];

/** True if the private key of its tenant signs what is sent to the endpoint. */
export function needsPrivateKey({ signatures }: { readonly signatures: readonly Signature[] }): boolean {
  return signatures.includes("ed25519");
}

/**
 * Decides about the events of a disabled endpoint. With `hold` they wait for it, with `skip` they make no deliveries,
 * and with `shadow` they make deliveries that are `shadowed` from the start, which show what would have been sent.
 */
export const WHEN_DISABLED = ["hold", "skip", "shadow"] as const;
export type WhenDisabled = (typeof WHEN_DISABLED)[number];

/** Reads a word from the disk. An unknown one must not lose events, so it counts as `hold`. */
export function whenDisabledOf(word: string): WhenDisabled {
  return WHEN_DISABLED.find((one) => one === word) ?? "hold";
}

/** The number of attempts that an endpoint may have in flight before anything is known about its receiver. */
export const INITIAL_CAP = 16;

export interface Endpoint {
  readonly id: string;
  readonly tenant: string;
  readonly uid: string | null;
  /** The WHATWG form of the URL that was registered. */
  readonly url: string;
  readonly events: readonly string[];
  /** Chooses among the events of those types. Null accepts all of them. */
  readonly filter: FilterDocument | null;
  readonly description: string;
  readonly enabled: boolean;
  /** Null unless the daemon itself disabled it. */
  readonly disabledReason: DisabledReason | null;
  readonly whenDisabled: WhenDisabled;
  readonly ordering: Ordering;
  readonly afterFailure: AfterFailure;
  readonly format: BodyFormat;
  /** True if its receiver gets the trace context of each event. */
  readonly traceContext: boolean;
  readonly signatures: readonly Signature[];
  /** Names only, because values are secrets and leave the store only in a `Target`. */
  readonly headerNames: readonly string[];
  /** Without its secrets, which leave the store only in a `Target`. */
  readonly auth: ShownAuth | null;
  /** Certificates, as PEM: the authorities that the receiver's certificate must come from. Null for the public ones. */
  readonly ca: string | null;
  readonly ratePerSecond: number | null;
  readonly maxInFlight: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The time at which the next secret takes over, in epoch milliseconds. Null unless a rotation is in progress. */
  readonly secretSwitchesAt: number | null;
  /** Null if all of it can be read. A damaged part has its default value here. */
  readonly damaged: Damage | null;
  /** Differs after every change of its settings or secrets. */
  readonly revision: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The settings that a registration sets and an update may change, with header values and auth in the clear. */
export interface EndpointSettings {
  readonly uid: string | null;
  readonly url: string;
  readonly events: readonly string[];
  readonly filter: FilterDocument | null;
  readonly description: string;
  readonly enabled: boolean;
  readonly whenDisabled: WhenDisabled;
  readonly ordering: Ordering;
  readonly afterFailure: AfterFailure;
  readonly format: BodyFormat;
  readonly traceContext: boolean;
  readonly signatures: readonly Signature[];
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: EndpointAuth | null;
  readonly ca: string | null;
  readonly ratePerSecond: number | null;
  readonly maxInFlight: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The defaults of settings that a registration leaves out. */
export const DEFAULT_SETTINGS: Omit<EndpointSettings, "url" | "events"> = {
  uid: null,
  filter: null,
  description: "",
  enabled: true,
  whenDisabled: "hold",
  ordering: "none",
  afterFailure: "continue",
  format: "envelope",
  traceContext: false,
  signatures: ["hmac"],
  headers: {},
  auth: null,
  ca: null,
  ratePerSecond: null,
  maxInFlight: null,
  metadata: {},
};

/** A registration. The store adds the number, the instants and the row. */
export interface NewEndpoint extends EndpointSettings {
  readonly id: string;
  readonly tenant: string;
  readonly signingSecret: string;
}

/** An endpoint registered by its uid, before it has settings. */
export type NamedEndpoint = Pick<NewEndpoint, "id" | "tenant" | "signingSecret"> & { readonly uid: string };

/**
 * The secrets of an endpoint, or the private keys of a tenant, in the clear: never logged. The API returns secrets only
 * in scope `secrets`, and private keys never.
 */
export interface SigningSecrets {
  readonly current: string;
  /** Null unless a rotation is in progress. */
  readonly next: NextSecret | null;
}

export interface NextSecret {
  readonly secret: string;
  /** The time at which it takes over, in epoch milliseconds. */
  readonly switchesAt: number;
}

/** An endpoint as the sender needs it, with secrets in the clear: never logged, and never returned by the API. */
export interface Target {
  readonly endpoint: string;
  readonly tenant: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: EndpointAuth | null;
  readonly ca: string | null;
  readonly signingSecret: string;
  /** Counts the secrets that the endpoint has had. */
  readonly secretVersion: number;
  /** The secret that will take over. Null unless a rotation is in progress. */
  readonly nextSigningSecret: string | null;
  readonly format: BodyFormat;
  readonly traceContext: boolean;
  readonly signatures: readonly Signature[];
  /** The tenant's private keys, all of which sign. Empty unless the endpoint chose `ed25519`. */
  readonly privateKeys: readonly string[];
  readonly ratePerSecond: number | null;
  readonly maxInFlight: number | null;
}

/**
 * Takes the place of a target if part of the endpoint cannot be read. Nothing is sent to it, whatever its settings say.
 */
export interface DamagedTarget {
  readonly endpoint: string;
  readonly tenant: string;
  readonly url: string;
  readonly enabled: false;
  readonly damaged: Damage;
}

export function isDamaged(target: Target | DamagedTarget): target is DamagedTarget {
  return "damaged" in target;
}

/** The endpoint's recent results, without tests. */
export interface EndpointHealth {
  readonly lastSuccessAt: number | null;
  readonly lastFailureAt: number | null;
  /** Failed attempts since the last success, or since the endpoint was enabled. */
  readonly consecutiveFailures: number;
  /** The number of deliveries with that status now. Each count stops at `HEALTH_COUNT_LIMIT`. */
  readonly pending: number;
  readonly held: number;
  readonly failed: number;
  /** Null if none is held. */
  readonly heldKeys: HeldKeys | null;
}

/** Counting further would take longer than a request may. */
export const HEALTH_COUNT_LIMIT = 10_000;
