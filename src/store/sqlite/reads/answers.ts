/** Answers the questions of a reader from one connection, on the writer's thread or on the reader's own. */
import type { Database, Statement } from "better-sqlite3";
import type {
  DataFilter,
  EventView,
  JobPlan,
  JobSet,
  Page,
  PageQuery,
  TenantQuery,
  TenantSummary,
} from "../../store.ts";
import { pageOfTenants } from "../../lists/tenants.ts";
import { Attempts } from "../attempts/attempts.ts";
import { Responses } from "../attempts/responses.ts";
import { Sources } from "../lists/sources.ts";
import { AuditList } from "../callers/audit.ts";
import { Deliveries } from "../deliveries/deliveries.ts";
import { Meta } from "../engine/meta.ts";
import { CHUNK } from "../engine/group-commit.ts";
import { type TenantDialect, tenantList, type TenantRow } from "../../lists/tenants.ts";
import { pageOf, pageOfSome, type Reading, type Walk, walkOf } from "../engine/page.ts";
import { Statements } from "../engine/statements.ts";
import { Events } from "../events/events.ts";
import { DataSearch } from "../lists/data-search.ts";
import { Labels } from "../lists/labels.ts";
import { JobSelection, type Selection } from "../jobs/job-selection.ts";
import { EndpointIndex } from "../numbers/endpoint-index.ts";
import { HeldKeys } from "../ordering/held-keys.ts";
import type { Answers, Selected } from "../questions/questions.ts";
import { PlanTally } from "../../rows/job-row.ts";
import { WrittenCounts } from "../statistics/counters.ts";
import { Failures } from "../statistics/failures.ts";
import { AttemptLists } from "./attempt-lists.ts";
import type { Cursors } from "../../lists/cursors.ts";
import { Interned } from "../numbers/names.ts";
import { MINUTE_MS } from "../../rows/counts.ts";

/** Numbers and the names that they stand for, as far as they are cached. */
export interface Names {
  readonly tenants: Interned;
  readonly types: Interned;
  readonly urls: Interned;
  readonly index: EndpointIndex;
}

export function namesIn(db: Database): Names {
  const tenants = new Interned(db, "tenant");
  const types = new Interned(db, "event_type");
  const urls = new Interned(db, "url");
  return { tenants, types, urls, index: new EndpointIndex(db, tenants, types) };
}

export interface Rows extends Names {
  readonly attempts: Attempts;
  readonly deliveries: Deliveries;
  readonly events: Events;
  readonly labels: Labels;
  readonly data: DataSearch;
  readonly sources: Sources;
}

/** Builds everything for a connection that has nothing else. */
export function rowsIn(db: Database, names: Names): Rows {
  const attempts = new Attempts(db, { ...names, responses: new Responses(db, new Meta(db)) });
  const labels = new Labels(db);
  const parts = { ...names, attempts, labels, data: new DataSearch(db), sources: new Sources(db, labels) };
  const deliveries = new Deliveries(db, parts);
  return { ...parts, deliveries, events: new Events(db, { ...parts, deliveries }) };
}

interface Means {
  readonly cursors: Cursors;
  readonly monotonic: () => number;
}

export function answersFrom(db: Database, rows: Rows, means: Means): Answers {
  const { attempts, deliveries, events, index } = rows;
  const lists = new AttemptLists(db, rows);
  const audit = new AuditList(db);
  const tenants = new TenantList(db);
  const failures = new Failures(db, rows);
  const counts = new WrittenCounts(db);
  const heldKeys = new HeldKeys(db);
  const planner = new JobPlanner({ index, attempts, selection: new JobSelection(db, rows) });
  return {
    listEvents: (query) => searchable(() => events.list(query), query, means),
    *listWholeEvents(query) {
      const page = yield* searchable(() => events.list(query), query, means);
      const whole: EventView[] = [];
      for (const { tenant, id } of page.data) {
        yield;
        const event = events.get(tenant, id);
        // The event may have been removed since the page was read.
        if (event !== null) whole.push(event);
      }
      return { ...page, data: whole } satisfies Page<EventView>;
    },
    listDeliveries: (query) => searchable(() => deliveries.list(query), query, means),
    listAttempts(query) {
      const walk = () => {
        if ("event" in query) {
          const event = events.find(query.tenant, query.event);
          return event && lists.ofEvent(event, query);
        }
        const delivery = deliveries.find(query.tenant, query.delivery);
        return delivery && lists.ofDelivery(delivery, query);
      };
      return pageOfSome(walk, query, means);
    },
    listEndpointAttempts(query) {
      const endpoint = index.numberOf(query.tenant, query.endpoint);
      return pageOfSome(() => (endpoint === null ? null : lists.ofEndpoint(endpoint, query)), query, means);
    },
    listTenants: (query) => pageOf(() => tenants.list(query), pageOfTenants(query), means),
    listAudit: (query) => pageOf(() => audit.walk(query), query, means),
    failures: (query) => failures.report(query),
    longestHeldKeys: (endpoints) => heldKeys.longest(endpoints),
    *sumMinutes(asked) {
      const sums = [];
      for (const one of asked) sums.push(yield* counts.sum(one));
      return sums;
    },
    planJob: (set) => planner.plan(set),
    selectForJob: (set) => planner.select(set),
  };
}

