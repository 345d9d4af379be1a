/** Every operation of the daemon's HTTP API by its name in `docs/openapi.json`, and the type of its response. */
import type { GenericSchema, InferOutput } from "valibot";
import type * as attempt from "../api/deliveries/attempts.ts";
import type * as audit from "../api/daemon/audit.ts";
import type * as backup from "../api/daemon/backups.ts";
import type * as configuration from "../api/daemon/configuration.ts";
import type * as outbox from "../api/daemon/outboxes.ts";
import type * as sending from "../api/daemon/sending.ts";
import type * as secretKey from "../api/daemon/backups.ts";
import type * as status from "../api/daemon/status.ts";
import type * as tenant from "../api/daemon/status.ts";
import type * as delivery from "../api/deliveries/deliveries.ts";
import type * as filterTest from "../api/endpoints/filter-test.ts";
import type * as endpoint from "../api/endpoints/schemas.ts";
import type * as secret from "../api/endpoints/secrets.ts";
import type * as signingKey from "../api/endpoints/signing-keys.ts";
import type * as eventType from "../api/event-types/schemas.ts";
import type * as event from "../api/events/schemas.ts";
import type * as why from "../api/events/why.ts";
import type * as jobDraft from "../api/jobs/draft.ts";
import type * as job from "../api/jobs/schemas.ts";
import type * as key from "../api/daemon/keys.ts";
import type * as portal from "../api/portal/links.ts";
import type * as publication from "../api/publishing/schemas.ts";
import type * as failure from "../api/reports/failures.ts";
import type * as statistics from "../api/reports/statistics.ts";

export type FilterResult = Out<typeof filterTest.FilterResult>;

/** The method and path of each operation. */
export const OPERATIONS = {
  publishEvent: "POST /v1/webhooks/events",
  publishBatch: "POST /v1/webhooks/events/batch",
  listEvents: "GET /v1/webhooks/events",
  getEvent: "GET /v1/webhooks/events/{id}",
  explainEvent: "GET /v1/webhooks/events/{id}/why",
  listEventAttempts: "GET /v1/webhooks/events/{id}/attempts",
  replayEvent: "POST /v1/webhooks/events/{id}/retry",
  cancelEvent: "POST /v1/webhooks/events/{id}/cancel",
  eraseEvent: "DELETE /v1/webhooks/events/{id}/data",
  listEventTypes: "GET /v1/webhooks/event-types",
  createEventType: "POST /v1/webhooks/event-types",
  importEventTypes: "POST /v1/webhooks/event-types/import",
  getEventType: "GET /v1/webhooks/event-types/{id}",
  putEventType: "PUT /v1/webhooks/event-types/{id}",
  deleteEventType: "DELETE /v1/webhooks/event-types/{id}",

  registerEndpoint: "POST /v1/webhooks",
  listEndpoints: "GET /v1/webhooks",
  getEndpoint: "GET /v1/webhooks/{id}",
  changeEndpoint: "PATCH /v1/webhooks/{id}",
  putEndpoint: "PUT /v1/webhooks/{id}",
  deleteEndpoint: "DELETE /v1/webhooks/{id}",
  listEndpointAttempts: "GET /v1/webhooks/{id}/attempts",
  sendTestEvent: "POST /v1/webhooks/{id}/test",
  testFilter: "POST /v1/webhooks/{id}/filter/test",
  getSecret: "GET /v1/webhooks/{id}/secret",
  rotateSecret: "POST /v1/webhooks/{id}/rotate-secret",
  completeRotation: "POST /v1/webhooks/{id}/rotate-secret/complete",
  abandonRotation: "DELETE /v1/webhooks/{id}/rotate-secret",
  getSigningKeys: "GET /v1/webhooks/keys",
  changeSigningKeys: "PATCH /v1/webhooks/keys",
  rotateSigningKey: "POST /v1/webhooks/keys/rotate",
  completeKeyRotation: "POST /v1/webhooks/keys/rotate/complete",
  abandonKeyRotation: "DELETE /v1/webhooks/keys/rotate",
  getSigningKeySet: "GET /v1/webhooks/keys/jwks.json",

  listDeliveries: "GET /v1/webhooks/deliveries",
  getDelivery: "GET /v1/webhooks/deliveries/{id}",
  attemptDelivery: "POST /v1/webhooks/deliveries/{id}/attempt",
  listDeliveryAttempts: "GET /v1/webhooks/deliveries/{id}/attempts",
  getAttempt: "GET /v1/webhooks/attempts/{id}",

  createJob: "POST /v1/webhooks/jobs",
  listJobs: "GET /v1/webhooks/jobs",
  getJob: "GET /v1/webhooks/jobs/{id}",
  pauseJob: "POST /v1/webhooks/jobs/{id}/pause",
  resumeJob: "POST /v1/webhooks/jobs/{id}/resume",
  cancelJob: "POST /v1/webhooks/jobs/{id}/cancel",

  listFailures: "GET /v1/webhooks/failures",
  getStatistics: "GET /v1/webhooks/stats",
  streamChanges: "GET /v1/webhooks/stream",

  listKeys: "GET /v1/keys",
  createKey: "POST /v1/keys",
  getKey: "GET /v1/keys/{id}",
  revokeKey: "DELETE /v1/keys/{id}",
  createPortalLink: "POST /v1/portal-links",
  getPortal: "GET /v1/portal",
  listAudit: "GET /v1/audit",
  listTenants: "GET /v1/tenants",

  getStatus: "GET /v1/status",
  getConfiguration: "GET /v1/config",
  pauseDaemon: "POST /v1/pause",
  resumeDaemon: "POST /v1/resume",
  listNodes: "GET /v1/nodes",
  drainNode: "POST /v1/nodes/{id}/drain",
  resumeNode: "POST /v1/nodes/{id}/resume",
  listOutboxes: "GET /v1/outboxes",
  listSetAsideRows: "GET /v1/outboxes/{id}/set-aside",
  retryOutboxRows: "POST /v1/outboxes/{id}/retry",
  dropOutboxRows: "POST /v1/outboxes/{id}/drop",
  createBackup: "POST /v1/backups",
  rekey: "POST /v1/secret-key/rekey",

  getHealth: "GET /healthz",
  getReadiness: "GET /readyz",
  getMetrics: "GET /metrics",
  getDescription: "GET /openapi.json",
} as const;

