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
import type { AuditAction, AuditEntry, AuditRecord } from "../domain/audit.ts";
import type { AttemptError, BodyError, Outcome, Phases, Trigger } from "../domain/attempt.ts";
import type { Claim, EventStatus, Job, Position, ShownStatus, Verdict } from "../domain/delivery.ts";
import type {
  DisabledReason,
  Endpoint,
  EndpointHealth,
  EndpointSettings,
  NewEndpoint,
  NextSecret,
  SigningSecrets,
  Target,
} from "../domain/endpoint.ts";
import type { EventDraft } from "../domain/event.ts";
import type { KeyedRequest, Once } from "../domain/idempotency.ts";
import type { ApiKey, NewApiKey } from "../domain/key.ts";
import type { FailureStore } from "./failures.ts";
import type { JobStore } from "./jobs.ts";
import type { OperationsStore } from "./operations.ts";
import type { StatsStore } from "./stats.ts";

export type * from "./failures.ts";
export type * from "./operations.ts";
export type * from "./stats.ts";

export interface Store extends FailureStore, JobStore, OperationsStore, StatsStore {
  // --- endpoints ---

  /** Rejects with `endpoint_limit` when the tenant has `maxPerTenant` endpoints that are not deleted. */
  addEndpoint(endpoint: NewEndpoint, maxPerTenant: number, now: number, once?: Once<Endpoint>): Promise<Endpoint>;
  getEndpoint(tenant: string | null, id: string): Promise<Endpoint | null>;
  /** Whose it is, or was: of a deleted one too. */
  tenantOf(endpoint: string): Promise<string | null>;
  listEndpoints(query: EndpointQuery): Promise<Page<Endpoint>>;
  /**
   * Makes of the endpoint's settings what `change` answers, all or nothing; what it throws is rejected with. It may run
   * twice. Rejects with `already_created` when the uid belongs to another endpoint; null when there is no such endpoint.
   * Disabling and enabling rewrite no delivery, and a changed `events` touches later events only. With `cancel`, what was
   * held for an endpoint that this enables is `cancelled` from now on, and rewritten so by and by, over restarts too.
   */
  updateEndpoint(
    tenant: string | null,
    id: string,
    change: ChangeSettings,
    now: number,
    held?: "release" | "cancel",
  ): Promise<Endpoint | null>;
  /** Disables the endpoint; false when it is disabled already or has another URL by now. */
  disableEndpoint(id: string, url: string, reason: DisabledReason, now: number): Promise<boolean>;
  /** Null when there is no such endpoint. */
  endpointHealth(tenant: string | null, id: string): Promise<EndpointHealth | null>;
  /** Since when attempts fail without a success; null while they do not, and while nobody knows. */
  failingSince(endpoint: string): Promise<number | null>;
  /** Writes down how at most 500 endpoints fare of whom that is news: what was not written, a crash forgets. */
  saveHealth(): Promise<void>;
  /** Its open deliveries become `cancelled`, its history stays. False when there is no such endpoint. */
  deleteEndpoint(tenant: string | null, id: string, now: number): Promise<boolean>;
  /** Event types outside `known` that endpoints have chosen, by name. */
  typesInUse(known: readonly string[]): Promise<TypeInUse[]>;
  /** The endpoint as the sender needs it; null when it was deleted. */
  target(endpoint: string): Promise<Target | null>;

  // --- rotation: `interface.md` §5 ---

  signingSecrets(tenant: string | null, id: string): Promise<SigningSecrets | null>;
  /** Puts the next secret beside the current one; it takes over at once if that is due by `now`. */
  rotateSecret(
    tenant: string | null,
    id: string,
    next: NextSecret,
    now: number,
    once?: Once<Rotation>,
  ): Promise<Rotation>;
  /** The next secret takes over. */
  completeRotation(tenant: string | null, id: string, now: number, once?: Once<Rotation>): Promise<Rotation>;
  /** The next secret is forgotten. */
  abandonRotation(tenant: string | null, id: string): Promise<Rotation>;
  /**
   * Lets the next secrets take over that are due by `now`, at most 500, and names their endpoints: whoever signs must
   * hear of it. A later `now` that lies behind takes nothing back.
   */
  switchSecrets(now: number): Promise<readonly string[]>;

