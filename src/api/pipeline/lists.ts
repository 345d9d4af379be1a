/** Parameters and answers of lists: pages, and the filters that several lists share (`docs/interface.md` §2). */
import { ATTEMPT_ERRORS } from "../../domain/deliveries/attempt.ts";
import { formatInstantOrNull } from "../../domain/time/instant.ts";
import { parseDataFilter } from "../../domain/events/data-filter.ts";
import type {
  Caller,
  DataFilter,
  LabelFilter,
  Page,
  PageQuery,
  Period,
  ResultFilter,
  StatusCodes,
} from "../../store/store.ts";
import { type Principal, TenantParameter } from "./access.ts";
import {
  flagParameter,
  instantParameter,
  invalidQuery,
  namesParameter,
  severalParameter,
  textParameter,
  type Parameter,
  type Query,
  choiceParameter,
  numberParameter,
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
  "Also return `total`, the number of rows on all pages. Counting stops at 10,000, or after a short time.",
  false,
);

/** The parameters that every list takes. */
export const PAGE_PARAMETERS = pageParameters([]);

/** The parameters of a list that is short enough to be sorted by something other than age. */
export function pageParameters(sorts: readonly string[]): Parameter[] {
  return [TenantParameter, Limit, Cursor, Order, sorts.length === 0 ? Sort : sortParameter(sorts), Total];
}

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

/** Makes a page of items that are JSON texts already. */
export function pageReply(path: string, query: Query, page: Page<unknown>, items: readonly string[]): Reply {
  const { nextCursor, cutShort, total, searched } = page;
  const more = cutShort === true ? ',"cut_short":true' : "";
  const is = total?.atLeast === true ? "at_least" : "exact";
  const all = total === undefined ? "" : `,"total":${total.count},"total_is":"${is}"`;
  const until = searched && { events: searched.events, until: formatInstantOrNull(searched.until) };
  const looked = until === undefined ? "" : `,"searched":${JSON.stringify(until)}`;
  const body = `{"data":[${items.join(",")}],"next_cursor":${JSON.stringify(nextCursor)}${more}${all}${looked}}`;
  return jsonText(200, body, linkTo(path, query, nextCursor));
}

/** Makes `Link: rel="next"`. It is relative, because the Host that a client sends cannot be trusted. */
function linkTo(path: string, query: Query, nextCursor: string | null): Header[] {
  if (nextCursor === null) return [];
  const next = new URLSearchParams([...query].filter(([name]) => name !== "cursor"));
  next.set("cursor", nextCursor);
  return [["link", `<${path}?${next}>; rel="next"`]];
}

export const Type = namesParameter("type", "Only events of this type, or their deliveries or attempts.");
export const Since = instantParameter("since", "Only deliveries of events received at this instant or later.");
export const Until = instantParameter("until", "Only deliveries of events received before this instant.");
export const Test = flagParameter("test", "Only deliveries of test events, which are otherwise left out.", false);
const LastError = severalParameter(
  "error",
  ATTEMPT_ERRORS,
  "Only attempts with this error; for events and deliveries, the last attempt counts.",
);
const StatusCode = statusCodeParameter(
  "status_code",
  "Only attempts with this status code; for events and deliveries, the last attempt counts.",
);

const PublisherId = textParameter(
  "publisher_id",
  "Only events to which their publisher gave this id, or their deliveries or attempts.",
);
const Tag = namesParameter("tag", "Only events with this tag, or their deliveries or attempts.");
const Label = textParameter(
  "label",
  "Only events to which their publisher gave this id or this tag, or their deliveries or attempts.",
);

const Data: Parameter<DataFilter["data"] & object> = {
  ...textParameter(
    "data",
    "Only events whose data has this value at this path, or their deliveries or attempts: `customer.id:cus_123`. A value in double quotes is a string; without quotes it may also be a number, true, false or null. A path reaches into every item of an array. If you give several conditions, separated by spaces, all of them must be true. Data is not indexed: each page searches as many events as it can in half a second, and `searched` says how far it got.",
  ),
  read(query) {
    const text = query.get("data");
    if (text === undefined) return undefined;
    const conditions = parseDataFilter(text);
    if (conditions !== null) return conditions;
    throw invalidQuery("data", "must be a path and a value such as customer.id:cus_123, or up to 5 of them");
  },
};

export const PERIOD = [Since, Until];
export const RESULT = [LastError, StatusCode];
export const LABELS = [PublisherId, Tag, Label, Data];

export function periodOf(query: Query): Period {
  return { since: Since.read(query), until: Until.read(query) };
}

export function resultOf(query: Query): ResultFilter {
  return { error: LastError.read(query), statusCode: StatusCode.read(query) };
}

/**
 * Tags are private to the publisher and the operator (`partOf`), so the key of a portal link may search only by
 * publisher's id.
 */
export function labelsOf(query: Query, { isPortal }: Pick<Principal, "isPortal">): LabelFilter & DataFilter {
  const refused = isPortal && [Tag, Label].find(({ name }) => query.has(name));
  if (refused) throw invalidQuery(refused.name, "cannot be used with the key of a portal link", "unknown_field");
  const data = Data.read(query);
  const labels = { publisherId: PublisherId.read(query), tag: Tag.read(query), label: Label.read(query) };
  return data === undefined ? labels : { ...labels, data };
}

/** Accepts `503`, or `5xx` for all of 500 to 599. */
function statusCodeParameter(name: string, description: string): Parameter<StatusCodes> {
  const text = textParameter(
    name,
    description,
    /^[1-9](?:\d\d|xx)$/,
    "must be a status code such as 503, or a class such as 5xx",
  );
  return {
    ...text,
    read(query) {
      const value = text.read(query);
      return value === undefined ? undefined : statusCodes(value);
    },
  };
}

export function statusCodes(text: string): StatusCodes {
  return { least: Number(text.replace("xx", "00")), most: Number(text.replace("xx", "99")) };
}

export function statusCodesText({ least, most }: StatusCodes): string {
  return least === most ? String(least) : `${least / 100}xx`;
}
