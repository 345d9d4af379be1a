/** Who asks, what was asked, and what was asked before. */
import type { AuditAction, AuditEntry, AuditRecord } from "../../domain/caller.ts";
import type { KeyedRequest, Once } from "../../domain/events/idempotency.ts";
import type { ApiKey, NewApiKey } from "../../domain/caller.ts";
import type { Caller, Page, PageQuery, Period } from "./reads.ts";
import type { Pruned } from "./operations.ts";

/** API keys. */
export interface KeyStore {
  /**
   * Throws `unauthorized` for the key of a portal link if the key that asked for it was revoked meanwhile, and what
   * `linksRefusal` says of `maxLinks`. Links added at the same time on several nodes may exceed that by a few.
   */
  add(key: NewApiKey, now: number, once?: Once<void>, maxLinks?: number): Promise<void>;
  /** How many portal links work at that instant. */
  countLinks(now: number): Promise<number>;
  get(id: string): Promise<ApiKey | null>;
  /** In the order in which they were made. A tenant's page leaves out keys of `*`. */
  list(query: KeyQuery): Promise<Page<ApiKey>>;
  /** Whether a key works that has scope `admin` for every tenant. */
  hasAdmin(now: number): Promise<boolean>;
  /** With it, those of the portal links that it asked for. False when there is no such key. */
  revoke(id: string, now: number): Promise<boolean>;
  /** Removes keys that expired or were revoked before that instant. Begins after `from`, and looks at no more than 500. */
  prune(before: number, from: string | null): Promise<Pruned>;
  /** Removes at most 500 of the portal links' keys that expired before that instant; how many. Fewer: there are no more. */
  prunePortal(before: number): Promise<number>;
  /** Notes that the key was used; written at most once a minute for each key. */
  touch(id: string, now: number): void;
}

export interface KeyQuery extends PageQuery {
  /** Only those of portal links, or only all others. */
  readonly portal?: boolean;
}

/** The audit trail. */
export interface AuditStore {
  /** The number of its row. A tenant left open becomes that of the object, if it is or was in the store, else `*`. */
  add(entry: AuditEntry, now: number): Promise<number>;
  /** Lets the row stand for so many more calls. False if it is not there any more. */
  count(row: number, more: number, lastAt: number): Promise<boolean>;
  /** In the order in which they were written down. A tenant's page leaves out those of `*`. */
  list(query: AuditQuery, caller?: Caller): Promise<Page<AuditRecord>>;
  /** Removes at most 500 of the entries from before that instant, oldest first; how many. Fewer: there are no more. */
  prune(before: number): Promise<number>;
}

export interface AuditQuery extends PageQuery, Period {
  readonly action?: AuditAction;
  /** The id of what it was about. */
  readonly object?: string;
}

/** Requests that come again. */
export interface IdempotencyStore {
  /** The answer remembered for the request, or null; rejects with `idempotency_mismatch` if it was another request's. */
  recall(request: KeyedRequest, now: number): Promise<string | null>;
  /** For what was done by verbs that take no `once`. */
  remember(request: KeyedRequest, answer: string): Promise<void>;
  /** Forgets at most 500 keys that have expired; how many. Fewer: there are no more. */
  prune(now: number): Promise<number>;
}
