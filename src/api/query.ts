/** Query strings, strictly: a parameter is known, given once, and decodes, or the request is refused. */
import { WebhookdError, type FieldCode } from "../domain/errors.ts";
import type { PageQuery } from "../store/store.ts";
import { parseInstant } from "./instant.ts";
import type { Header } from "./route.ts";

export type Query = ReadonlyMap<string, string>;

/** The parameters that every list takes. */
export const PAGE_PARAMETERS = ["tenant", "limit", "cursor", "order"] as const;

const NONE: Query = new Map();

export function parseQuery(search: string, known: readonly string[]): Query {
  if (search.length < 2) return NONE;
  const query = new Map<string, string>();
  for (const pair of search.slice(1).split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = decode(equals < 0 ? "" : pair.slice(equals + 1));
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

export function invalidQuery(name: string, detail: string, code: FieldCode = "invalid_type"): WebhookdError {
  return new WebhookdError("invalid_query", `${name} ${detail}`, { errors: [{ pointer: `?${name}`, code, detail }] });
}

export function pageOf(query: Query, tenant: string | null): PageQuery {
  const limit = query.get("limit") ?? "20";
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > 100) throw invalidQuery("limit", "is a number from 1 to 100");
  const cursor = query.get("cursor");
  if (cursor !== undefined && !/^[\w.~-]{1,512}$/.test(cursor)) throw invalidQuery("cursor", "is not one we gave out");
  const order = choice(query, "order", ["newest", "oldest"]) ?? "newest";
  return { tenant, limit: Number(limit), order, ...(cursor !== undefined && { cursor }) };
}

export function choice<const T extends string>(query: Query, name: string, of: readonly T[]): T | undefined {
  const value = query.get(name);
  const found = of.find((each) => each === value);
  if (value !== undefined && found === undefined) throw invalidQuery(name, `is one of ${of.join(", ")}`);
  return found;
}

export function flag(query: Query, name: string): boolean | undefined {
  const value = choice(query, name, ["true", "false"]);
  return value === undefined ? undefined : value === "true";
}

export function instant(query: Query, name: string): number | undefined {
  const value = query.get(name);
  if (value === undefined) return undefined;
  const parsed = parseInstant(value);
  if (parsed === null) throw invalidQuery(name, "is an instant such as 2026-11-20T09:55:00Z");
  return parsed;
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
