/** The contract for callers: API keys, the audit trail, and idempotency keys. */
import type { AuditEntry, AuditRecord } from "../../domain/caller.ts";
import type { KeyedRequest, Once } from "../../domain/events/idempotency.ts";
import type { ApiKey, NewApiKey } from "../../domain/caller.ts";
import type { FilterValues } from "../../domain/lists.ts";
import type { Caller, Page, PageQuery } from "./reads.ts";
import type { Pruned } from "./operations.ts";

/** API keys. */
export interface KeyStore {
  /**
   * Rejects with `unauthorized` for the key of a portal link if the key that requested it has been revoked since, and
   * with the error of `linksRefusal` if `maxLinks` is reached. Links added at the same time on several nodes may exceed
   * it by a few.
   */
  add(key: NewApiKey, now: number, once?: Once<void>, maxLinks?: number): Promise<void>;
  /** Returns the number of portal links that are valid at that instant. */
  countLinks(now: number): Promise<number>;
  get(id: string): Promise<ApiKey | null>;
  /** Lists keys in the order in which they were created. A tenant's page leaves out keys of `*`. */
  list(query: KeyQuery): Promise<Page<ApiKey>>;
  /** Returns true if a valid key has scope `admin` for every tenant. */
  hasAdmin(now: number): Promise<boolean>;
  /** Revokes the key, and the keys of the portal links that it requested. Returns false if there is no such key. */
  revoke(id: string, now: number): Promise<boolean>;
  /**
   * Removes keys that expired or were revoked before that instant. Begins after `from`, and looks at no more than 500.
   */
  prune(before: number, from: string | null): Promise<Pruned>;
  /**
   * Removes at most 500 keys of portal links that expired before that instant, and returns how many. Fewer than 500
   * means that none are left.
   */
  prunePortal(before: number): Promise<number>;
  /** Records that the key was used. Writes at most once a minute for each key. */
  touch(id: string, now: number): void;
}

/** `portal` lists only the keys of portal links, or only all others. */
export type KeyQuery = PageQuery & FilterValues<"keys">;

/** The audit trail. */
export interface AuditStore {
  /**
   * Returns the number of the entry's row. If no tenant is given, it becomes that of the object if the object is or was
   * in the store, and otherwise `*`.
   */
  add(entry: AuditEntry, now: number): Promise<number>;
  /** Adds `more` calls to the row, the last at `lastAt`. Returns false if the row was removed. */
  count(row: number, more: number, lastAt: number): Promise<boolean>;
  /** Lists entries in the order in which they were written. A tenant's page leaves out entries of `*`. */
  list(query: AuditQuery, caller?: Caller): Promise<Page<AuditRecord>>;
  /**
   * Removes at most 500 entries from before that instant, oldest first, and returns how many. Fewer than 500 means that
   * none are left.
   */
  prune(before: number): Promise<number>;
}

export type AuditQuery = PageQuery & FilterValues<"audit">;

/** Remembers the responses to requests with an idempotency key, so that a repeated request changes nothing. */
export interface IdempotencyStore {
  /**
   * Returns the response remembered for the request, or null. Rejects with `idempotency_mismatch` if another request
   * used the key.
   */
  recall(request: KeyedRequest, now: number): Promise<string | null>;
  /** Remembers the response to a request whose method of the store does not take `once`. */
  remember(request: KeyedRequest, answer: string): Promise<void>;
  /** Removes at most 500 expired keys, and returns how many. Fewer than 500 means that none are left. */
  prune(now: number): Promise<number>;
  /**
   * Returns at most `limit` keys that do not expire with time, used after `after` and until `until`, by the time of
   * their use.
   */
  lasting(after: number, until: number, limit: number): Promise<readonly LastingKey[]>;
  /** Removes keys that do not expire with time. */
  forget(keys: readonly LastingKey[]): Promise<void>;
}

/** An idempotency key that is kept until whoever used it forgets it. */
export interface LastingKey {
  readonly tenant: string;
  readonly key: string;
  /** When it was used. */
  readonly usedAt: number;
}