export type OperationName = keyof typeof OPERATIONS;

/** Types come from the schemas that `docs/openapi.json` is generated from. */
type Out<S extends GenericSchema> = Frozen<InferOutput<S>>;
type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T;

export type Attempt = Out<typeof attempt.Attempt>;
export type AuditRecord = Out<typeof audit.AuditRecord>;
export type Configuration = Out<typeof configuration.Configuration>;
export type Outbox = Out<typeof outbox.Outbox>;
export type SetAsideRow = Out<typeof outbox.SetAsideRow>;
export type Backup = Out<typeof backup.Backup>;
/** A delivery as part of its event. */
export type EventDelivery = Out<typeof delivery.Delivery>;
export type Delivery = Out<typeof delivery.WholeDelivery>;
export type Endpoint = Out<typeof endpoint.Endpoint>;
export type EndpointWithHealth = Out<typeof endpoint.EndpointWithHealth>;
export type ListedEndpoint = Out<typeof endpoint.ListedEndpoint>;
export type Event = Out<typeof event.Event>;
export type EventDraft = Out<ReturnType<typeof publication.eventDraft>>;
export type BatchItem = Out<ReturnType<typeof publication.batchItem>>;
export type BatchedPublication = Out<typeof publication.BatchPublication>["data"][number];
export type EventSummary = Out<typeof event.EventSummary>;
export type EventType = Out<typeof eventType.EventType>;
export type Explanation = Out<typeof why.Explanation>;
export type EventTypeImport = Out<typeof eventType.EventTypeImported>;
export type Failures = Out<typeof failure.Failures>;
export type FailureGroup = Failures["data"][number];
export type Job = Out<typeof job.Job>;
export type WholeJob = Out<typeof job.WholeJob>;
export type JobPlan = Out<typeof job.JobPlan>;
export type JobDraft = Out<typeof jobDraft.JobDraft>;
export type Key = Out<typeof key.Key>;
export type Node = Out<typeof sending.Node>;
export type Pause = Out<typeof sending.Pause>;
export type Portal = Out<typeof portal.Portal>;
export type Publication = Out<typeof publication.Publication>;
export type Rekeyed = Out<typeof secretKey.Rekeyed>;
export type ReplayedEvent = Out<typeof event.ReplayedEvent>;
export type SigningKeys = Out<typeof signingKey.SigningKeys>;
export type SigningSecrets = Out<typeof secret.SigningSecrets>;
export type Statistics = Out<typeof statistics.Statistics>;
export type Status = Out<typeof status.Status>;
export type Tenant = Out<typeof tenant.TenantSummary>;

