/** What an operator asks of the store as a whole. */
import type { Pause } from "../domain/pause.ts";
import type { Page, PageQuery } from "./store.ts";

export interface OperationsStore {
  /** Null while the brake is off. */
  getPause(): Promise<Pause | null>;
  /** Puts the brake on for good. One that is on stays as it was; the answer is the one that holds. */
  pause(pause: Pause): Promise<Pause>;
  /** Takes the brake off; false when it was off. */
  resume(): Promise<boolean>;
  /** Every tenant that ever published or registered something, in the order in which they first did. */
  listTenants(query: PageQuery): Promise<Page<TenantSummary>>;
  /** What the store takes up on its disk. */
  size(): Promise<StoreSize>;
  /** The number of the schema's last step. */
  readonly schemaVersion: number;
}

export interface TenantSummary {
  readonly name: string;
  /** Those that are not deleted. */
  readonly endpoints: number;
}

export interface StoreSize {
  readonly databaseBytes: number;
  /** What was committed and is not yet moved into the database. */
  readonly walBytes: number;
}
