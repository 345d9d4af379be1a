/** Endpoints: their settings, how they fare, and their secrets. */
import type {
  DamagedTarget,
  DisabledReason,
  Endpoint,
  EndpointHealth,
  EndpointSettings,
  NamedEndpoint,
  NewEndpoint,
  Target,
  NextSecret,
  SigningSecrets,
} from "../../domain/endpoints/endpoint.ts";
import type { Once } from "../../domain/events/idempotency.ts";
import type { Pruned } from "./operations.ts";
import type { Page, PageQuery } from "./reads.ts";

export interface EndpointStore {
  /** Rejects with `endpoint_limit` when the tenant has `maxPerTenant` endpoints that are not deleted. */
  add(endpoint: NewEndpoint, maxPerTenant: number, now: number, once?: Once<Endpoint>): Promise<Endpoint>;
  get(tenant: string | null, id: string): Promise<Endpoint | null>;
  /** Its id; null when the tenant has none of this uid. */
  idOf(tenant: string, uid: string): Promise<string | null>;
  /** Whose it is, or was: of a deleted one too. */
  tenantOf(endpoint: string): Promise<string | null>;
  list(query: EndpointQuery): Promise<Page<Endpoint>>;
  /**
   * Makes of the endpoint's settings what `change` answers, all or nothing; what it throws is rejected with. It may run
   * twice. Rejects with `already_created` when the uid belongs to another endpoint; null when there is no such endpoint.
   * Disabling and enabling rewrite no delivery, and a changed `events` touches later events only. With `cancel`, what was
   * held for an endpoint that this enables is `cancelled` from now on, and rewritten so by and by, over restarts too.
   */
  update(
    tenant: string | null,
    id: string,
    change: ChangeSettings,
    now: number,
    held?: "release" | "cancel",
  ): Promise<Endpoint | null>;
  /**
   * Gives the endpoint of this uid the settings that `settingsOf` answers, or adds it, all at once: of callers at the same
   * time one adds it. Rejects as `add` and `update` do.
   */
  put(
    named: NamedEndpoint,
    settingsOf: (before: Endpoint | null) => EndpointSettings,
    maxPerTenant: number,
    now: number,
  ): Promise<{ readonly endpoint: Endpoint; readonly isNew: boolean }>;
  /** Disables the endpoint; false when it is disabled already or has another URL by now. */
  disable(id: string, url: string, reason: DisabledReason, now: number): Promise<boolean>;
  /** Null when there is no such endpoint. */
  health(tenant: string | null, id: string): Promise<EndpointHealth | null>;
  /** Since when attempts fail without a success; null while they do not, and while nobody knows. */
  failingSince(endpoint: string): Promise<number | null>;
  /** Its open deliveries become `cancelled`, its history stays. False when there is no such endpoint. */
  delete(tenant: string | null, id: string, now: number): Promise<boolean>;
  /**
   * Removes endpoints that were deleted before that instant and that no delivery and no job names any more, with all that
   * was kept for them. Begins after `from`, and looks at no more than 500.
   */
  prune(before: number, from: string | null): Promise<Pruned>;
  /** Event types outside `known` that endpoints have chosen, by name. */
  typesInUse(known: readonly string[]): Promise<TypeInUse[]>;
  /** The endpoint as the sender needs it; null when it was deleted. */
  target(endpoint: string): Promise<Target | DamagedTarget | null>;
}

/**
 * What cannot be read of the endpoint has its default in `settings`: what is answered for it is what holds. A pure function:
 * a store that shares its rows may call it on what it read, compare what it read when it writes, and call it again.
 */
export type ChangeSettings = (settings: EndpointSettings, endpoint: Endpoint) => EndpointSettings;

export interface TypeInUse {
  readonly type: string;
  /** How many endpoints chose it, and the ids of the first few. */
  readonly endpoints: number;
  readonly some: readonly string[];
}

/**
 * What endpoints are listed by, if not by their age: with `oldest` by host from a, those first that failed most often in a
 * row, whose last success is longest ago, or whose last failure is latest; with `newest` from the other end.
 */
export type EndpointSort = "host" | "failing" | "last_success" | "last_failure";

export interface EndpointQuery extends PageQuery {
  readonly sort?: EndpointSort;
  readonly enabled?: boolean;
  readonly eventType?: string;
  /** In the form that the endpoint shows. */
  readonly url?: string;
  readonly uid?: string;
  /** What its id, URL, uid, description or tenant contains, in any case. */
  readonly match?: string;
  /** Only these. */
  readonly ids?: readonly string[] | undefined;
}

/** Rotation of signing secrets: `docs/interface.md` §5. */
export interface SecretStore {
  get(tenant: string | null, id: string): Promise<SigningSecrets | "damaged" | null>;
  /**
   * Puts the next secret beside the current one; it takes over at once if that is due by `now`, also from secrets that
   * cannot be read.
   */
  rotate(tenant: string | null, id: string, next: NextSecret, now: number, once?: Once<Rotation>): Promise<Rotation>;
  /** The next secret takes over. */
  complete(tenant: string | null, id: string, now: number, once?: Once<Rotation>): Promise<Rotation>;
  /** The next secret is forgotten. */
  abandon(tenant: string | null, id: string): Promise<Rotation>;
  /**
   * Lets the next secrets take over that are due by `now`, at most 500, and names their endpoints: the sender must
   * hear of it. A later `now` that lies behind takes nothing back.
   */
  switchDue(now: number): Promise<readonly string[]>;
}

export type Rotation =
  | { readonly result: "not_found" | "rotation_in_progress" | "not_rotating" | "damaged" }
  | { readonly result: "done"; readonly secrets: SigningSecrets };
