/** Defines the orders in which each list can be read. The first is the default. */
import type { FailureGroup } from "../../../src/client/operations.ts";
import { causeText } from "../../../src/domain/deliveries/attempt.ts";
import type { List, RowsKind } from "../../model/list.ts";
import type { Known } from "../../model/known.ts";

export interface Sort {
  /** The name that is kept with the list. */
  readonly name: string;
  /** The text on the screen, such as `oldest first`. */
  readonly text: string;
  /** The column that shows the order. `falls` is true if its greatest value comes first. */
  readonly head: string;
  readonly falls: boolean;
  /** The parameters of the request. Null for a list that the daemon returns as a whole. */
  readonly query: { readonly order: "newest" | "oldest" } | { readonly sort: string } | null;
  /** Sorts a list that the daemon returns as a whole. */
  readonly compare?: (one: never, other: never, known: Known) => number;
}

const NEWEST: Sort = {
  name: "newest",
  text: "newest first",
  head: "AGE",
  falls: false,
  query: { order: "newest" },
};
const OLDEST: Sort = { name: "oldest", text: "oldest first", head: "AGE", falls: true, query: { order: "oldest" } };

const byFailures = (
  name: string,
  text: string,
  [head, falls]: readonly [string, boolean],
  compare: (one: FailureGroup, other: FailureGroup, known: Known) => number,
): Sort => ({ name, text, head, falls, query: null, compare });
const waiting = ({ pending, held }: FailureGroup) => pending + held;
const cause = ({ error, status_code: code }: FailureGroup) => causeText(error, code);

export const SORTS: { readonly [K in RowsKind]: readonly Sort[] } = {
  events: [NEWEST, OLDEST],
  deliveries: [NEWEST, OLDEST],
  endpoints: [
    { name: "failing", text: "most failures in a row first", head: "STATE", falls: true, query: { sort: "failing" } },
    { ...NEWEST, head: "" },
    { ...OLDEST, head: "" },
    { name: "host", text: "by host", head: "ENDPOINT", falls: false, query: { sort: "host" } },
    { name: "success", text: "longest without success first", head: "", falls: true, query: { sort: "last_success" } },
    { name: "failure", text: "latest failure first", head: "", falls: true, query: { sort: "last_failure" } },
  ],
  failures: [
    byFailures("missing", "most missing first", ["", true], (one, other) => {
      const missing = (group: FailureGroup) => group.failed + waiting(group);
      return missing(other) - missing(one) || other.last_at.localeCompare(one.last_at);
    }),
    byFailures("failed", "most failed first", ["FAILED", true], (one, other) => other.failed - one.failed),
    byFailures("waiting", "most waiting first", ["RETRYING", true], (one, other) => waiting(other) - waiting(one)),
    byFailures("cause", "by cause", ["CAUSE", false], (one, other) => cause(one).localeCompare(cause(other))),
    byFailures("endpoint", "by endpoint", ["ENDPOINT", false], (one, other, { endpoints }) => {
      const url = ({ endpoint }: FailureGroup) => endpoints.get(endpoint)?.url ?? endpoint;
      return url(one).localeCompare(url(other));
    }),
    byFailures("since", "longest failing first", ["SINCE", true], (one, other) =>
      one.first_at.localeCompare(other.first_at),
    ),
    byFailures("last", "latest failure first", ["LAST", false], (one, other) =>
      other.last_at.localeCompare(one.last_at),
    ),
  ],
  activity: [NEWEST, OLDEST],
};

type Sorted = Pick<List<unknown>, "sort">;

export function sortOf(kind: RowsKind, { sort }: Sorted): Sort {
  return SORTS[kind].find(({ name }) => name === sort) ?? SORTS[kind][0]!;
}

/** Returns the next order, or null for the default. */
export function nextSort(kind: RowsKind, list: Sorted): string | null {
  const all = SORTS[kind];
  const next = (all.indexOf(sortOf(kind, list)) + 1) % all.length;
  return next === 0 ? null : all[next]!.name;
}

/** Returns the parameters of a page. The order is reversed if the list is read from its other end. */
export function sortQuery(
  kind: RowsKind,
  list: Pick<List<unknown>, "sort" | "edge">,
): Readonly<Record<string, string>> {
  const { query } = sortOf(kind, list);
  if (query === null) return {};
  if (list.edge === "first") return query;
  if ("sort" in query) return { sort: `-${query.sort}` };
  return { order: query.order === "newest" ? "oldest" : "newest" };
}

/** Sorts the rows of a list that the daemon returns as a whole. */
export function sorted<T>(kind: RowsKind, list: Sorted, rows: readonly T[], known: Known): readonly T[] {
  const { compare } = sortOf(kind, list);
  if (compare === undefined || list.sort === null) return rows;
  return rows.toSorted((one, other) => compare(one as never, other as never, known));
}
