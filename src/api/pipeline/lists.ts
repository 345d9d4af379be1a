/** Parameters and answers of lists (`docs/interface.md` §2). The table `LISTS` says which filters and sorts each takes. */
import { parseDataFilter } from "../../domain/events/data-filter.ts";
import {
  fieldOf,
  type Filter,
  filtersOf,
  type FilterValues,
  type ListName,
  LISTS,
  type SortOf,
  type StatusCodes,
} from "../../domain/lists.ts";
import { formatInstantOrNull } from "../../domain/time/instant.ts";
import type { Caller, Page, PageQuery } from "../../store/store.ts";
import { namedTenant, TenantParameter, tenantToRead } from "./access.ts";
import {
  choiceParameter,
  flagParameter,
  idParameter,
  instantParameter,
  invalidQuery,
  namesParameter,
  numberParameter,
  severalParameter,
  textParameter,
  type Parameter,
  type Query,
} from "./query.ts";
import { jsonText, type Header, type Reply } from "./reply.ts";
import type { Call } from "./route.ts";

const Limit = numberParameter("limit", [1, 100], "The maximum number of rows on a page.", 20);
const Order = choiceParameter("order", ["newest", "oldest"], "Which end of the list comes first.", "newest");
const Sort = sortParameter([]);
const Cursor = textParameter(
  "cursor",
  "`next_cursor` of the previous page, with the other parameters unchanged.",
  /^[\w.~-]{1,512}$/,
  "did not come from this API",
);

const Total = flagParameter(
  "total",
  "Also return `total`, the number of rows on all pages, unless counting takes too long. Counting stops at 10,000.",
  false,
);

/** The parameters that every list takes. */
export const PAGE_PARAMETERS = [TenantParameter, Limit, Cursor, Order, Sort, Total];

/** All parameters of a list. */
export function listParameters(list: ListName): Parameter[] {
  const { sorts } = LISTS[list];
  const ofPage = PAGE_PARAMETERS.map((one) => (one === Sort && sorts.length > 0 ? sortParameter(sorts) : one));
  return [...ofPage, ...filtersOf(list).map(([name, filter]) => filterParameter(name, filter))];
}

/** Reads what a request asks of a list. */
export function listQuery<L extends ListName>(
  list: L,
  { principal, query }: Pick<Call, "principal" | "query">,
): PageQuery & FilterValues<L> & { sort?: SortOf<L> } {
  const asked: Record<string, unknown> = {};
  for (const [name, filter] of filtersOf(list)) {
    if (filter.isForOperators === true && principal.isPortal && query.has(name))
      throw invalidQuery(name, "cannot be used with the key of a portal link", "unknown_field");
    const fallback = filter.form.takes === "flag" ? filter.form.fallback : undefined;
    const value = filterParameter(name, filter).read(query) ?? fallback;
    if (value !== undefined) asked[fieldOf(name)] = value;
  }
  const page = pageOf(query, tenantToRead(principal, namedTenant(query)), LISTS[list].sorts as readonly SortOf<L>[]);
  return { ...page, ...(asked as FilterValues<L>) };
}

const parameters = new Map<Filter, Parameter>();

/** Returns one parameter for all lists that share a filter, so that it is described once. */
function filterParameter(name: string, filter: Filter): Parameter {
  let parameter = parameters.get(filter);
  if (parameter === undefined) parameters.set(filter, (parameter = parameterOf(name, filter)));
  return parameter;
}

function parameterOf(name: string, { form, says }: Filter): Parameter {
  switch (form.takes) {
    case "one of":
      return choiceParameter(name, form.values, says);
    case "some of":
      return severalParameter(name, form.values, says);
    case "name":
      return form.like?.isRequired === true
        ? textParameter(name, says, form.like.pattern, form.like.fault)
        : textParameter(name, says);
    case "names":
      return namesParameter(name, says);
    case "id":
      return idParameter(name, form.prefix, says);
    case "flag":
      return flagParameter(name, says, form.fallback);
    case "instant":
      return instantParameter(name, says);
    case "status code":
      return parsedParameter(STATUS_CODE(name, says), statusCodes);
    case "data":
      return parsedParameter(textParameter(name, says), (text) => {
        const conditions = parseDataFilter(text);
        if (conditions !== null) return conditions;
        throw invalidQuery(name, "must be a path and a value such as customer.id:cus_123, or up to 5 of them");
      });
  }
}