  // --- the way of an event ---

  /**
   * Commits the events and one delivery for each endpoint that chose their type, all or nothing, in this order.
   * A delivery whose endpoint `hasRoom` is `fresh`: it must be handed over at once, because only a restart reads it
   * again. The others wait on disk, due now. Rejects with `fan_out_too_large` over 20,000 deliveries.
   * A draft with an idempotency key that the tenant has used makes no event: it is answered as the first one was, or
   * all are refused with `idempotency_mismatch`.
   */
  publish(
    drafts: readonly EventDraft[],
    now: number,
    hasRoom: HasRoom,
    once?: Once<readonly Publication[]>,
  ): Promise<Publication[]>;
  /**
   * The waiting deliveries of one endpoint that come after `after` and are due by `until`, in order of (due, event).
   * A page shorter than `limit` means there are no more of them; `nextDueAt` is when the first one that is not in the
   * page falls due.
   */
  due(endpoint: string, after: Position, until: number, limit: number): Promise<DuePage>;
  /**
   * For each endpoint with waiting deliveries, when the earliest of them falls due: in the store's own order, at most
   * `limit` endpoints that come after `after` (the last one of the page before; null for the first page).
   */
  earliestDue(after: string | null, limit: number): Promise<Map<string, number>>;
  /** What waits for one endpoint after this position, due or not, without the bodies; at most 500 of them. */
  waiting(endpoint: string, after: Position, limit: number): Promise<readonly Owed[]>;
  /** What was handed over with its commit and has no attempt recorded yet, in the store's own order; at most 500. */
  fresh(after: Owed | null, limit: number): Promise<readonly Owed[]>;
  /**
   * Adds the attempts and moves their deliveries. An attempt that its delivery has moved on from (`superseded`) is
   * kept and changes nothing, except that a success always wins; where its delivery waits now is said all the same,
   * because whoever held it for this attempt holds it no more.
   */
  record(attempts: readonly EndedAttempt[]): Promise<Recorded[]>;
  /**
   * After the clock was set: moves the due times of at most 500 of the endpoint's waiting deliveries. `next` is where
   * to go on, null when all were moved; `moved` says where they wait now.
   */
  shiftDue(endpoint: string, shift: Shift, from: Position | null): Promise<Shifted>;
  /** Due times are about to be moved: until `clockSettled`, an open finds `lastInstant` ahead of any clock. */
  clockUnsettled(): Promise<void>;
  /** All due times are reckoned by the clock as it is now: later instants that were known before are forgotten. */
  clockSettled(now: number): Promise<void>;
  /** The latest instant known when the store was opened; it lies ahead of now if the clock was set back meanwhile. */
  readonly lastInstant: number;
  /**
   * Memory forgets these: the fresh ones are written back as waiting and due by now, and the answer is where each one
   * that waits is to be found. What has ended meanwhile is not in it.
   */
  park(deliveries: readonly Waiting[], now: number): Promise<Waiting[]>;
  /** Starts a new round for the event's failed deliveries; with `force` for the delivered ones too. */
  replay(tenant: string | null, event: string, scope: ReplayScope, now: number, once?: Once<Replay>): Promise<Replay>;

  // --- taking it into one's own hands ---

  /**
   * One attempt outside the ladder is owed from now on, through any restart, until it was made, or its delivery is
   * delivered, cancelled or erased. Asking again before that changes nothing.
   */
  requestAttempt(
    tenant: string | null,
    delivery: string,
    now: number,
    once?: Once<AttemptRequest>,
  ): Promise<AttemptRequest>;
  /**
   * What to make that attempt from; null when none is owed any more. Nothing is claimed: whoever holds another claim of
   * this delivery lets it end first. Fresh deliveries are held by whoever they were handed to, so null for them too.
   */
  requestedAttempt(delivery: string): Promise<Claim | null>;
  /** All that are owed, in the store's own order: at most `limit` after the last one of the page before. */
  requestedAttempts(after: EventDelivery | null, limit: number): Promise<readonly EventDelivery[]>;
  /**
   * Open deliveries become `cancelled` and nothing more is owed of them: the event's, or only the one to `endpoint`.
   * What is on the wire is recorded all the same, and a success makes it delivered.
   */
  cancelEvent(tenant: string | null, event: string, endpoint: string | null): Promise<Withdrawal>;
  /** Cancels the event, then erases what it said and what it was answered. Its rows stay. */
  eraseEvent(tenant: string | null, event: string): Promise<Withdrawal>;

