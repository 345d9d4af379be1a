/**
 * The store: an object of roles, each with one method per atomic transition. It exposes no connection, transaction or
 * row key, so that an embedded SQLite file and a PostgreSQL shared by several nodes can keep the same contract
 * (`test/store/conformance/`).
 *
 * - Every method resolves only once its result is durable (fsync'd), and rejects with a `WebhookdError`
 *   (`storage_full`, `storage_unavailable`) if nothing was done.
 * - `now` is epoch milliseconds; a store shared by nodes may use its own clock instead.
 * - `tenant` null means any tenant. Objects of another tenant are treated as missing.
 * - Event ids sort as text in the order in which their events were committed.
 */
import type { AuditStore, IdempotencyStore, KeyStore } from "./contract/callers.ts";
import type { DeliveryStore, EventStore } from "./contract/events.ts";
import type { EndpointStore, SecretStore, SigningKeyStore } from "./contract/endpoints.ts";
import type { EventTypeStore } from "./contract/event-types.ts";
import type { JobStore } from "./contract/jobs.ts";
import type { OperationsStore, UpkeepStore } from "./contract/operations.ts";
import type { OwnershipStore, RecoveryStore } from "./contract/processes.ts";
import type { ReadStore } from "./contract/reads.ts";
import type { StatisticsStore } from "./contract/statistics.ts";

export type * from "./contract/callers.ts";
export type * from "./contract/events.ts";
export type * from "./contract/endpoints.ts";
export type * from "./contract/event-types.ts";
export type * from "./contract/jobs.ts";
export type * from "./contract/reads.ts";
export type * from "./contract/operations.ts";
export type * from "./contract/processes.ts";
export type * from "./contract/statistics.ts";

export interface Store {
  readonly events: EventStore;
  readonly deliveries: DeliveryStore;
  readonly endpoints: EndpointStore;
  readonly secrets: SecretStore;
  readonly signingKeys: SigningKeyStore;
  readonly types: EventTypeStore;
  readonly keys: KeyStore;
  readonly jobs: JobStore;
  readonly reads: ReadStore;
  readonly statistics: StatisticsStore;
  readonly audit: AuditStore;
  readonly idempotency: IdempotencyStore;
  readonly recovery: RecoveryStore;
  readonly upkeep: UpkeepStore;
  readonly operations: OperationsStore;
  readonly ownership: OwnershipStore;
  close(): Promise<void>;
}
