/**
 * The store, in domain verbs: one method per atomic transition. No connection, transaction or row key shows through,
 * so that an embedded SQLite file and a PostgreSQL shared by several nodes can keep the same contract
 * (`test/store/conformance/`).
 *
 * - Every verb resolves only once what it did is durable (fsync'd), and rejects with a `WebhookdError`
 *   (`storage_full`, `storage_unavailable`) when nothing was done.
 * - `now` is epoch milliseconds; a store shared by nodes may use its own clock instead.
 * - `tenant` null means any tenant. What belongs to another tenant is as if it were not there.
 * - Event ids sort as text in the order in which their events were committed.
 */
import type { AuditStore } from "./audit.ts";
import type { CarefulStore } from "./careful.ts";
import type { ClockStore } from "./clock.ts";
import type { DeliveryStore } from "./deliveries.ts";
import type { EndpointStore } from "./endpoints.ts";
import type { FailureStore } from "./failures.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import type { JobStore } from "./jobs.ts";
import type { KeyStore } from "./keys.ts";
import type { ManualStore } from "./manual.ts";
import type { OperationsStore } from "./operations.ts";
import type { PublishStore } from "./publish.ts";
import type { ReadStore } from "./reads.ts";
import type { RetentionStore } from "./retention.ts";
import type { RotationStore } from "./rotation.ts";
import type { StatsStore } from "./stats.ts";

export type * from "./audit.ts";
export type * from "./careful.ts";
export type * from "./clock.ts";
export type * from "./deliveries.ts";
export type * from "./endpoints.ts";
export type * from "./failures.ts";
export type * from "./idempotency.ts";
export type * from "./keys.ts";
export type * from "./lists.ts";
export type * from "./manual.ts";
export type * from "./operations.ts";
export type * from "./publish.ts";
export type * from "./reads.ts";
export type * from "./retention.ts";
export type * from "./rotation.ts";
export type * from "./stats.ts";

export interface Store
  extends
    EndpointStore,
    RotationStore,
    PublishStore,
    DeliveryStore,
    ClockStore,
    ManualStore,
    CarefulStore,
    JobStore,
    ReadStore,
    FailureStore,
    StatsStore,
    KeyStore,
    AuditStore,
    IdempotencyStore,
    RetentionStore,
    OperationsStore {
  /** Looks at the free space again; publishes are refused under the floor, deliveries go on. */
  checkSpace(): Promise<Space>;
  /** As the latest look at the space found it. */
  readonly walTrouble: string | null;
  /**
   * Takes up what the last process left, which an opening does too: true once that is done, false while the disk has no
   * room for it. Until then nothing new is stored, and nothing is known of deliveries that had not waited yet.
   */
  takeUp(): Promise<boolean>;
  /** Whether publishes would be taken now. */
  state(): "ready" | "disk_full" | "store_unavailable";
  close(): Promise<void>;
}

export interface Space {
  readonly freeBytes: number;
  readonly floorBytes: number;
  /** Why the write-ahead log grows, for people; null while it does not. */
  readonly walTrouble: string | null;
}
