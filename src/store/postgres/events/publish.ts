/** Events, and what they are owed to: a batch of requests reads once, decides, and writes once. */
import type { Trigger } from "../../../domain/deliveries/attempt.ts";
import type { Claim } from "../../../domain/deliveries/delivery.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import { envelope, type EventDraft, refusedFanOut, refusedPending } from "../../../domain/events/event.ts";
import { IdempotencyMismatch } from "../../../domain/events/idempotency.ts";
import type { TenantShares } from "../../../domain/time/timetable.ts";
import {
  bodyHash,
  deliveryId,
  eventId,
  FRESH,
  RandomChars,
  traceText,
  triggerCode,
  WAITING,
} from "../../sqlite/numbers/codes.ts";
import { labelRows } from "../../sqlite/attempts/labels.ts";
import type { HasRoom, Publication, Waiting } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { addNames, KEPT } from "../endpoints/endpoint-rows.ts";
import type { Engine } from "../engine/engine.ts";
import { nameOf, type IdempotencyKeys } from "../callers/idempotency.ts";
import { EventRows } from "./event-rows.ts";

/** Publishers may name as many tenants as they like; past this many the memory of them starts anew. */
const MAX_REMEMBERED = 50_000;

export interface Request {
  readonly drafts: readonly EventDraft[];
  readonly now: number;
  readonly hasRoom: HasRoom;
}

interface Recipient {
  readonly number: number;
  readonly slot: number;
  readonly id: string;
  readonly enabled: number;
  readonly when_disabled: "hold" | "skip";
  readonly cancel_to: number | null;
}

/** What a batch reads before it writes. */
interface Known {
  readonly routes: ReadonlyMap<string, readonly Recipient[]>;
  readonly tested: ReadonlyMap<string, Recipient>;
  readonly keys: Awaited<ReturnType<IdempotencyKeys["known"]>>;
  /** Of each tenant that has a limit. */
  readonly pending: Map<string, number>;
}

interface Parts {
  readonly idempotency: IdempotencyKeys;
  readonly shares: TenantShares;
  /** 0: no limit. */
  readonly maxPendingPerTenant: number;
}

