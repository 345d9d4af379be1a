/** Chooses the indexes that find the rows of a list: the narrowest that contain all of them, each in key order. */
import { OF_EVENTS } from "../../rows/key-times.ts";
import { StoredTimes } from "../numbers/keys.ts";
import type { Database, Statement } from "better-sqlite3";
import type { OneOf } from "../../../domain/lists.ts";
import type { LabelFilter, PageQuery, ResultFilter } from "../../store.ts";
import { Meta } from "../engine/meta.ts";
import { type Labels } from "./labels.ts";
import { CauseList, causeOf, type Cause } from "../attempts/causes.ts";
import {
  ALL_DELIVERIES,
  ALL_EVENTS,
  ALL_FAILED,
  ALL_FAILURES,
  countOf,
  DISABLED,
  FAILED_OF_ENDPOINT,
  FAILURES_OF_ENDPOINT,
  OF_ENDPOINT,
  OF_EVENT,
  ofCause,
  ofEvents,
  ofTenantsEndpoints,
  type OfEndpoint,
  openOf,
  type Source,
} from "./merged-keys.ts";
import { seeksLabel } from "../../rows/labels.ts";
import { CANCELLED, DELIVERED, FAILED, statusOf, WAITING } from "../../rows/codes.ts";
import { isOneOf, seeksFailure, seeksResult, severalOf } from "../../lists/filters.ts";

/** The maximum number of open deliveries that are sorted for a page. */
const FEW = 5000;
/** The maximum number of indexes, or parts of one, that are merged for a page. */
const MOST_SOURCES = 2000;
/** The maximum number of endpoints, or tenants, that are examined one by one for a page. */
const MOST_OWNERS = 1000;
/** The maximum number of endpoints whose deliveries are counted. */
const MOST_OWNERS_COUNTED = 10_000;
/** A narrow source has fewer rows than this. */
const NARROW = 1000;
/** If a choice has more parts than this, they are not counted, and it does not count as narrow. */
const MOST_COUNTED = 64;
const MUCH = 4;

export type Order = PageQuery["order"];

/** Numbers of names. Null stands for any. */
export interface Whose {
  readonly tenant: number | null;
  readonly endpoint: number | null;
  readonly types: ReadonlySet<number> | null;
}

export interface Sought extends ResultFilter, LabelFilter {
  readonly status?: OneOf<string> | undefined;
  readonly event?: string;
  readonly test?: boolean;
  readonly since?: number;
  readonly until?: number;
}

/** The rows of a list: deliveries, or events. */
export type Of = "pairs" | "events";

export class Sources {
  readonly #db: Database;
  readonly #labels: Labels;
  readonly #causes: CauseList;
  readonly #meta: Meta;
  readonly #endpoints: Statement<[number, number], number>;
  readonly #tenants: Statement<[number], number>;
  readonly #nextType: Statement<[number, number], number>;
  readonly #cancelling: Statement<[number | null], number>;
  readonly #disabled: Statement<[], number>;
  readonly #counts = new Map<string, Statement<[object], number>>();
  readonly #times: StoredTimes;

