/** Writes events and their deliveries. A batch of requests reads once, decides, and writes once. */
import { OF_EVENTS } from "../../rows/key-times.ts";
import type { Trigger } from "../../../domain/deliveries/attempt.ts";
import type { Claim } from "../../../domain/deliveries/delivery.ts";
import { isInOrder, type Ordering } from "../../../domain/deliveries/ordering.ts";
import type { WhenDisabled } from "../../../domain/endpoints/endpoint.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import { envelope, type EventDraft } from "../../../domain/events/event.ts";
import { CompiledFilters } from "../../../domain/events/filter/compiled.ts";
import type { Filter } from "../../../domain/events/filter/filter.ts";
import { namesThatMatch } from "../../../domain/events/pattern.ts";
import {
  type Backlog,
  type Capacity,
  countByTenant,
  isShadowed,
  recipientsOf,
  type Remembered,
  route,
  startsAtOnce,
} from "../../../domain/events/routing.ts";
import type { TenantShares } from "../../../domain/time/timetable.ts";
import type { Publication, Waiting } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { LAST_SEEN } from "../endpoints/choices.ts";
import { addNames, KEPT } from "../endpoints/endpoint-rows.ts";
import type { Engine } from "../engine/engine.ts";
import { nameOf, type IdempotencyKeys } from "../callers/idempotency.ts";
import type { Lines } from "../ordering/lines.ts";
import { EventRows } from "./event-rows.ts";
import {
  bodyHash,
  deliveryId,
  eventId,
  FRESH,
  RandomChars,
  SHADOWED,
  traceText,
  triggerCode,
  WAITING,
} from "../../rows/codes.ts";
import { countIn, type Pending } from "../deliveries/pending.ts";

/** Publishers may use any number of tenants, so the cache is cleared at this size. */
const MAX_REMEMBERED = 50_000;

export interface Request {
  readonly drafts: readonly EventDraft[];
  readonly now: number;
  readonly capacity: Capacity;
}

interface Recipient {
  readonly number: number;
  readonly slot: number;
  readonly tenant: string;
  readonly id: string;
  readonly enabled: boolean;
  readonly whenDisabled: WhenDisabled;
  readonly filter: Filter | null;
  readonly cancelTo: number | null;
  readonly ordering: Ordering;
}

type RecipientRow = Omit<Recipient, "filter"> & { readonly filter: string | null };

/** The row that has the number of the last change. */
interface LastChoice {
  readonly route: null;
  readonly number: number;
}

/** The facts that a batch reads before it writes. */
interface Known {
  /** The last change of an endpoint that the recipients take into account. */
  readonly choice: number;
  /** Keyed by tenant and type. */
  readonly recipients: ReadonlyMap<string, readonly Recipient[]>;
  readonly tested: ReadonlyMap<string, Recipient>;
  readonly keys: Awaited<ReturnType<IdempotencyKeys["known"]>>;
  /** The backlog of each tenant that has a limit. */
  readonly backlogs: Map<string, Backlog>;
}

interface Parts {
  readonly idempotency: IdempotencyKeys;
  readonly lines: Lines;
  readonly pending: Pending;
  readonly shares: TenantShares;
  /** 0 means no limit. */
  readonly maxPendingPerTenant: number;
}