/** Events, and what they are owed to, in one transaction. */
export class Publish {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #random: RandomChars;
  /** Tenants and types that are known to be written. */
  readonly #names = new Set<string>();

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#random = new RandomChars(engine.random);
  }

  /** After their commit: their names need not be written again. */
  published(drafts: readonly EventDraft[]): void {
    if (this.#names.size >= MAX_REMEMBERED) this.#names.clear();
    for (const draft of drafts) this.#names.add(routeOf(draft));
  }

  #unwritten(drafts: readonly EventDraft[]): { readonly tenants: string[]; readonly types: string[] } {
    const some = drafts.filter((draft) => !this.#names.has(routeOf(draft)));
    return {
      tenants: [...new Set(some.map(({ tenant }) => tenant))],
      types: [...new Set(some.map(({ type }) => type))],
    };
  }

  /** For each request its publications, or why it is refused as a whole. */
  async all(tx: Queries, requests: readonly Request[]): Promise<(Publication[] | WebhookdError)[]> {
    const known = await this.#look(tx, requests);
    const rows = new EventRows();
    const results = requests.map((request) => this.#publish(request, known, rows));
    const names = this.#unwritten(requests.flatMap((request) => request.drafts));
    const { now } = requests[0]!;
    await Promise.all([
      rows.write(tx),
      rows.foreign.waiting.length > 0 && this.#engine.owner.tell(tx, rows.foreign),
      this.#parts.idempotency.write(tx, rows.remembered, now),
      addNames(tx, names.tenants, names.types, () => this.#engine.numbers.next(now)),
    ]);
    return results;
  }

  async #look(tx: Queries, requests: readonly Request[]): Promise<Known> {
    const drafts = requests.flatMap((request) => request.drafts);
    const routes = new Map(drafts.map((draft) => [routeOf(draft), draft]));
    const keyed = drafts.flatMap(({ tenant, idempotency }) =>
      idempotency === undefined ? [] : [{ tenant, key: idempotency.key }],
    );
    const tests = drafts.flatMap(({ testFor }) => testFor ?? []);
    const limited = [...new Set(drafts.map(({ tenant }) => tenant))].filter((tenant) => this.#limitOf(tenant) > 0);
    const columns = "e.number, e.slot, e.id, e.enabled, e.when_disabled, e.cancel_to";
    const kept = this.#engine.owner.owns === null ? "" : KEPT;
    const [found, tested, keys, pending] = await Promise.all([
      tx.rows<Recipient & { route: string }>(
        `SELECT r.tenant || ' ' || r.type AS route, ${columns}
         FROM unnest($1::text[], $2::text[]) AS r (tenant, type)
         JOIN subscription s ON s.tenant = r.tenant AND s.type = r.type
         JOIN endpoint e ON e.number = s.endpoint
         WHERE e.deleted_at IS NULL ORDER BY e.number ${kept}`,
        [[...routes.values()].map(({ tenant }) => tenant), [...routes.values()].map(({ type }) => type)],
      ),
      tests.length === 0
        ? []
        : tx.rows<Recipient>(
            `SELECT ${columns} FROM endpoint e WHERE e.id = ANY($1::text[]) AND e.deleted_at IS NULL ${kept}`,
            [tests],
          ),
      keyed.length === 0 ? new Map() : this.#parts.idempotency.known(tx, keyed),
      limited.length === 0
        ? []
        : tx.rows<{ tenant: string; pending: number }>(
            `SELECT e.tenant, count(*) AS pending FROM endpoint e JOIN delivery d ON d.endpoint = e.number
             WHERE e.tenant = ANY($1::text[]) AND d.status <= ${WAITING} GROUP BY e.tenant`,
            [limited],
          ),
    ]);
    return {
      routes: Map.groupBy(found, ({ route }) => route),
      tested: new Map(tested.map((one) => [one.id, one])),
      keys,
      pending: new Map([
        ...limited.map((tenant) => [tenant, 0] as const),
        ...pending.map((row) => [row.tenant, row.pending] as const),
      ]),
    };
  }

  /** Adds to the rows, or refuses the request as a whole and adds nothing. */
  #publish({ drafts, now, hasRoom }: Request, known: Known, rows: EventRows): Publication[] | WebhookdError {
    const repeats = this.#repeats(drafts, now, known, rows);
    if (repeats instanceof WebhookdError) return repeats;
    const counts = new Map<string, number>();
    let deliveries = 0;
    for (const [at, draft] of drafts.entries()) {
      if (repeats[at] !== null) continue;
      const count = recipients(draft, known).length;
      deliveries += count;
      if (draft.testFor === undefined) counts.set(draft.tenant, (counts.get(draft.tenant) ?? 0) + count);
    }
    const tooLarge = refusedFanOut(deliveries);
    if (tooLarge !== null) return tooLarge;
    for (const [tenant, count] of counts) {
      const pending = known.pending.get(tenant) ?? 0;
      const refusal = refusedPending(tenant, { pending, deliveries: count, limit: this.#limitOf(tenant) });
      if (refusal !== null) return refusal;
    }
    for (const [tenant, count] of counts) {
      const pending = known.pending.get(tenant);
      if (pending !== undefined) known.pending.set(tenant, pending + count);
    }
    const publications: Publication[] = [];
    for (const [at, draft] of drafts.entries()) {
      const repeated = repeats[at]!;
      if (repeated === null) publications.push(this.#add(draft, now, hasRoom, known, rows));
      else if (typeof repeated !== "number") publications.push(repeated);
      else publications.push({ ...publications[repeated]!, fresh: [], waiting: [], duplicate: true });
    }
    return publications;
  }

  /** For each draft what it repeats: a publication of before, or the draft at that place of the same request. */
  #repeats(drafts: readonly EventDraft[], now: number, known: Known, rows: EventRows) {
    const seen = new Map<string, { at: number; fingerprint: Uint8Array }>();
    const repeats: (Publication | number | null)[] = [];
    for (const [at, { tenant, idempotency }] of drafts.entries()) {
      if (idempotency === undefined) {
        repeats.push(null);
        continue;
      }
      const { fingerprint } = idempotency;
      const name = nameOf({ tenant, key: idempotency.key });
      const before = seen.get(name) ?? rows.published.get(name);
      if (before !== undefined) {
        if (Buffer.compare(before.fingerprint, fingerprint) !== 0) return new IdempotencyMismatch(at);
        repeats.push("at" in before ? before.at : duplicateOf(before.publication));
        continue;
      }
      const answer = this.#parts.idempotency.answerOf(known.keys, { ...idempotency, tenant }, now);
      if (answer instanceof IdempotencyMismatch) return new IdempotencyMismatch(at);
      if (answer === null) seen.set(name, { at, fingerprint });
      repeats.push(answer === null ? null : publicationOf(answer));
    }
    return repeats;
  }

  #limitOf(tenant: string): number {
    return this.#parts.shares.get(tenant)?.maxPending ?? this.#parts.maxPendingPerTenant;
  }

  #add(draft: EventDraft, now: number, hasRoom: HasRoom, known: Known, rows: EventRows): Publication {
    const { tenant, type, createdAt, testFor, trace } = draft;
    const to = recipients(draft, known);
    // What is being cancelled of a recipient goes up to a key, perhaps of a node whose clock is ahead.
    const key = this.#engine.keys.next(now, Math.max(-1, ...to.map(({ cancel_to: upTo }) => upTo ?? -1)));
    const random = this.#random.next();
    const id = eventId(key, random);
    const body = envelope(id, type, createdAt, draft.data);
    const isTest = testFor !== undefined;
    const trigger: Trigger = isTest ? "test" : "ladder";
    const fresh: Claim[] = [];
    const waiting: Waiting[] = [];
    const first = { event: id, body, trace, number: 1, round: 1, retry: 0, trigger, dueAt: now, fresh: true };
    for (const endpoint of to) {
      // Its own node finds what waits. Someone waits for a test's answer, and a disabled endpoint's queue is not read.
      const mine = this.#engine.owner.ownsSlot(endpoint.slot);
      const isFresh = mine && (isTest || (endpoint.enabled === 1 && hasRoom(endpoint.id)));
      const row = [key, endpoint.number, endpoint.slot, isFresh ? FRESH : WAITING, triggerCode(trigger), now];
      row.forEach((value, at) => rows.deliveries[at]!.push(value));
      // After a crash nobody would read it there either: as an attempt that was asked for it is made all the same.
      if (isTest && endpoint.enabled === 0) rows.owed.push([key, endpoint.number]);
      if (!mine) rows.foreign.waiting.push({ endpoint: endpoint.id, event: id, dueAt: now });
      if (!mine && isTest && endpoint.enabled === 0) {
        rows.foreign.requested.push({ endpoint: endpoint.id, delivery: deliveryId(id, endpoint.number) });
      }
      if (!isFresh) waiting.push({ endpoint: endpoint.id, event: id, dueAt: now, ...(isTest && { isQuiet: true }) });
      else fresh.push({ ...first, delivery: deliveryId(id, endpoint.number), endpoint: endpoint.id });
    }
    const row = [key, random, tenant, type, createdAt, +isTest, +(to.length === 0), traceText(trace), bodyHash(body)];
    [...row, body].forEach((value, at) => rows.events[at]!.push(value));
    for (const { kind, label } of draft.labels === undefined ? [] : labelRows(draft.labels)) {
      [kind, label, tenant, key].forEach((value, at) => rows.labels[at]!.push(value));
    }
    const publication = { id, type, createdAt, deliveries: to.length, fresh, waiting, duplicate: false };
    if (draft.idempotency !== undefined) {
      const text = JSON.stringify([id, type, createdAt, to.length]);
      const remembered = { ...draft.idempotency, tenant, text };
      rows.remembered.push(remembered);
      rows.published.set(nameOf(remembered), { fingerprint: remembered.fingerprint, publication });
    }
    return publication;
  }
}

function routeOf({ tenant, type }: EventDraft): string {
  return `${tenant} ${type}`;
}

function recipients(draft: EventDraft, known: Known): readonly Recipient[] {
  if (draft.testFor !== undefined) {
    const endpoint = known.tested.get(draft.testFor);
    return endpoint === undefined ? [] : [endpoint];
  }
  const route = known.routes.get(routeOf(draft)) ?? [];
  return route.filter(({ enabled, when_disabled: when }) => enabled === 1 || when === "hold");
}

function publicationOf(answer: string): Publication {
  const [id, type, createdAt, deliveries] = JSON.parse(answer) as [string, string, number, number];
  return { id, type, createdAt, deliveries, fresh: [], waiting: [], duplicate: true };
}

function duplicateOf(publication: Publication): Publication {
  return { ...publication, fresh: [], waiting: [], duplicate: true };
}
