/** API keys. */
import type { Once } from "../domain/idempotency.ts";
import type { ApiKey, NewApiKey } from "../domain/key.ts";
import type { Page, PageQuery } from "./lists.ts";
import type { Pruned } from "./retention.ts";

export interface KeyStore {
  addKey(key: NewApiKey, now: number, once?: Once<void>): Promise<void>;
  getKey(id: string): Promise<ApiKey | null>;
  /** In the order in which they were made. A tenant's page leaves out keys of `*`. */
  listKeys(query: PageQuery): Promise<Page<ApiKey>>;
  /** Whether a key works that has scope `admin` for every tenant. */
  hasAdminKey(now: number): Promise<boolean>;
  /** False when there is no such key. */
  revokeKey(id: string, now: number): Promise<boolean>;
  /** Removes keys that expired or were revoked before that instant. Begins after `from`, and looks at no more than 500. */
  pruneKeys(before: number, from: string | null): Promise<Pruned>;
  /** Notes that the key was used; written at most once a minute for each key. */
  touchKey(id: string, now: number): void;
}