/** If the other filters leave nothing to search, the search is complete as well. */
function* searchable<Row, T>(
  walkOf: () => Walk<Row, T> | null,
  query: PageQuery & DataFilter,
  means: Means,
): Reading<Page<T>> {
  const page = yield* pageOf(walkOf, query, means);
  return query.data === undefined || page.searched ? page : { ...page, searched: { events: 0, until: null } };
}

interface ListedTenant extends TenantRow {
  readonly published: number;
}

/**
 * Counts the events that tenants published, by minutes. The table is in the order of tenants, so each is looked up
 * separately, without its endpoints.
 */
const published = (since: string) => `
  WITH RECURSIVE minutes (minute) AS (SELECT ${since} UNION ALL SELECT minute + 1 FROM minutes LIMIT 61),
  busy AS (
    SELECT -subject AS num, sum((SELECT sum(value ->> 1) FROM json_each(c.published))) AS published
    FROM minutes m CROSS JOIN counter c ON c.minute = m.minute AND c.subject < 0
    WHERE c.published IS NOT NULL GROUP BY subject
  )`;

const TENANTS: TenantDialect = {
  counts: {
    endpoints: "SELECT count(*) FROM endpoint e WHERE e.tenant = tenant.num AND e.deleted_at IS NULL",
    published: "coalesce(published, 0)",
  },
  name: "name",
};

/** Lists the names under which somebody has published or registered. */
class TenantList {
  readonly #statements: Statements;
  readonly #endpoints: Statement<[number], number>;

  constructor(db: Database) {
    this.#statements = new Statements(db);
    this.#endpoints = db
      .prepare<[number], number>(
        "SELECT count(*) FROM endpoint INDEXED BY endpoint_tenant WHERE tenant = ? AND deleted_at IS NULL",
      )
      .pluck();
  }

  list(query: TenantQuery): Walk<ListedTenant, TenantSummary> {
    const { tenant, since } = query;
    const list = tenantList<ListedTenant>(
      query,
      TENANTS,
      (place) => (values) =>
        `(${published(values.add(Math.ceil(since / MINUTE_MS)))}
        SELECT num, name, ${place} AS place, coalesce(published, 0) AS published
        FROM tenant LEFT JOIN busy USING (num) ${tenant === null ? "" : `WHERE name = ${values.add(tenant)}`}) t`,
    );
    return {
      ...walkOf(this.#statements, list, (row) => row),
      look: ({ num, name, published }) => {
        const endpoints = this.#endpoints.get(num)!;
        return { item: { name, endpoints, published }, rows: endpoints };
      },
    };
  }
}

interface PlannerParts {
  readonly index: EndpointIndex;
  readonly attempts: Attempts;
  readonly selection: JobSelection;
}

/** Determines the set of a job before the job is created: counts it in slices, or returns it piece by piece. */
class JobPlanner {
  readonly #parts: PlannerParts;

  constructor(parts: PlannerParts) {
    this.#parts = parts;
  }

  /** A piece has as many pages as fit into a slice. */
  *select(set: JobSet): Reading<void, readonly Selected[]> {
    const pages = this.#parts.selection.of(set);
    for (let some = nextOf(pages); some !== null; some = nextOf(pages)) yield some;
  }

  *plan(set: JobSet): Reading<JobPlan> {
    const { attempts, index, selection } = this.#parts;
    const tally = new PlanTally();
    const pages = selection.of(set);
    for (let some = nextOf(pages); some !== null; some = nextOf(pages)) {
      for (const { event, endpoint, left } of some) {
        const timedOut = left === null && attempts.lastMatches(event, endpoint, { error: "timeout" });
        tally.add(index.byNumber(endpoint).id, left, timedOut);
      }
      yield;
    }
    return tally.plan();
  }
}

/** Returns null at the end. */
function nextOf(pages: Generator<Selection, void>): readonly Selected[] | null {
  const selected: Selected[] = [];
  for (let looked = 0; looked < CHUNK;) {
    const { value, done } = pages.next();
    if (done === true) return selected.length === 0 ? null : selected;
    selected.push(...value.selected);
    looked += value.looked;
  }
  return selected;
}