  // --- careful mode ---

  /**
   * True after the process died in the first minute of its life twice in a row: then each delivery must be marked
   * before it is dialled. Recording its attempt takes the mark away.
   */
  readonly careful: boolean;
  markStarted(jobs: readonly Job[]): Promise<void>;
  /** Deliveries that were marked when the process died, and at how many deaths. */
  suspects(): Promise<Suspect[]>;
  /** The process has lived for a minute. */
  outlived(): Promise<void>;

  // --- reads ---

  getEvent(tenant: string | null, id: string): Promise<EventView | null>;
  /** In the order in which they were committed. */
  listEvents(query: EventQuery): Promise<Page<EventSummary>>;
  getDelivery(tenant: string | null, id: string): Promise<DeliveryView | null>;
  /** In the order of their events. */
  listDeliveries(query: DeliveryQuery): Promise<Page<DeliveryView>>;
  getAttempt(tenant: string | null, id: string): Promise<Attempt | null>;
  /** One event's in the order of their starts, one delivery's by number. Null when there is no such event or delivery. */
  listAttempts(query: AttemptQuery): Promise<Page<Attempt> | null>;
  /**
   * In the order of their events, then by number: an order by starts would cost every success an index entry. A deleted
   * endpoint's too; null when there never was one.
   */
  listEndpointAttempts(query: EndpointAttemptQuery): Promise<Page<Attempt> | null>;

  // --- keys ---

  addKey(key: NewApiKey, now: number, once?: Once<void>): Promise<void>;
  getKey(id: string): Promise<ApiKey | null>;
  /** In the order in which they were made. A tenant's page leaves out keys of `*`. */
  listKeys(query: PageQuery): Promise<Page<ApiKey>>;
  /** Whether a key works that has scope `admin` for every tenant. */
  hasAdminKey(now: number): Promise<boolean>;
  /** False when there is no such key. */
  revokeKey(id: string, now: number): Promise<boolean>;
  /** Notes that the key was used; written at most once a minute for each key. */
  touchKey(id: string, now: number): void;

  // --- audit ---

  /** A tenant left open becomes that of the object, if it is or was in the store, else `*`. */
  addAudit(entry: AuditEntry, now: number): Promise<void>;
  /** In the order in which they were written down. A tenant's page leaves out those of `*`. */
  listAudit(query: AuditQuery): Promise<Page<AuditRecord>>;
  /** Removes at most 500 of the entries from before that instant, oldest first; how many. Fewer: there are no more. */
  pruneAudit(before: number): Promise<number>;

  // --- requests that come again ---

  /** The answer remembered for the request, or null; rejects with `idempotency_mismatch` if it was another request's. */
  recall(request: KeyedRequest, now: number): Promise<string | null>;
  /** For what was done by verbs that take no `once`. */
  remember(request: KeyedRequest, answer: string): Promise<void>;
  /** Forgets at most 500 keys that have expired; how many. Fewer: there are no more. */
  pruneIdempotency(now: number): Promise<number>;

  // --- retention: each call touches at most 500 rows, and looks at as many events or attempts ---

  /**
   * Removes events with all that belongs to them: those of which no delivery is open, and which were received, and
   * last attempted, before `rules.failed` if a delivery failed, before `rules.delivered` else. Begins after `from`.
   */
  pruneEvents(rules: PruneRules, from: string | null): Promise<Pruned>;
  /**
   * Lets held deliveries fail that were due before that instant, of endpoints that were disabled and not changed since
   * then: each gets an attempt with the error `held_expired`. How many; fewer than 500: there are no more.
   */
  expireHeld(before: number, now: number): Promise<number>;
  /** Forgets what receivers answered to attempts from before that instant. Fewer than 500: there are no more. */
  forgetResponses(before: number): Promise<number>;

