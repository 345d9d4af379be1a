/** API keys. */
import type { Once } from "../../domain/idempotency.ts";
import type { ApiKey, NewApiKey } from "../../domain/key.ts";
import type { Page, PageQuery } from "./lists.ts";
import type { Pruned } from "./upkeep.ts";

export interface KeyStore {
  add(key: NewApiKey, now: number, once?: Once<void>): Promise<void>;
  get(id: string): Promise<ApiKey | null>;
  /** In the order in which they were made. A tenant's page leaves out keys of `*`. */
  list(query: PageQuery): Promise<Page<ApiKey>>;
  /** Whether a key works that has scope `admin` for every tenant. */
  hasAdmin(now: number): Promise<boolean>;
  /** False when there is no such key. */
  revoke(id: string, now: number): Promise<boolean>;
  /** Removes keys that expired or were revoked before that instant. Begins after `from`, and looks at no more than 500. */
  prune(before: number, from: string | null): Promise<Pruned>;
  /** Notes that the key was used; written at most once a minute for each key. */
  touch(id: string, now: number): void;
}
