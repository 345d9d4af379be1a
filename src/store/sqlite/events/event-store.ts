/** The store of events: commits them with their deliveries, and replays, cancels and erases them. */
import { OF_EVENTS } from "../../rows/key-times.ts";
import { Keys } from "../numbers/keys.ts";
import type { Trigger } from "../../../domain/deliveries/attempt.ts";
import type { Claim } from "../../../domain/deliveries/delivery.ts";
import { isInOrder } from "../../../domain/deliveries/ordering.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import { envelope, type EventDraft, headOf } from "../../../domain/events/event.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import {
  type Backlog,
  type Capacity,
  isShadowed,
  MAX_FAN_OUT,
  route,
  type Routed,
  startsAtOnce,
} from "../../../domain/events/routing.ts";
import type { TenantShares } from "../../../domain/time/timetable.ts";
import type { EventStore, Publication, Replay as Replayed, ReplayScope, Waiting, Withdrawal } from "../../store.ts";
import type { Labels } from "../lists/labels.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { FreshMark } from "../claims/fresh.ts";
import type { ManualAttempts } from "../claims/manual-attempts.ts";
import { Pending } from "../deliveries/deliveries.ts";
import type { Choices } from "../endpoints/choices.ts";
import { type Engine, RowBatch } from "../engine/engine.ts";
import type { EndpointEntry, EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Counters } from "../statistics/counters.ts";
import { Replay, Withdraw } from "./event-changes.ts";
import type { Events } from "./events.ts";
import type { DataRow, LargeBatch, LargeData } from "./large-data.ts";
import type { Lines } from "../ordering/lines.ts";
import {
  BEHIND,
  bodyHash,
  deliveryId,
  eventId,
  FRESH,
  hashOf,
  RandomChars,
  SHADOWED,
  traceText,
  triggerCode,
  WAITING,
} from "../../rows/codes.ts";

/** A batch with more bytes is written in parts. For a smaller one, the last commit would be most of the work. */
const WHOLE_BYTES = 256 * 1024;

interface Parts {
  readonly events: Events;
  readonly idempotency: IdempotencyKeys;
  readonly index: EndpointIndex;
  readonly manual: ManualAttempts;
  readonly counters: Counters;
  readonly fresh: FreshMark;
  readonly labels: Labels;
  readonly large: LargeData;
  readonly choices: Choices;
  readonly lines: Lines;
  /** 0 means no limit. */
  readonly maxPendingPerTenant: number;
  readonly shares: TenantShares;
}