/** Writes events and their deliveries in one transaction. */
export class Publish {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #random: RandomChars;
  readonly #filters = new CompiledFilters();
  /** Tenants and types whose names are known to be stored. */
  readonly #names = new Set<string>();

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#random = new RandomChars(engine.random);
  }

  /** Called after the commit. The names need not be written again. */
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

  /** Returns each request's publications, or why it is refused as a whole. */
  async all(tx: Queries, requests: readonly Request[]): Promise<(Publication[] | WebhookdError)[]> {
    const slowing = this.#engine.slowDown(tx, OF_EVENTS, Math.max(...requests.map((request) => request.now)));
    if (slowing !== null) await slowing;
    const known = await this.#look(tx, requests);
    const rows = new EventRows();
    const results = requests.map((request) => this.#publish(request, known, rows));
    const names = this.#unwritten(requests.flatMap((request) => request.drafts));
    const { now } = requests[0]!;
    const { newcomers } = rows;
    if (newcomers.length > 0) await this.#writeInOrder(tx, rows, now);
    await Promise.all([
      newcomers.length === 0 && rows.write(tx),
      this.#parts.pending.change(tx, rows.pending),
      rows.foreign.waiting.length > 0 && this.#engine.owner.notify(tx, rows.foreign),
      this.#parts.idempotency.write(tx, rows.remembered, now),
      addNames(tx, names.tenants, names.types, () => this.#engine.numbers.next(now)),
    ]);
    return results;
  }

  async #writeInOrder(tx: Queries, rows: EventRows, now: number): Promise<void> {
    const { newcomers } = rows;
    const places = await this.#parts.lines.enter(tx, newcomers, now);
    for (const [at, { stand }] of newcomers.entries()) stand(places[at]!);
    await rows.write(tx);
  }

  async #look(tx: Queries, requests: readonly Request[]): Promise<Known> {
    const drafts = requests.flatMap((request) => request.drafts);
    const routes = new Map(drafts.map((draft) => [routeOf(draft), draft]));
    const keyed = drafts.flatMap(({ tenant, idempotency }) =>
      idempotency === undefined ? [] : [{ tenant, key: idempotency.key }],
    );
    const tests = drafts.flatMap(({ testFor }) => testFor ?? []);
    const limited = [...new Set(drafts.map(({ tenant }) => tenant))].filter((tenant) => this.#limitOf(tenant) > 0);
    const columns = `e.number, e.slot, e.tenant, e.id, e.enabled = 1 AS enabled, e.when_disabled AS "whenDisabled",
      e.filter, e.cancel_to AS "cancelTo", e.ordering`;
    const named = [...routes].flatMap(([route, { tenant, type }]) =>
      namesThatMatch(type).map((name) => ({ route, tenant, name })),
    );
    const kept = this.#engine.owner.owns === null ? "" : KEPT;
    const [found, tested, keys, pending] = await Promise.all([
      // One statement, because only then the last change is that of the recipients. Its row has no route.
      tx.rows<(RecipientRow & { route: string }) | LastChoice>(
        `SELECT * FROM (
           SELECT r.route, ${columns}
           FROM unnest($1::text[], $2::text[], $3::text[]) AS r (route, tenant, name)
           JOIN subscription s ON s.tenant = r.tenant AND s.type = r.name
           JOIN endpoint e ON e.number = s.endpoint
           WHERE e.deleted_at IS NULL ${kept}) AS found
         UNION ALL SELECT NULL, ${LAST_SEEN}, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL ORDER BY number`,
        [named.map(({ route }) => route), named.map(({ tenant }) => tenant), named.map(({ name }) => name)],
      ),
      tests.length === 0
        ? []
        : tx.rows<RecipientRow>(
            `SELECT ${columns} FROM endpoint e WHERE e.id = ANY($1::text[]) AND e.deleted_at IS NULL ${kept}`,
            [tests],
          ),
      keyed.length === 0 ? new Map() : this.#parts.idempotency.known(tx, keyed),
      this.#parts.pending.of(tx, limited),
    ]);
    const subscribers = [...Map.groupBy(found.filter(isRecipient), (each) => each.route)];
    return {
      choice: found.find((row) => row.route === null)!.number,
      recipients: new Map(subscribers.map(([name, some]) => [name, recipientsOf(onceEach(some).map(this.#compiled))])),
      tested: new Map(tested.map((one) => [one.id, this.#compiled(one)])),
      keys,
      backlogs: new Map(
        limited.map((tenant) => [tenant, { pending: pending.get(tenant) ?? 0, limit: this.#limitOf(tenant) }]),
      ),
    };
  }

  /** Copies only rows with a filter, because a publish may have thousands of recipients. */
  readonly #compiled = (row: RecipientRow): Recipient =>
    row.filter === null ? (row as Recipient & { filter: null }) : { ...row, filter: this.#filters.of(row.filter) };

  /** Adds to the rows, or refuses the request as a whole and adds nothing. */
  #publish(request: Request, known: Known, rows: EventRows): Publication[] | WebhookdError {
    const { drafts, now } = request;
    const { backlogs } = known;
    const recipients = drafts.map((draft) => recipientsAmong(known, draft));
    const routed = route(drafts, { recipients, remembered: this.#remembered(drafts, now, known, rows), backlogs });
    if (routed instanceof WebhookdError) return routed;
    for (const [tenant, count] of backlogs.size === 0 ? [] : countByTenant(drafts, routed)) {
      const backlog = backlogs.get(tenant);
      if (backlog !== undefined) backlogs.set(tenant, { ...backlog, pending: backlog.pending + count });
    }
    const publications: Publication[] = [];
    for (const [at, draft] of drafts.entries()) {
      const one = routed[at]!;
      if ("recipients" in one) publications.push(this.#add(draft, one.recipients, known.choice, request, rows));
      else if (typeof one.repeats === "number") publications.push(duplicateOf(publications[one.repeats]!));
      else publications.push(one.repeats);
    }
    return publications;
  }

  /** Returns what each draft's key was used for, in committed rows or in rows that this transaction adds. */
  #remembered(drafts: readonly EventDraft[], now: number, known: Known, rows: EventRows) {
    if (!drafts.some(({ idempotency }) => idempotency !== undefined)) return null;
    return drafts.map(({ tenant, idempotency }): Remembered<Publication> | null => {
      if (idempotency === undefined) return null;
      const added = rows.published.get(nameOf({ tenant, key: idempotency.key }));
      if (added !== undefined) {
        const isSame = Buffer.compare(added.fingerprint, idempotency.fingerprint) === 0;
        return isSame ? { isSame, answer: duplicateOf(added.publication) } : { isSame };
      }
      const before = this.#parts.idempotency.remembered(known.keys, { ...idempotency, tenant }, now);
      return before?.isSame === true ? { isSame: true, answer: publicationOf(before.answer) } : before;
    });
  }

  #limitOf(tenant: string): number {
    return this.#parts.shares.get(tenant)?.maxPending ?? this.#parts.maxPendingPerTenant;
  }

  #add(
    draft: EventDraft,
    to: readonly Recipient[],
    choice: number,
    { now, capacity }: Request,
    rows: EventRows,
  ): Publication {
    const { tenant, type, createdAt, testFor, trace } = draft;
    // Deliveries to a recipient may be being cancelled up to a key, which may come from a node whose clock is ahead.
    const key = this.#engine.keys.next(now, Math.max(-1, ...to.map(({ cancelTo }) => cancelTo ?? -1)));
    const random = this.#random.next();
    const id = eventId(key, random);
    const body = envelope(id, type, createdAt, draft.data);
    const isTest = testFor !== undefined;
    const trigger: Trigger = isTest ? "test" : "ladder";
    const [fresh, waiting]: [Claim[], Waiting[]] = [[], []];
    const first = { event: id, body, trace, number: 1, round: 1, retry: 0, trigger, dueAt: now, fresh: true };
    const { orderingKey } = draft;
    for (const endpoint of to) {
      if (isShadowed(endpoint, isTest)) {
        rows.addDelivery([key, endpoint.number, endpoint.slot, SHADOWED, triggerCode(trigger), null]);
        continue;
      }
      // The owner's node finds the waiting delivery.
      const mine = this.#engine.owner.ownsSlot(endpoint.slot);
      const isFresh = mine && startsAtOnce(endpoint, isTest, capacity);
      const row = [key, endpoint.number, endpoint.slot, isFresh ? FRESH : WAITING, triggerCode(trigger), now];
      countIn(rows.pending, endpoint.tenant, 1);
      const delivery = deliveryId(id, endpoint.number);
      if (isInOrder(endpoint, orderingKey)) {
        const claim = isFresh ? { ...first, delivery, endpoint: endpoint.id } : null;
        rows.addNewcomer(
          { row, orderingKey, claim, isForeign: !mine },
          { endpoint: endpoint.id, event: id, dueAt: now },
          { fresh, waiting },
        );
        continue;
      }
      rows.addDelivery(row);
      // Nobody would read this delivery after a crash. A requested attempt is made anyway.
      if (isTest && !endpoint.enabled) rows.requested.push([key, endpoint.number]);
      if (!mine) rows.foreign.waiting.push({ endpoint: endpoint.id, event: id, dueAt: now });
      if (!mine && isTest && !endpoint.enabled) rows.foreign.requested.push({ endpoint: endpoint.id, delivery });
      if (!isFresh) waiting.push({ endpoint: endpoint.id, event: id, dueAt: now, ...(isTest && { isQuiet: true }) });
      else fresh.push({ ...first, delivery, endpoint: endpoint.id });
    }
    const about = [key, random, tenant, type, createdAt, +isTest, +(to.length === 0), choice];
    const columns = orderingKey === undefined ? rows.events : rows.keyedEvents;
    const all = [...about, traceText(trace), bodyHash(body), body, orderingKey];
    columns.forEach((column, at) => column.push(all[at]));
    if (draft.labels !== undefined) rows.addLabels(draft.labels, tenant, key);
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

function isRecipient(row: (RecipientRow & { route: string }) | LastChoice): row is RecipientRow & { route: string } {
  return row.route !== null;
}

/** An endpoint that chose a type by more than one name comes more than once, one after the other. */
function onceEach(subscribers: readonly RecipientRow[]): readonly RecipientRow[] {
  return subscribers.filter(({ number }, at) => number !== subscribers[at - 1]?.number);
}

function recipientsAmong({ recipients, tested }: Known, draft: EventDraft): readonly Recipient[] {
  if (draft.testFor === undefined) return recipients.get(routeOf(draft)) ?? [];
  const endpoint = tested.get(draft.testFor);
  return endpoint === undefined ? [] : [endpoint];
}

function publicationOf(answer: string): Publication {
  const [id, type, createdAt, deliveries] = JSON.parse(answer) as [string, string, number, number];
  return { id, type, createdAt, deliveries, fresh: [], waiting: [], duplicate: true };
}

function duplicateOf(publication: Publication): Publication {
  return { ...publication, fresh: [], waiting: [], duplicate: true };
}
