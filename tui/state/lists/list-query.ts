/** Turns the filter of each list into parameters of the API. */
import type { Answers } from "../../../src/client/operations.ts";
import { queryOf, readFilter, type FilterWord } from "../../../src/client/filter.ts";
import type { RowsKind } from "../../model/list.ts";
import type { State } from "../../model/state.ts";
import { rowsKind, type WithList } from "./places.ts";

export const LIST_OPERATIONS = {
  events: "listEvents",
  deliveries: "listDeliveries",
  endpoints: "listEndpoints",
  failures: "listFailures",
  activity: "listAudit",
} as const satisfies Record<RowsKind, keyof Answers>;

/** The filter words that each list takes, with the API's names for them. */
export const FILTER_PARAMETERS: { readonly [T in RowsKind]: { readonly [W in FilterWord]?: string } } = {
  events: {
    // A bare word that matches no endpoint is a publisher's id or tag.
    match: "label",
    status: "status",
    type: "type",
    endpoint: "endpoint",
    publisher_id: "publisher_id",
    tag: "tag",
    data: "data",
    error: "error",
    status_code: "status_code",
    since: "since",
    until: "until",
    tenant: "tenant",
    test: "test",
  },
  deliveries: {
    status: "status",
    type: "type",
    endpoint: "endpoint",
    event: "event",
    publisher_id: "publisher_id",
    tag: "tag",
    data: "data",
    error: "error",
    status_code: "status_code",
    since: "since",
    until: "until",
    tenant: "tenant",
    test: "test",
  },
  endpoints: { match: "match", type: "type", tenant: "tenant" },
  failures: { endpoint: "endpoint", since: "since", tenant: "tenant" },
  activity: { since: "since", until: "until", tenant: "tenant" },
};

export function filterQuery(state: State, place: WithList): Record<string, string> {
  const { filter } = readFilter(place.list.filter);
  const own = place.kind === "endpoint" ? { ...filter, endpoint: place.id } : filter;
  const parameters = FILTER_PARAMETERS[rowsKind(place)];
  const settled = Object.entries(queryOf(own, state.now)) as [FilterWord, string][];
  return Object.fromEntries(
    settled.flatMap(([word, value]) => (parameters[word] === undefined ? [] : [[parameters[word], value]])),
  );
}
