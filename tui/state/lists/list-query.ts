/** Turns the filter of each list into parameters of the API. */
import type { Answers } from "../../../src/client/operations.ts";
import { FILTER_WORDS, queryOf, readFilter, type FilterWord } from "../../../src/client/filter.ts";
import { filtersOf, type ListName } from "../../../src/domain/lists.ts";
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

type Parameters = { readonly [W in FilterWord]?: string };

function parametersOf(list: ListName): Parameters {
  const words = FILTER_WORDS.filter((word) => word === "tenant" || filtersOf(list).some(([name]) => name === word));
  return Object.fromEntries(words.map((word) => [word, word]));
}

/** The filter words that each list takes, with the API's names for them. */
export const FILTER_PARAMETERS: { readonly [T in RowsKind]: Parameters } = {
  // A bare word that matches no endpoint is a publisher's id or tag.
  events: { ...parametersOf("events"), match: "label" },
  deliveries: parametersOf("deliveries"),
  endpoints: parametersOf("endpoints"),
  failures: { endpoint: "endpoint", since: "since", tenant: "tenant" },
  activity: parametersOf("audit"),
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
