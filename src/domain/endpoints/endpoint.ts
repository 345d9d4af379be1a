/** An endpoint: a registered HTTPS URL, the event types it chose, and the secrets that sign for it. */

/** Why the daemon disabled an endpoint by itself: its receiver answered 410, or nothing has succeeded for too long. */
export const DISABLED_REASONS = ["gone", "failing"] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** What of an endpoint's row may turn out not to be what was written, by the names that callers know. */
export const ENDPOINT_PARTS = [
  "signing_secret",
  "next_signing_secret",
  "headers",
  "url",
  "events",
  "metadata",
  "when_disabled",
  "rate_per_second",
  "max_in_flight",
  "tenant",
] as const;
export type EndpointPart = (typeof ENDPOINT_PARTS)[number];

/** What of an endpoint cannot be read. Until that is mended nothing is sent to it, and what it is owed waits. */
export interface Damage {
  readonly parts: readonly EndpointPart[];
  /** For people. */
  readonly reason: string;
}

/** How many attempts an endpoint may have in flight before anything is known of its receiver. */
export const INITIAL_CAP = 16;

export interface Endpoint {
  readonly id: string;
  readonly tenant: string;
  readonly uid: string | null;
  /** The WHATWG form of the URL that was registered. */
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string;
  readonly enabled: boolean;
  /** Null unless the daemon disabled it by itself. */
  readonly disabledReason: DisabledReason | null;
  /** Whether deliveries for a disabled endpoint are kept (`hold`) or never made (`skip`). */
  readonly whenDisabled: "hold" | "skip";
  /** Names only: values are secrets and leave the store in a `Target` alone. */
  readonly headerNames: readonly string[];
  readonly ratePerSecond: number | null;
  readonly maxInFlight: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** When the next secret takes over, epoch milliseconds; null unless a rotation is under way. */
  readonly secretSwitchesAt: number | null;
  /** Null while all of it can be read; what cannot has its default here. */
  readonly damaged: Damage | null;
  /** Another one after every change of its settings or secrets. */
  readonly revision: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What a registration fixes and a later change may alter, header values in the clear. */
export interface EndpointSettings {
  readonly uid: string | null;
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string;
  readonly enabled: boolean;
  readonly whenDisabled: "hold" | "skip";
  readonly headers: Readonly<Record<string, string>>;
  readonly ratePerSecond: number | null;
  readonly maxInFlight: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What a registration may leave out. */
export const DEFAULT_SETTINGS: Omit<EndpointSettings, "url" | "events"> = {
  uid: null,
  description: "",
  enabled: true,
  whenDisabled: "hold",
  headers: {},
  ratePerSecond: null,
  maxInFlight: null,
  metadata: {},
};

/** A registration; the store adds the number, the instants and the row. */
export interface NewEndpoint extends EndpointSettings {
  readonly id: string;
  readonly tenant: string;
  readonly signingSecret: string;
}

/** An endpoint that its uid names, as it is before it has settings. */
export type NamedEndpoint = Pick<NewEndpoint, "id" | "tenant" | "signingSecret"> & { readonly uid: string };

/** The secrets of an endpoint in the clear: never logged, answered only in scope `secrets`. */
export interface SigningSecrets {
  readonly current: string;
  /** Null unless a rotation is under way. */
  readonly next: NextSecret | null;
}

export interface NextSecret {
  readonly secret: string;
  /** When it takes over, epoch milliseconds. */
  readonly switchesAt: number;
}

/** An endpoint as the sender needs it, secrets in the clear: never logged, never answered. */
export interface Target {
  readonly endpoint: string;
  readonly tenant: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly signingSecret: string;
  /** Counts the secrets that the endpoint has had. */
  readonly secretVersion: number;
  /** During a rotation, the secret that will take over. */
  readonly nextSigningSecret: string | null;
  readonly ratePerSecond: number | null;
  readonly maxInFlight: number | null;
}

/** An endpoint of which something cannot be read, in the place of its target: whatever it says, nothing is sent to it. */
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

/** How an endpoint fares: tests left out. */
export interface EndpointHealth {
  readonly lastSuccessAt: number | null;
  readonly lastFailureAt: number | null;
  /** Failed attempts since the last success, or since it was enabled. */
  readonly consecutiveFailures: number;
  /** Deliveries that are so now; each is counted up to `HEALTH_COUNT_LIMIT`. */
  readonly pending: number;
  readonly held: number;
  readonly failed: number;
}

/** Counting further would take longer than a request may. */
export const HEALTH_COUNT_LIMIT = 10_000;
