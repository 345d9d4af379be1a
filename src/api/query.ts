/** Query strings, strictly: a parameter is known, given once, and decodes, or the request is refused. */
import { WebhookdError } from "../domain/errors.ts";
import type { PageQuery } from "../store/store.ts";
import { choiceParameter, invalidQuery, numberParameter, textParameter, type Query } from "./parameter.ts";
import type { Header } from "./route.ts";
import { TenantParameter } from "./tenant.ts";

const Limit = numberParameter("limit", [1, 100], "The most that one page may hold.", 20);
const Order = choiceParameter("order", ["newest", "oldest"], "Which end of the list comes first.", "newest");
const Cursor = textParameter(
  "cursor",
  "Where to go on: `next_cursor` of the page before, with the other parameters unchanged.",
  /^[\w.~-]{1,512}$/,
  "is not one we gave out",
);

/** The parameters that every list takes. */
export const PAGE_PARAMETERS = [TenantParameter, Limit, Cursor, Order];

const NONE: Query = new Map();

/** With `known` null whatever can be read is taken, and nothing of it kept. */
export function parseQuery(search: string, known: readonly string[] | null): Query {
  if (search.length < 2) return NONE;
  const query = new Map<string, string>();
  for (const pair of search.slice(1).split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = decode(equals < 0 ? "" : pair.slice(equals + 1));
    if (known === null) {
      if (name === null || value === null) throw invalidQuery("", "the query is not percent-encoded UTF-8");
      continue;
    }
    if (name === null || !known.includes(name)) {
      throw new WebhookdError("invalid_query", `this route takes ${list(known)}`, {
        errors: [{ pointer: "?", code: "unknown_field", detail: "there is a parameter that this route does not know" }],
      });
    }
    if (query.has(name)) throw invalidQuery(name, "is given twice");
    if (value === null) throw invalidQuery(name, "is not percent-encoded UTF-8");
    query.set(name, value);
  }
  return query;
}

export function pageOf(query: Query, tenant: string | null): PageQuery {
  const cursor = Cursor.read(query);
  return {
    tenant,
    limit: Limit.read(query) ?? 20,
    order: Order.read(query) ?? "newest",
    ...(cursor !== undefined && { cursor }),
  };
}

/** `Link: rel="next"`, relative, because the host a client names is not to be trusted. */
export function linkTo(path: string, query: Query, nextCursor: string | null): Header[] {
  if (nextCursor === null) return [];
  const next = new URLSearchParams([...query].filter(([name]) => name !== "cursor"));
  next.set("cursor", nextCursor);
  return [["link", `<${path}?${next}>; rel="next"`]];
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}

function list(known: readonly string[]): string {
  return known.length === 0 ? "no query parameters" : `only ${known.join(", ")}`;
}