export interface Page<T> {
  readonly data: readonly T[];
  /** Null at the end. Even if it is set, the page may be short or empty. */
  readonly next_cursor: string | null;
  /** The number of items on all pages, if the request asked for it. */
  readonly total?: number | undefined;
  /** The progress of a search in events' data. */
  readonly searched?: { readonly events: number; readonly until: string | null } | undefined;
  readonly total_is?: "exact" | "at_least" | undefined;
}

/** Operations that are missing here answer with text, or with nothing. */
export interface Answers {
  publishEvent: Publication;
  publishBatch: Out<typeof publication.BatchPublication>;
  listEvents: Page<EventSummary>;
  getEvent: Event;
  explainEvent: Explanation;
  listEventAttempts: Page<Attempt>;
  replayEvent: ReplayedEvent;
  cancelEvent: Out<typeof event.CancelledEvent>;
  eraseEvent: null;
  listEventTypes: Page<EventType>;
  createEventType: EventType;
  importEventTypes: EventTypeImport;
  getEventType: EventType;
  putEventType: EventType;
  deleteEventType: null;

  registerEndpoint: Out<typeof endpoint.RegisteredEndpoint>;
  listEndpoints: Page<ListedEndpoint> & { readonly failing?: number | undefined };
  getEndpoint: EndpointWithHealth;
  changeEndpoint: Endpoint;
  /** Has `signing_secret` if the call created the endpoint. Null with `dry_run`. */
  putEndpoint: Endpoint | Out<typeof endpoint.RegisteredEndpoint> | null;
  deleteEndpoint: null;
  listEndpointAttempts: Page<Attempt>;
  /** Returns the attempt with `wait`, otherwise the publication. */
  sendTestEvent: Attempt | Publication;
  testFilter: FilterResult;
  getSecret: SigningSecrets;
  rotateSecret: SigningSecrets;
  completeRotation: SigningSecrets;
  abandonRotation: null;
  getSigningKeys: SigningKeys;
  changeSigningKeys: SigningKeys;
  rotateSigningKey: SigningKeys;
  completeKeyRotation: SigningKeys;
  abandonKeyRotation: SigningKeys;
  getSigningKeySet: Out<typeof signingKey.SigningKeySet>;

  listDeliveries: Page<Delivery>;
  getDelivery: Delivery;
  attemptDelivery: Delivery;
  listDeliveryAttempts: Page<Attempt>;
  getAttempt: Attempt;

  /** Returns the plan with `dry_run`. */
  createJob: Job | JobPlan;
  listJobs: Page<Job>;
  getJob: WholeJob;
  pauseJob: Job;
  resumeJob: Job;
  cancelJob: Job;

  listFailures: Failures;
  getStatistics: Statistics;

  listKeys: Page<Key>;
  /** `key` is the token; no other response has it. */
  createKey: Out<typeof key.CreatedKey>;
  getKey: Key;
  /** Not null if it was the last admin key. */
  revokeKey: Out<typeof key.LastAdminKey> | null;
  createPortalLink: Out<typeof portal.PortalLink>;
  getPortal: Out<typeof portal.Portal>;
  listAudit: Page<AuditRecord>;
  listTenants: Page<Tenant>;

  getStatus: Status;
  getConfiguration: Configuration;
  pauseDaemon: { readonly paused: Pause };
  listNodes: { readonly data: readonly Node[] };
  drainNode: Node;
  resumeNode: Node;
  /** Older daemons do not send `was_paused`. */
  resumeDaemon: { readonly paused: null; readonly was_paused?: boolean };
  listOutboxes: { readonly data: readonly Outbox[] };
  listSetAsideRows: { readonly data: readonly SetAsideRow[] };
  retryOutboxRows: { readonly rows: number };
  dropOutboxRows: { readonly rows: number };
  createBackup: Backup;
  rekey: Rekeyed;
}