  constructor(db: Database, labels: Labels) {
    this.#times = new StoredTimes(db, OF_EVENTS);
    this.#db = db;
    this.#labels = labels;
    this.#causes = new CauseList(db);
    this.#meta = new Meta(db);
    const numbers = <P extends unknown[]>(sql: string) => db.prepare<P, number>(sql).pluck();
    this.#endpoints = numbers("SELECT number FROM endpoint INDEXED BY endpoint_tenant WHERE tenant = ? LIMIT ?");
    this.#tenants = numbers("SELECT num FROM tenant LIMIT ?");
    this.#nextType = numbers(
      "SELECT type FROM event INDEXED BY event_tenant_type WHERE tenant = ? AND type > ? ORDER BY type LIMIT 1",
    );
    this.#disabled = numbers(`SELECT number FROM endpoint WHERE number IN ${DISABLED}`);
    this.#cancelling = numbers(
      `SELECT number FROM endpoint INDEXED BY endpoint_cancel
       WHERE cancel_to IS NOT NULL AND tenant = ifnull(?, tenant)`,
    );
  }

  /**
   * Each source contains some of the rows sought, in key order, and together they contain all of them. Null means that
   * no index is narrower than everything. An empty list means that no row can match.
   */
  of(sought: Sought, whose: Whose, of: Of): readonly Source[] | null {
    if (sought.event !== undefined) return [OF_EVENT];
    const found = [
      this.#labels.sources(sought, whose.tenant, of, MOST_SOURCES),
      this.#ofResults(sought, whose, of),
      sought.test === true ? this.#ofTests(whose, of) : null,
      whose.endpoint === null ? null : [OF_ENDPOINT(whose.endpoint)],
      whose.types === null ? null : this.#ofTypes(whose, of),
    ].filter((sources) => sources !== null);
    if (found.length === 0) return this.#ofTenant(whose, of);
    return found.find((sources) => sources.length === 0) ?? this.#narrowest(found, sought);
  }

  /**
   * Does the same as `of` if the sources contain only matching rows and tests. Returns null if each row must be
   * examined.
   */
  exactly(sought: Sought, whose: Whose, of: Of): readonly Source[] | null {
    if (sought.event !== undefined || sought.test === true || seeksResult(sought) || seeksLabel(sought)) return null;
    const { tenant, endpoint, types } = whose;
    if (sought.status === "unmatched") return types === null && endpoint === null ? this.#ofUnmatched(whose) : null;
    if (sought.status === "failed") return types === null ? this.#counted(whose, "failed") : null;
    if (sought.status !== undefined) return null;
    if (types !== null) return endpoint === null && of === "events" ? this.#ofTypes(whose, of) : null;
    if (endpoint !== null) return [OF_ENDPOINT(endpoint)];
    if (of === "pairs") return this.#counted(whose, "all");
    return tenant === null ? [ALL_EVENTS] : this.#ofTenant(whose, of);
  }

  /** Returns null if the tenant has too many endpoints. */
  #counted({ tenant, endpoint }: Whose, only: "all" | "failed"): readonly Source[] | null {
    if (endpoint !== null) return [(only === "all" ? OF_ENDPOINT : FAILED_OF_ENDPOINT)(endpoint)];
    if (tenant === null) return [only === "all" ? ALL_DELIVERIES : ALL_FAILED];
    const owners = this.#endpoints.all(tenant, MOST_OWNERS_COUNTED + 1);
    return owners.length > MOST_OWNERS_COUNTED ? null : [ofTenantsEndpoints(tenant, only)];
  }

  /** Returns the first choice, in which most rows match, unless another one is much smaller. */
  #narrowest(found: readonly (readonly Source[])[], sought: Sought): readonly Source[] {
    if (found.length === 1) return found[0]!;
    const within = { ...this.#times.now.within(sought), limit: NARROW };
    const rowsOf = (sources: readonly Source[]) =>
      sources.length > MOST_COUNTED
        ? NARROW
        : sources.reduce((sum, source) => sum + countOf(this.#db, this.#counts, source, within), 0);
    const [first, ...others] = found.map((sources) => ({ sources, rows: rowsOf(sources) }));
    const smaller = others.filter(({ rows }) => rows < NARROW && rows * MUCH < first!.rows);
    return smaller.toSorted((a, b) => a.rows - b.rows)[0]?.sources ?? first!.sources;
  }

  /** Chooses by status, error and status code. Returns null if most deliveries may match. */
  #ofResults(sought: Sought, whose: Whose, of: Of): Source[] | null {
    const statuses: readonly (string | undefined)[] =
      sought.status === undefined ? [undefined] : severalOf(sought.status);
    if (!seeksResult(sought) && statuses[0] === undefined) return null;
    const found = statuses.map((status) => this.#ofResult(sought, status, whose, of));
    if (found.includes(null)) return null;
    return distinct(found.flatMap((sources) => sources ?? []));
  }

  #ofResult(sought: Sought, status: string | undefined, whose: Whose, of: Of): Source[] | null {
    if (status === "unmatched") {
      const isNothing = whose.endpoint !== null || seeksResult(sought);
      return isNothing ? [] : this.#ofUnmatched(whose);
    }
    const failure = seeksFailure(sought);
    if (status === "failed" && !failure) return this.#byEndpoint(whose, FAILED_OF_ENDPOINT, ALL_FAILED);
    const open = status === "pending" || status === "held" ? openOf(whose, status) : null;
    const isOfOne = failure && of === "pairs";
    if (open !== null && !isOfOne && this.#isFew(open)) return [open];
    if (!failure && status !== "cancelled") return null;
    const ofCauses = this.#ofCauses(sought, statesOf(status, of), whose, isOfOne && status === "held");
    if (ofCauses !== null || !failure) return ofCauses;
    return open !== null && this.#isFew(open) ? [open] : this.#byEndpoint(whose, FAILURES_OF_ENDPOINT, ALL_FAILURES);
  }

  /**
   * Finds deliveries whose last attempt failed in this way, or that were cancelled. Returns null if the causes do not
   * cover all of them.
   */
  #ofCauses(sought: Sought, states: readonly number[], whose: Whose, isHeld: boolean): Source[] | null {
    const isToldElse = sought.error !== undefined && isOneOf("interrupted", sought.error);
    if (isToldElse || this.#meta.causesNoted !== null) return null;
    const all = whose.endpoint !== null ? [whose.endpoint] : this.#endpointsOf(whose.tenant);
    const disabled = isHeld ? new Set(this.#disabled.all()) : null;
    const endpoints = all?.filter((number) => disabled?.has(number) ?? true);
    if (endpoints === undefined) return null;
    // Deliveries that are being cancelled are shown as cancelled before their rows say so.
    const cancelling = new Set(states.includes(CANCELLED) ? this.#cancelling.all(whose.tenant) : []);
    const found: Source[] = [];
    for (const endpoint of endpoints) {
      if (cancelling.has(endpoint)) found.push(OF_ENDPOINT(endpoint));
      else found.push(...this.#causesOf(endpoint, states, sought));
      if (found.length > MOST_SOURCES) return null;
    }
    return found;
  }

  #causesOf(endpoint: number, states: readonly number[], sought: ResultFilter): Source[] {
    return this.#causes
      .groups(endpoint)
      .map((group) => ({ ...group, ...causeOf(group.cause) }))
      .filter((group) => states.includes(group.status) && (!seeksFailure(sought) || isSought(group, sought)))
      .map(({ cause }) => ofCause(endpoint, cause));
  }

  #ofTests({ tenant }: Whose, of: Of): Source[] | null {
    if (tenant === null) return null;
    return [{ ...ofEvents(of, "event_tenant_test", "e.tenant = @tenant AND e.test = 1"), bound: { tenant } }];
  }

  #ofUnmatched({ tenant }: Whose): Source[] {
    const all = "e.unmatched = 1";
    if (tenant === null) return [{ ...ofEvents("events", "event_unmatched", all), bound: {} }];
    const own = ofEvents("events", "event_tenant_unmatched", `e.tenant = @tenant AND ${all}`);
    return [{ ...own, bound: { tenant } }];
  }

  /** Returns null if no tenant is given and there are many. */
  #ofTypes({ tenant, types }: Whose, of: Of): Source[] | null {
    const tenants = tenant === null ? this.#tenants.all(MOST_OWNERS + 1) : [tenant];
    if (tenants.length * types!.size > MOST_SOURCES) return null;
    return tenants.flatMap((number) => [...types!].map((type) => this.#ofType(number, type, of)));
  }

  /** Returns everything that the tenant has, or null if no tenant is given. */
  #ofTenant({ tenant }: Whose, of: Of): Source[] | null {
    if (tenant === null) return null;
    const endpoints = of === "events" ? null : this.#endpointsOf(tenant);
    if (endpoints !== null) return endpoints.map(OF_ENDPOINT);
    const found: Source[] = [];
    for (let type = this.#nextType.get(tenant, -1); type !== undefined; type = this.#nextType.get(tenant, type)) {
      found.push(this.#ofType(tenant, type, of));
    }
    return found;
  }

  #ofType(tenant: number, type: number, of: Of): Source {
    const where = "e.tenant = @tenant AND e.type = @type";
    return { ...ofEvents(of, "event_tenant_type", where), bound: { tenant, type } };
  }

  /**
   * Returns sources for one endpoint, for each of the tenant's endpoints, or for all endpoints if the tenant has too
   * many.
   */
  #byEndpoint({ tenant, endpoint }: Whose, ofOne: OfEndpoint, ofAll: Source): Source[] {
    if (endpoint !== null) return [ofOne(endpoint)];
    const endpoints = tenant === null ? null : this.#endpointsOf(tenant);
    return endpoints === null ? [ofAll] : endpoints.map(ofOne);
  }

  /** Returns null if there are too many. */
  #endpointsOf(tenant: number | null): number[] | null {
    const all =
      tenant === null ? this.#causes.endpoints(MOST_OWNERS + 1) : this.#endpoints.all(tenant, MOST_OWNERS + 1);
    return all.length > MOST_OWNERS ? null : all;
  }

  /**
   * Returns true if few enough are open to be sorted. No index has them in key order, because each retry would pay for
   * it.
   */
  #isFew(open: Source): boolean {
    const within = { low: -1, high: Number.MAX_SAFE_INTEGER, limit: FEW + 1 };
    return countOf(this.#db, this.#counts, open, within) <= FEW;
  }
}

/** Returns the states that a delivery may have if it, or its event, is shown with this status. */
function statesOf(status: string | undefined, of: Of): number[] {
  const all = [WAITING, DELIVERED, FAILED, CANCELLED];
  if (status === undefined) return all;
  const own = all.filter((state) => statusOf(state) === (status === "held" ? "pending" : status));
  if (of === "pairs" || status === "cancelled") return own;
  if (status === "failed") return all;
  return status === "delivered" ? [DELIVERED, CANCELLED] : [WAITING, DELIVERED, CANCELLED];
}

function isSought({ error, statusCode }: Cause, sought: ResultFilter): boolean {
  if (sought.error !== undefined && (error === null || !isOneOf(error, sought.error))) return false;
  const codes = sought.statusCode;
  return codes === undefined || (statusCode !== null && statusCode >= codes.least && statusCode <= codes.most);
}

function distinct(sources: readonly Source[]): Source[] {
  const seen = new Map(
    sources.map((source) => [`${source.from} ${source.where} ${JSON.stringify(source.bound)}`, source]),
  );
  return [...seen.values()];
}