function parsedParameter(text: Parameter<string>, parse: (text: string) => unknown): Parameter {
  return {
    ...text,
    read(query) {
      const value = text.read(query);
      return value === undefined ? undefined : parse(value);
    },
  };
}

/** Accepts `503`, or `5xx` for all of 500 to 599. */
const STATUS_CODE = (name: string, says: string) =>
  textParameter(name, says, /^[1-9](?:\d\d|xx)$/, "must be a status code such as 503, or a class such as 5xx");

function sortParameter(sorts: readonly string[]): Parameter<string> {
  const more = sorts.length === 0 ? "" : "; a minus sign in front reverses the order";
  const all = ["newest", "oldest", ...sorts.flatMap((sort) => [sort, `-${sort}`])];
  return choiceParameter("sort", all, `What the list is sorted by${more}. Use it instead of \`order\`.`);
}

/** Reads the order of a list. The names in `sorts` ascend with `oldest` and descend with `newest`. */
function sortOf<const S extends string>(query: Query, sorts: readonly S[]): Pick<PageQuery, "order"> & { sort?: S } {
  const given = sortParameter(sorts).read(query);
  if (given === undefined) return { order: Order.read(query) ?? "newest" };
  if (query.has("order")) throw invalidQuery("order", "cannot be given with sort", "conflicting_fields");
  if (given === "newest" || given === "oldest") return { order: given };
  const sort = sorts.find((one) => given === one || given === `-${one}`)!;
  return { sort, order: given === sort ? "oldest" : "newest" };
}

export function pageOf<const S extends string = never>(
  query: Query,
  tenant: string | null,
  sorts: readonly S[] = [],
): PageQuery & { sort?: S } {
  const cursor = Cursor.read(query);
  return {
    tenant,
    limit: Limit.read(query) ?? 20,
    ...sortOf(query, sorts),
    ...(cursor !== undefined && { cursor }),
    ...(Total.read(query) === true && { total: true }),
  };
}

/** Returns the caller that a list is read for. */
export function callerOf({ principal, whenGone }: Call): Caller {
  return { name: principal.account?.caller ?? "operator", whenGone };
}

/** Makes a page of items that are JSON texts already. `own` has members that only this list has. */
export function pageReply(
  path: string,
  query: Query,
  page: Page<unknown>,
  items: readonly string[],
  own: Readonly<Record<string, number>> = {},
): Reply {
  const { nextCursor, cutShort, total, searched } = page;
  const more = cutShort === true ? ',"cut_short":true' : "";
  const is = total?.atLeast === true ? "at_least" : "exact";
  const all = total === undefined ? "" : `,"total":${total.count},"total_is":"${is}"`;
  const until = searched && { events: searched.events, until: formatInstantOrNull(searched.until) };
  const looked = until === undefined ? "" : `,"searched":${JSON.stringify(until)}`;
  const others = Object.entries(own)
    .map(([name, value]) => `,"${name}":${value}`)
    .join("");
  const body = `{"data":[${items.join(",")}],"next_cursor":${JSON.stringify(nextCursor)}${more}${all}${looked}${others}}`;
  return jsonText(200, body, linkTo(path, query, nextCursor));
}

/** Makes `Link: rel="next"`. It is relative, because the Host that a client sends cannot be trusted. */
function linkTo(path: string, query: Query, nextCursor: string | null): Header[] {
  if (nextCursor === null) return [];
  const next = new URLSearchParams([...query].filter(([name]) => name !== "cursor"));
  next.set("cursor", nextCursor);
  return [["link", `<${path}?${next}>; rel="next"`]];
}

export function statusCodes(text: string): StatusCodes {
  return { least: Number(text.replace("xx", "00")), most: Number(text.replace("xx", "99")) };
}

export function statusCodesText({ least, most }: StatusCodes): string {
  return least === most ? String(least) : `${least / 100}xx`;
}