  // --- upkeep ---

  /** Looks at the free space again; publishes are refused under the floor, deliveries go on. */
  checkSpace(): Promise<Space>;
  /** Whether publishes would be taken now. */
  state(): "ready" | "disk_full" | "store_unavailable";
  close(): Promise<void>;
}

export type ChangeSettings = (settings: EndpointSettings) => EndpointSettings;

export type Rotation =
  | { readonly result: "not_found" | "rotation_in_progress" | "not_rotating" }
  | { readonly result: "done"; readonly secrets: SigningSecrets };

/** Whether memory can take one more delivery of this endpoint. */
export type HasRoom = (endpoint: string) => boolean;

/** A committed delivery that waits on disk: whoever keeps the horizon must hear of it in the same turn. */
export interface Waiting extends Position {
  readonly endpoint: string;
}

/** A pending delivery, by its id too. */
export interface Owed extends Waiting {
  readonly delivery: string;
}

/** What a commit made that somebody must now deliver. */
export interface Handover {
  readonly fresh: readonly Claim[];
  readonly waiting: readonly Waiting[];
}

export interface TypeInUse {
  readonly type: string;
  /** How many endpoints chose it, and the ids of the first few. */
  readonly endpoints: number;
  readonly some: readonly string[];
}

export interface Suspect {
  readonly claim: Claim;
  readonly interruptions: number;
}

export interface Publication extends Handover {
  readonly id: string;
  readonly type: string;
  readonly createdAt: number;
  readonly deliveries: number;
  /** Published before, under the same idempotency key: nothing was made, and there is nothing to hand over. */
  readonly duplicate: boolean;
}

export interface DuePage {
  readonly claims: readonly Claim[];
  readonly nextDueAt: number | null;
  /** Nothing was read, because what the endpoint was owed is being cancelled: ask again in a second. */
  readonly cancelling?: boolean;
}

/** A change of due times that moves all of them the same way. */
export interface Shift {
  readonly later: boolean;
  /** What is due by this instant stays where it is. */
  readonly after: number;
  /** Where a delivery at this place of the ladder goes. */
  readonly move: (dueAt: number, retry: number) => number;
  /** Ids of events whose deliveries to this endpoint are right already. */
  readonly except: ReadonlySet<string>;
}

export interface Shifted {
  readonly moved: readonly Waiting[];
  readonly next: Position | null;
}

export interface EndedAttempt {
  readonly claim: Claim;
  /** The URL the attempt went to, as it was then. */
  readonly url: string;
  readonly startedAt: number;
  readonly outcome: Outcome;
  readonly verdict: Verdict;
  /** Of the secret that signed the specified header; null when nothing was signed. */
  readonly secretVersion: number | null;
}

export interface Recorded {
  readonly result: "applied" | "superseded";
  /** Where the delivery waits for its next attempt, if it does. */
  readonly waiting: Waiting | null;
}

export interface ReplayScope {
  readonly endpoint?: string;
  readonly force?: boolean;
}

export type Replay =
  | { readonly result: "not_found" | "not_failed" | "gone" }
  | { readonly result: "endpoint_disabled"; readonly left: readonly LeftAlone[] }
  | { readonly result: "replayed"; readonly waiting: readonly Waiting[]; readonly left: readonly LeftAlone[] };

/** A failed delivery that a replay did not touch, and why. */
export interface LeftAlone {
  readonly delivery: string;
  readonly endpoint: string;
  readonly reason: "endpoint_disabled" | "endpoint_deleted";
}

export interface EventDelivery {
  readonly delivery: string;
  readonly endpoint: string;
}

export type AttemptRequest =
  /** Settled: delivered or cancelled. Gone: the event was erased. */
  | { readonly result: "not_found" | "settled" | "endpoint_deleted" | "gone" }
  | ({ readonly result: "requested" } & EventDelivery);

export type Withdrawal =
  | { readonly result: "not_found" }
  | {
      readonly result: "withdrawn";
      /** Of which nothing more may be started: whoever holds them must hear of it. */
      readonly deliveries: readonly EventDelivery[];
      /** How many of them were open. */
      readonly cancelled: number;
    };

