/** An event, and what it is owed to, in one transaction. */
import type { Statement } from "better-sqlite3";
import type { Trigger } from "../../../domain/deliveries/attempt.ts";
import type { Claim } from "../../../domain/deliveries/delivery.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import { envelope, type EventDraft, type TraceContext } from "../../../domain/events/event.ts";
import type { HasRoom, Publication, Waiting } from "../../store.ts";
import { bodyHash, FRESH, traceText, triggerCode, WAITING } from "../numbers/codes.ts";
import type { Engine } from "../engine/engine.ts";
import type { EndpointEntry, EndpointIndex, Route } from "../numbers/endpoint-index.ts";
import type { IdempotencyKeys, Repeated } from "../callers/idempotency.ts";
import { deliveryId, eventId, EventKeys, RandomChars } from "../numbers/ids.ts";
import type { ManualAttempts } from "../claims/manual-attempts.ts";
import { Pending } from "./pending.ts";

type EventRow = [
  key: number,
  random: string,
  tenant: number,
  type: number,
  createdAt: number,
  test: number,
  unmatched: number,
  trace: string | null,
  bodyHash: Uint8Array,
  body: Uint8Array,
];

type DeliveryRow = [event: number, endpoint: number, status: number, trigger: number, dueAt: number];

interface Parts {
  readonly index: EndpointIndex;
  readonly idempotency: IdempotencyKeys;
  readonly manual: ManualAttempts;
  /** 0: no limit. */
  readonly maxPendingPerTenant: number;
}

export class Publish {
  readonly #index: EndpointIndex;
  readonly #idempotency: IdempotencyKeys;
  /** Null where no limit is set. */
  readonly #pending: Pending | null;
  readonly #manual: ManualAttempts;
  readonly #keys: EventKeys;
  readonly #random: RandomChars;
  readonly #insertEvent: Statement<EventRow>;
  readonly #insertDelivery: Statement<DeliveryRow>;

  constructor({ db, random }: Engine, parts: Parts) {
    this.#index = parts.index;
    this.#idempotency = parts.idempotency;
    this.#pending = parts.maxPendingPerTenant > 0 ? new Pending(db, parts.maxPendingPerTenant) : null;
    this.#manual = parts.manual;
    this.#keys = new EventKeys(db.prepare<[], number | null>("SELECT max(key) FROM event").pluck().get() ?? 0);
    this.#random = new RandomChars(random);
    this.#insertEvent = db.prepare(
      `INSERT INTO event (key, random, tenant, type, created_at, test, unmatched, trace, body_hash, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertDelivery = db.prepare(
      `INSERT INTO delivery (event, endpoint, status, attempts, round, retry, trigger, due_at)
       VALUES (?, ?, ?, 0, 1, 0, ?, ?)`,
    );
  }

  /** A refusal is answered, not thrown: it must not undo the work of others in the transaction. */
  publish(drafts: readonly EventDraft[], now: number, hasRoom: HasRoom): Publication[] | WebhookdError {
    const repeats = drafts.some(isKeyed) ? this.#idempotency.repeats(drafts, now) : null;
    if (repeats instanceof WebhookdError) return repeats;
    const refusal = this.#pending === null ? null : this.#tooMany(this.#pending, drafts, repeats);
    if (refusal !== null) return refusal;
    if (repeats === null) return drafts.map((draft) => this.#publish(draft, now, hasRoom));
    const publications: Publication[] = [];
    for (const [at, draft] of drafts.entries()) {
      const repeated = repeats[at] ?? null;
      if (repeated === null) {
        const publication = this.#publish(draft, now, hasRoom);
        this.#idempotency.published(draft, publication);
        publications.push(publication);
      } else if (typeof repeated === "number") {
        publications.push({ ...publications[repeated]!, fresh: [], waiting: [], duplicate: true });
      } else {
        publications.push(repeated);
      }
    }
    return publications;
  }

  /** Tests are one delivery each, and somebody waits for them. */
  #tooMany(pending: Pending, drafts: readonly EventDraft[], repeats: Repeated[] | null): WebhookdError | null {
    const added = new Map<number, number>();
    for (const [at, { tenant, type, testFor }] of drafts.entries()) {
      if (testFor !== undefined || (repeats?.[at] ?? null) !== null) continue;
      const route = this.#index.route(tenant, type);
      added.set(route.tenant, (added.get(route.tenant) ?? 0) + this.#recipients(route, undefined).length);
    }
    for (const [tenant, deliveries] of added) {
      const refusal = pending.refusal(tenant, deliveries);
      if (refusal !== null) return refusal;
    }
    return null;
  }

  #publish(draft: EventDraft, now: number, hasRoom: HasRoom): Publication {
    const { type, createdAt, testFor, trace } = draft;
    const route = this.#index.route(draft.tenant, type);
    const endpoints = this.#recipients(route, testFor);
    const key = this.#keys.next(now);
    const random = this.#random.next();
    const event = eventId(key, random);
    const body = envelope(event, type, createdAt, draft.data);
    const test = testFor !== undefined;
    const unmatched = endpoints.length === 0;
    const [tenant, typeNumber, testing, lost] = [route.tenant, route.type, test ? 1 : 0, unmatched ? 1 : 0];
    this.#insertEvent.run(
      key,
      random,
      tenant,
      typeNumber,
      createdAt,
      testing,
      lost,
      traceText(trace),
      bodyHash(body),
      body,
    );
    const fresh: Claim[] = [];
    const waiting: Waiting[] = [];
    const trigger: Trigger = test ? "test" : "ladder";
    for (const endpoint of endpoints) {
      // Someone waits for a test's answer, and a disabled endpoint's queue is not read.
      const isFresh = test || (endpoint.enabled && hasRoom(endpoint.id));
      this.#insertDelivery.run(key, endpoint.number, isFresh ? FRESH : WAITING, triggerCode(trigger), now);
      // After a crash nobody would read it there either: as an attempt that was asked for it is made all the same.
      if (test && !endpoint.enabled) this.#manual.owe(key, endpoint.number, true);
      if (isFresh) fresh.push(firstClaim(event, endpoint, body, trigger, now, trace));
      else waiting.push({ endpoint: endpoint.id, event, dueAt: now });
    }
    return { id: event, type, createdAt, deliveries: endpoints.length, fresh, waiting, duplicate: false };
  }

  #recipients(route: Route, testFor: string | undefined): readonly EndpointEntry[] {
    if (testFor !== undefined) {
      const endpoint = this.#index.byId(testFor);
      return endpoint === undefined || endpoint.deleted ? [] : [endpoint];
    }
    return route.endpoints.filter((endpoint) => endpoint.enabled || endpoint.whenDisabled === "hold");
  }
}

function isKeyed({ idempotency }: EventDraft): boolean {
  return idempotency !== undefined;
}

function firstClaim(
  event: string,
  endpoint: EndpointEntry,
  body: Buffer,
  trigger: Trigger,
  now: number,
  trace: TraceContext | undefined,
): Claim {
  return {
    event,
    delivery: deliveryId(event, endpoint.number),
    endpoint: endpoint.id,
    body,
    trace,
    number: 1,
    round: 1,
    retry: 0,
    trigger,
    dueAt: now,
    fresh: true,
  };
}