export class SqliteEvents implements EventStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #publish: Publish;
  readonly #replay: Replay;
  readonly #withdraw: Withdraw;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#publish = new Publish(engine, parts);
    this.#replay = new Replay(engine.db, parts.index, parts.lines);
    this.#withdraw = new Withdraw(engine, parts);
  }

  /** Writes the rows that the current transaction has added. */
  flushRows(): void {
    this.#publish.flushRows();
  }

  async publish(
    drafts: readonly EventDraft[],
    now: number,
    capacity: Capacity,
    once?: Once<readonly Publication[]>,
  ): Promise<Publication[]> {
    const { counters, idempotency, index, large } = this.#parts;
    this.#engine.condition.requireSpace();
    const about = this.#engine.read(() => drafts.reduce((sum, { tenant, type }) => sum + index.about(tenant, type), 0));
    const deliveries = Math.min(about, MAX_FAN_OUT);
    const [{ tenant } = { tenant: "*" }] = drafts.every((draft) => draft.tenant === drafts[0]!.tenant) ? drafts : [];
    this.#publish.limit(drafts);
    const commit = async (batch: LargeBatch | null, bytes: number) => {
      const size = { events: drafts.length, deliveries, published: { tenant, bytes } };
      const work = () => this.#publish.publish(drafts, now, capacity, batch);
      const publications = await (once === undefined
        ? this.#engine.commitOrRefuse(work, size)
        : idempotency.commit(once, now, work, size));
      counters.notePublished(drafts, publications, this.#engine.clock.now());
      return publications;
    };
    const bytes = drafts.reduce((sum, { data }) => sum + data.length, 0);
    if (drafts.length === 1 || bytes <= WHOLE_BYTES) return commit(null, bytes);
    const routed = () => this.#engine.commitOrRefuse(() => this.#publish.route(drafts, now));
    return large.publish(drafts, tenant, routed, (batch) => commit(batch, 0));
  }

  async replay(
    tenant: string | null,
    event: string,
    scope: ReplayScope,
    now: number,
    once?: Once<Replayed>,
  ): Promise<Replayed> {
    const { events, idempotency } = this.#parts;
    return idempotency.commit(once, now, () => {
      const found = events.find(tenant, event);
      return found === null ? { result: "not_found" } : this.#replay.replay(found, scope, now);
    });
  }

  async cancel(tenant: string | null, event: string, endpoint: string | null): Promise<Withdrawal> {
    const { read } = this.#engine;
    const found = read(() => this.#parts.events.find(tenant, event));
    if (found === null) return { result: "not_found" };
    const only = endpoint === null ? null : (read(() => this.#parts.index.byId(endpoint)?.number) ?? -1);
    return this.#withdraw.cancel(found, only);
  }

  idsAheadMs(now: number): number | null {
    return this.#publish.keys.aheadMs(now);
  }

  async erase(tenant: string | null, event: string, now: number): Promise<Withdrawal> {
    const found = this.#engine.read(() => this.#parts.events.find(tenant, event));
    return found === null ? { result: "not_found" } : this.#withdraw.erase(found, now);
  }
}

const NOBODY: readonly EndpointEntry[] = [];
const NO_LIMITS: ReadonlyMap<string, Backlog> = new Map();
const FIRST = { number: 1, round: 1, retry: 0, fresh: true } as const;

type EventRow = [
  key: number,
  random: string,
  tenant: number,
  type: number,
  createdAt: number,
  test: number,
  unmatched: number,
  choice: number,
  trace: string | null,
  bodyHash: Uint8Array,
  body: Uint8Array,
  large: number | null,
];

type KeyedEventRow = [...EventRow, orderingKey: string];
type DeliveryRow = [event: number, endpoint: number, status: number, trigger: number, dueAt: number | null];
type DueRow = [event: number, endpoint: number, status: number, trigger: number, dueAt: number];
type OrderedRow = [...DueRow, orderingKey: number, sequence: number];

type Place = ReturnType<Lines["enter"]>;

const EVENT = "key, random, tenant, type, created_at, test, unmatched, choice, trace, body_hash, body, large";
const DELIVERY = "event, endpoint, status, attempts, round, retry, trigger, due_at";

/** Writes an event and its deliveries in one transaction. */
class Publish {
  readonly #index: EndpointIndex;
  readonly #idempotency: IdempotencyKeys;
  readonly #db: Engine["db"];
  readonly #limitOf: (tenant: string) => number;
  /** Null while no tenant that publishes has a limit. */
  #pending: Pending | null = null;
  readonly #manual: ManualAttempts;
  readonly #fresh: FreshMark;
  readonly #labels: Labels;
  readonly #large: LargeData;
  readonly #choices: Choices;
  readonly keys: Keys;
  readonly #random: RandomChars;
  readonly #events: RowBatch<EventRow>;
  readonly #deliveries: RowBatch<DeliveryRow>;
  /** Apart from the others, which do not pay for their columns. */
  readonly #keyedEvents: RowBatch<KeyedEventRow>;
  readonly #ordered: RowBatch<OrderedRow>;
  readonly #lines: Lines;

  constructor(engine: Engine, parts: Parts) {
    const { db, random } = engine;
    this.#index = parts.index;
    this.#idempotency = parts.idempotency;
    this.#db = db;
    this.#limitOf = (tenant) => parts.shares.get(tenant)?.maxPending ?? parts.maxPendingPerTenant;
    this.#manual = parts.manual;
    this.#fresh = parts.fresh;
    this.#labels = parts.labels;
    this.#large = parts.large;
    this.#choices = parts.choices;
    this.#lines = parts.lines;
    const { clock } = engine;
    this.keys = engine.mirror(new Keys({ db, clock, kind: OF_EVENTS, last: parts.fresh.lastEvent }));
    this.#random = new RandomChars(random);
    this.#events = engine.mirror(
      new RowBatch(db, `INSERT INTO event (${EVENT})`, "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    );
    this.#keyedEvents = engine.mirror(
      new RowBatch(db, `INSERT INTO event (${EVENT}, ordering_key)`, "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    );
    this.#deliveries = engine.mirror(
      new RowBatch(db, `INSERT INTO delivery (${DELIVERY})`, "(?, ?, ?, 0, 1, 0, ?, ?)"),
    );
    this.#ordered = engine.mirror(
      new RowBatch(db, `INSERT INTO delivery (${DELIVERY}, ordering_key, sequence)`, "(?, ?, ?, 0, 1, 0, ?, ?, ?, ?)"),
    );
  }

  /**
   * Starts to count pending deliveries when the first tenant with a limit publishes. Do not call it inside a
   * transaction.
   */
  limit(drafts: readonly EventDraft[]): void {
    if (this.#pending !== null || !drafts.some(({ tenant }) => this.#limitOf(tenant) > 0)) return;
    this.#pending = new Pending(this.#db);
  }

  flushRows(): void {
    for (const rows of [this.#events, this.#keyedEvents, this.#deliveries, this.#ordered]) rows.flush();
  }

  /** Returns what each draft becomes, or why the publish is refused. Call it inside a transaction. */
  route(drafts: readonly EventDraft[], now: number): readonly Routed<EndpointEntry, Publication>[] | WebhookdError {
    // Deliveries written earlier in the transaction count too.
    if (this.#pending !== null) {
      this.#deliveries.flush();
      this.#ordered.flush();
    }
    const isKeyed = drafts.some(({ idempotency }) => idempotency !== undefined);
    const remembered = isKeyed ? this.#idempotency.remembered(drafts, now) : null;
    const recipients = drafts.map((draft, at) =>
      (remembered?.[at] ?? null) === null ? this.#recipients(draft) : NOBODY,
    );
    const backlogs = this.#pending === null ? NO_LIMITS : this.#backlogs(this.#pending, drafts);
    return route(drafts, { recipients, remembered, backlogs });
  }

  /** Returns a refusal instead of throwing it, because that would undo the work of others in the transaction. */
  publish(
    drafts: readonly EventDraft[],
    now: number,
    capacity: Capacity,
    batch: LargeBatch | null,
  ): Publication[] | WebhookdError {
    const routed = this.route(drafts, now);
    if (routed instanceof WebhookdError) return routed;
    const rows = batch?.rows ?? [];
    if (batch !== null) {
      const left = rows.filter((row, at) => row !== undefined && "repeats" in routed[at]!);
      this.#large.refer(batch, left as DataRow[]);
    }
    const publications: Publication[] = [];
    for (const [at, draft] of drafts.entries()) {
      const one = routed[at]!;
      if ("recipients" in one) {
        const publication = this.#publish(draft, one.recipients, now, capacity, rows[at]);
        const { tenant, idempotency } = draft;
        if (idempotency !== undefined) this.#idempotency.published({ ...idempotency, tenant }, publication);
        publications.push(publication);
      } else if (typeof one.repeats === "number") {
        publications.push({ ...publications[one.repeats]!, fresh: [], waiting: [], duplicate: true });
      } else {
        publications.push(one.repeats);
      }
    }
    return publications;
  }

  #recipients({ tenant, type, testFor }: EventDraft): readonly EndpointEntry[] {
    if (testFor === undefined) return this.#index.route(tenant, type).recipients;
    const endpoint = this.#index.byId(testFor);
    return endpoint === undefined || endpoint.deleted ? NOBODY : [endpoint];
  }

  #backlogs(pending: Pending, drafts: readonly EventDraft[]): ReadonlyMap<string, Backlog> {
    const backlogs = new Map<string, Backlog>();
    for (const { tenant, type } of drafts) {
      const limit = backlogs.has(tenant) ? 0 : this.#limitOf(tenant);
      if (limit > 0) backlogs.set(tenant, { pending: pending.of(this.#index.route(tenant, type).tenant), limit });
    }
    return backlogs;
  }

  #publish(
    draft: EventDraft,
    endpoints: readonly EndpointEntry[],
    now: number,
    capacity: Capacity,
    row: DataRow | undefined,
  ): Publication {
    const { type, createdAt, testFor, trace } = draft;
    const route = this.#index.route(draft.tenant, type);
    const key = this.keys.next(now);
    const random = this.#random.next();
    const event = eventId(key, random);
    const test = testFor !== undefined;
    const [tenant, typeNumber, testing, lost] = [route.tenant, route.type, +test, +(endpoints.length === 0)];
    const head = row === undefined ? null : headOf(event, type, createdAt);
    let body = head === null ? envelope(event, type, createdAt, draft.data) : null;
    const hash = head === null ? bodyHash(body!) : hashOf(head, row!.hash);
    const [stored, large] = [head ?? body!, row?.num ?? null];
    const choice = this.#choices.last;
    const traced = traceText(trace);
    if (draft.orderingKey === undefined) {
      this.#events.add(key, random, tenant, typeNumber, createdAt, testing, lost, choice, traced, hash, stored, large);
    } else {
      const names = [key, random, tenant, typeNumber] as const;
      const { orderingKey } = draft;
      this.#keyedEvents.add(...names, createdAt, testing, lost, choice, traced, hash, stored, large, orderingKey);
    }
    if (draft.labels !== undefined) this.#labels.add(key, tenant, draft.labels);
    const [fresh, waiting]: [Claim[], Waiting[]] = [[], []];
    const trigger: Trigger = test ? "test" : "ladder";
    const code = triggerCode(trigger);
    for (const endpoint of endpoints) {
      if (isShadowed(endpoint, test)) {
        this.#deliveries.add(key, endpoint.number, SHADOWED, code, null);
        this.#fresh.settled(key, endpoint.number);
        continue;
      }
      const ordered = this.#orderOf(endpoint, draft.orderingKey, key);
      const isBehind = ordered?.isBehind === true;
      const isFresh = !isBehind && startsAtOnce(endpoint, test, capacity);
      const status = isFresh ? FRESH : WAITING;
      if (ordered === null) this.#deliveries.add(key, endpoint.number, status, code, now);
      else this.#addOrdered([key, endpoint.number, status, code, now], ordered);
      if (isBehind) continue;
      // Nobody would read this delivery after a crash. A requested attempt is made anyway.
      if (test && !endpoint.enabled) this.#manual.add(key, endpoint.number, true);
      if (!isFresh) {
        waiting.push({ endpoint: endpoint.id, event, dueAt: now });
        continue;
      }
      const delivery = deliveryId(event, endpoint.number);
      body ??= envelope(event, type, createdAt, draft.data);
      const claim = { ...FIRST, event, delivery, endpoint: endpoint.id, body, trace, trigger, dueAt: now };
      fresh.push(ordered === null ? claim : { ...claim, ordered: { key: ordered.key, sequence: ordered.sequence } });
    }
    if (endpoints.length > 0) this.#fresh.written(key, endpoints.length);
    return { id: event, type, createdAt, deliveries: endpoints.length, fresh, waiting, duplicate: false };
  }

  #addOrdered([event, endpoint, status, trigger, now]: DueRow, { key, sequence, isBehind }: Place): void {
    this.#ordered.add(event, endpoint, status, trigger, isBehind ? now + BEHIND : now, key, sequence);
  }

  /** Null unless the endpoint gets the events of this key in order. */
  #orderOf(endpoint: EndpointEntry, orderingKey: string | undefined, event: number): Place | null {
    return isInOrder(endpoint, orderingKey) ? this.#lines.enter(endpoint, orderingKey, event) : null;
  }
}