// --- lists ---

export interface Page<T> {
  readonly data: readonly T[];
  /** Opaque; null at the end of the list. A page may be short, even empty, while it is set. */
  readonly nextCursor: string | null;
}

export interface PageQuery {
  readonly tenant: string | null;
  readonly limit: number;
  readonly order: "newest" | "oldest";
  readonly cursor?: string;
}

export interface EndpointQuery extends PageQuery {
  readonly enabled?: boolean;
  readonly eventType?: string;
  /** In the form that the endpoint shows. */
  readonly url?: string;
  readonly uid?: string;
}

/** When the event was received; `until` is exclusive. */
export interface Period {
  readonly since?: number;
  readonly until?: number;
}

/** What an attempt came to. */
export interface ResultFilter {
  readonly error?: AttemptError;
  readonly statusCode?: StatusCodes;
}

/** Both ends included. */
export interface StatusCodes {
  readonly least: number;
  readonly most: number;
}

/** An error or status code is looked for in the last attempts of the event's deliveries; one that has it is enough. */
export interface EventQuery extends PageQuery, Period, ResultFilter {
  readonly status?: EventStatus;
  readonly type?: string;
  readonly endpoint?: string;
  readonly test?: boolean;
}

export interface AuditQuery extends PageQuery, Period {
  readonly action?: AuditAction;
}

/** An error or status code is looked for in the delivery's last attempt. */
export interface DeliveryQuery extends PageQuery, Period, ResultFilter {
  readonly status?: ShownStatus;
  readonly type?: string;
  readonly endpoint?: string;
  readonly event?: string;
  readonly test?: boolean;
}

export type AttemptQuery = PageQuery & ({ readonly event: string } | { readonly delivery: string });

export interface EndpointAttemptQuery extends PageQuery, Period, ResultFilter {
  readonly endpoint: string;
  readonly outcome?: Outcome["outcome"];
  readonly test?: boolean;
}

export interface EventSummary {
  readonly id: string;
  readonly type: string;
  readonly createdAt: number;
  readonly receivedAt: number;
  readonly tenant: string;
  readonly test: boolean;
  readonly status: EventStatus;
}

export interface EventView extends EventSummary {
  /** The bytes of `data` as they were published; null once they were erased. */
  readonly data: Uint8Array | null;
  /** At most 100 of them. */
  readonly deliveries: readonly DeliveryView[];
}

export interface DeliveryView {
  readonly id: string;
  readonly event: string;
  readonly type: string;
  readonly receivedAt: number;
  readonly tenant: string;
  readonly test: boolean;
  readonly endpoint: string;
  readonly status: ShownStatus;
  readonly attempts: number;
  readonly round: number;
  /** The place on the ladder of the attempt to come; null unless one is to come. */
  readonly retry: number | null;
  /** Null unless the delivery is pending. */
  readonly nextAttemptAt: number | null;
  readonly lastAttempt: Attempt | null;
}

export interface Attempt {
  readonly id: string;
  readonly event: string;
  readonly delivery: string;
  readonly endpoint: string;
  readonly url: string;
  readonly number: number;
  readonly trigger: Trigger;
  readonly round: number;
  /** Null for attempts outside the ladder. */
  readonly retry: number | null;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: "succeeded" | "failed" | "interrupted";
  readonly statusCode: number | null;
  readonly error: AttemptError | null;
  readonly bodyError: BodyError | null;
  readonly detail: string;
  readonly remoteAddress: string | null;
  /** Whether the specified header was signed by the secret that the endpoint has now; null when nothing was signed. */
  readonly secret: "current" | "previous" | null;
  readonly phases: Phases;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: Uint8Array;
  readonly responseTruncated: boolean;
}

/** Instants: what was over before them goes. */
export interface PruneRules {
  readonly delivered: number;
  readonly failed: number;
}

export interface Pruned {
  /** How many events are gone. */
  readonly pruned: number;
  /** Opaque: where to go on; null at the end. */
  readonly next: string | null;
}

export interface Space {
  readonly freeBytes: number;
  readonly floorBytes: number;
}
