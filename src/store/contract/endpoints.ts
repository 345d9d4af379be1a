/** The contract for endpoints: their settings, health and signing secrets. */
import type { ExpiringCertificate } from "../../domain/endpoints/auth.ts";
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
import type { FilterValues, SortOf } from "../../domain/lists.ts";
import type { Pruned } from "./operations.ts";
import type { Page, PageQuery } from "./reads.ts";

export interface EndpointStore {
  /** Rejects with `endpoint_limit` if the tenant has `maxPerTenant` endpoints that are not deleted. */
  add(endpoint: NewEndpoint, maxPerTenant: number, now: number, once?: Once<Endpoint>): Promise<Endpoint>;
  get(tenant: string | null, id: string): Promise<Endpoint | null>;
  /** Returns the id of the tenant's endpoint with this uid, or null if there is none. */
  idOf(tenant: string, uid: string): Promise<string | null>;
  /** Returns the endpoint's tenant, even if the endpoint was deleted. */
  tenantOf(endpoint: string): Promise<string | null>;
  list(query: EndpointQuery): Promise<Page<Endpoint>>;
  /**
   * Replaces the endpoint's settings with those that `change` returns: all of them, or none if it throws. `change` may
   * run twice. Rejects with `already_created` if the uid belongs to another endpoint. Returns null if there is no such
   * endpoint. Disabling and enabling rewrite no delivery, and a changed `events` affects only later events. With
   * `cancel`, deliveries held for an endpoint that this enables are `cancelled` from now on. Their rows are rewritten
   * later, in steps that continue after a restart.
   */
  update(
    tenant: string | null,
    id: string,
    change: ChangeSettings,
    now: number,
    held?: "release" | "cancel",
  ): Promise<Endpoint | null>;
  /**
   * Gives the endpoint with this uid the settings that `settingsOf` returns, or adds it, in one transaction: if several
   * callers do so at the same time, only one of them adds it. Rejects like `add` and `update`.
   */
  put(
    named: NamedEndpoint,
    settingsOf: SettingsOf,
    maxPerTenant: number,
    now: number,
  ): Promise<{ readonly endpoint: Endpoint; readonly isNew: boolean }>;
  /** Rejects as `update` would, but changes nothing. Returns false if there is no such endpoint. */
  judgeUpdate(tenant: string | null, id: string, change: ChangeSettings): Promise<boolean>;
  /** Rejects as `put` would, but changes nothing. */
  judgePut(named: NamedEndpoint, settingsOf: SettingsOf, maxPerTenant: number): Promise<void>;
  /** Disables the endpoint. Returns false if it is already disabled, or has another URL by now. */
  disable(id: string, url: string, reason: DisabledReason, now: number): Promise<boolean>;
  /** Returns null if there is no such endpoint. */
  health(tenant: string | null, id: string): Promise<EndpointHealth | null>;
  /** Returns the health of several endpoints by id, without those that do not exist. */
  healthOf(ids: readonly string[]): Promise<ReadonlyMap<string, EndpointHealth>>;
  /**
   * Returns the time at which the endpoint began to fail without a success. Null if it is not failing, or if the time
   * is unknown.
   */
  failingSince(endpoint: string): Promise<number | null>;
  /** Cancels the endpoint's open deliveries and keeps its history. Returns false if there is no such endpoint. */
  delete(tenant: string | null, id: string, now: number): Promise<boolean>;
  /**
   * Removes endpoints that were deleted before that instant, with all their rows, once no delivery or job refers to
   * them. Begins after `from`, and looks at no more than 500.
   */
  prune(before: number, from: string | null): Promise<Pruned>;
  /** Returns the exact event types outside `known` that endpoints have chosen, sorted by name. */
  typesInUse(known: readonly string[]): Promise<TypeInUse[]>;
  /** Returns the first of the client certificates that expire before that instant, the earliest first. */
  expiring(before: number, limit: number): Promise<readonly ExpiringCertificate[]>;
  /** Returns the endpoint as the sender needs it, or null if it was deleted. */
  target(endpoint: string): Promise<Target | DamagedTarget | null>;
}

