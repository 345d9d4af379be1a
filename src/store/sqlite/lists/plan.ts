/** Plans how to read a list of events or deliveries: which indexes have the rows, and what remains to be checked. */
import type { DeliveryQuery, EventQuery } from "../../store.ts";
import { type Condition, conditionsOf, ofTenant } from "../../lists/conditions.ts";
import { severalOf } from "../../lists/filters.ts";
import { between } from "../../lists/list.ts";
import type { KeyTimes } from "../../rows/key-times.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Interned } from "../numbers/names.ts";
import type { DataSearch, PageSearch } from "./data-search.ts";
import type { Source } from "./merged-keys.ts";
import type { Of, Sources, Whose } from "./sources.ts";

export interface Plan {
  readonly whose: Whose;
  /** Null if all rows are read in their own order. */
  readonly sources: readonly Source[] | null;
  /** Conditions that each row must still meet. */
  readonly checks: readonly Condition[];
  /** The events after and before which the list is read, exclusive. */
  readonly start: number;
  readonly end: number;
  /** Searches the data of the events, if the query does. */
  readonly search: PageSearch | null;
  /** True if the search looks through all events, because no source is narrow. */
  readonly sifts: boolean;
}

interface Parts {
  readonly tenants: Interned;
  readonly types: Interned;
  readonly index: EndpointIndex;
  readonly data: DataSearch;
  readonly sources: Sources;
}

/** Returns null if no row can match, because the query names something that never existed. */
export function planOf(query: EventQuery | DeliveryQuery, of: Of, parts: Parts, times: KeyTimes): Plan | null {
  const { tenants, types, index, data } = parts;
  const tenant = query.tenant === null ? null : tenants.find(query.tenant);
  const ofTypes = query.type === undefined ? null : types.findSome(severalOf(query.type));
  const owner = query.endpoint === undefined ? null : index.byId(query.endpoint);
  if (tenant === undefined || ofTypes?.size === 0 || owner === undefined) return null;
  if (tenant !== null && owner !== null && owner.tenant !== tenant) return null;
  const endpoint = owner === null ? null : owner.number;
  const whose = { tenant, endpoint, types: ofTypes };
  const sources = parts.sources.of(query, whose, of);
  if (sources?.length === 0) return null;
  const search = query.data === undefined ? null : data.for(query.data);
  // If only the tenant or the type narrows the search, looking at all events takes less time.
  const isWide = () => parts.sources.of(query, { tenant: null, endpoint, types: null }, of) === null;
  const stored = { type: ofTypes === null ? undefined : [...ofTypes], endpoint: endpoint ?? undefined };
  const list = of === "events" ? "events" : "deliveries";
  const ends = between(query.order, times.within(query));
  return {
    whose,
    sources,
    checks: [
      ...ofTenant(tenant),
      ...["event", "delivery"].flatMap((table) => conditionsOf(list, query, { of: table, stored })),
    ],
    start: ends.start[0]!,
    end: ends.end,
    search,
    sifts: search !== null && isWide(),
  };
}