/**
 * Settings of the endpoint that cannot be read have their defaults in `settings`, and the values returned for them take
 * effect. The function must be pure: a store whose rows are shared may call it on the row that it read, find on writing
 * that the row has changed, and call it again.
 */
export type ChangeSettings = (settings: EndpointSettings, endpoint: Endpoint) => EndpointSettings;

/** Like `ChangeSettings`, with nulls if there is no such endpoint yet. */
export type SettingsOf = (settings: EndpointSettings | null, endpoint: Endpoint | null) => EndpointSettings;

export interface TypeInUse {
  readonly type: string;
  /** The number of endpoints that chose the type. `some` has the ids of the first few. */
  readonly endpoints: number;
  readonly some: readonly string[];
}

/**
 * The orders of a list of endpoints other than by age. With `oldest`, the list begins with the host that sorts first,
 * the most failures in a row, the least recent last success, or the most recent failure. With `newest` it begins at the
 * other end.
 */
export type EndpointSort = SortOf<"endpoints">;

export interface EndpointQuery extends PageQuery, FilterValues<"endpoints"> {
  readonly sort?: EndpointSort;
  /** Lists only the endpoints with these ids. */
  readonly ids?: readonly string[] | undefined;
}

/** Rotation of signing secrets: `docs/interface.md` §5. */
export interface SecretStore {
  get(tenant: string | null, id: string): Promise<SigningSecrets | "damaged" | null>;
  /**
   * Adds the next secret to the current one. It takes over at once if it is due by `now`, even from secrets that cannot
   * be read.
   */
  rotate(tenant: string | null, id: string, next: NextSecret, now: number, once?: Once<Rotation>): Promise<Rotation>;
  /** Makes the next secret the current one. */
  complete(tenant: string | null, id: string, now: number, once?: Once<Rotation>): Promise<Rotation>;
  /** Removes the next secret. */
  abandon(tenant: string | null, id: string): Promise<Rotation>;
  /**
   * Makes at most 500 next secrets that are due by `now` current, and returns their endpoints, because the sender must
   * be notified. A later call with an earlier `now` undoes nothing.
   */
  switchDue(now: number): Promise<readonly string[]>;
}

export type Rotation =
  | { readonly result: "not_found" | "rotation_in_progress" | "not_rotating" | "damaged" }
  | { readonly result: "done"; readonly secrets: SigningSecrets };

/** The private keys of tenants: one each, and a second one during a rotation (`docs/interface.md` §5). */
export interface SigningKeyStore {
  /** Null if the tenant has none. An endpoint that chooses `ed25519` creates it, in the same transaction. */
  get(tenant: string): Promise<SigningKeys | "damaged" | null>;
  /**
   * Adds the next private key to the current one. It takes over at once if it is due by `now`, even from keys that
   * cannot be read, and if the tenant has none.
   */
  rotate(tenant: string, next: NextSecret, now: number, once?: Once<KeyRotation>): Promise<KeyRotation>;
  /** Makes the next key the current one. */
  complete(tenant: string, now: number, once?: Once<KeyRotation>): Promise<KeyRotation>;
  /** Removes the next key. */
  abandon(tenant: string): Promise<KeyRotation>;
  /** Sets whether anyone may read the public keys. Returns false if the tenant has no key. */
  publish(tenant: string, published: boolean): Promise<boolean>;
  /** Makes at most 500 next keys that are due by `now` current. A later call with an earlier `now` undoes nothing. */
  switchDue(now: number): Promise<readonly SwitchedKey[]>;
}

export interface SigningKeys extends SigningSecrets {
  /** True if the public keys may be read without an API key. */
  readonly published: boolean;
}

export type KeyRotation =
  | { readonly result: "not_found" | "rotation_in_progress" | "not_rotating" | "damaged" }
  | {
      readonly result: "done";
      readonly keys: SigningKeys;
      /** The endpoints that the tenant's keys sign for. The sender must be notified of each. */
      readonly endpoints: readonly string[];
    };

export interface SwitchedKey {
  readonly tenant: string;
  readonly endpoints: readonly string[];
}
