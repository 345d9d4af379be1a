/** Turns the filters in the address into what the API is asked for. */
import type { Query } from "../../client/client.ts";
import { isId } from "../../domain/id.ts";

export const SHOWN = {
  all: ["search.all", {}],
  failed: ["search.failed", { status: "failed" }],
  open: ["search.open", { status: "failed,pending,held" }],
  waiting: ["search.waiting", { status: "pending,held" }],
  delivered: ["search.delivered", { status: "delivered" }],
  test: ["search.test", { test: true }],
} as const;
export type Shown = keyof typeof SHOWN;

/** The names of the filters in the address, besides `show`. */
export const NAMES = ["find", "type", "error", "since", "until"] as const;

export function shownOf(filters: URLSearchParams): Shown {
  const show = filters.get("show") ?? "all";
  return show in SHOWN ? (show as Shown) : "all";
}

/** A free text is an event's id, a field of the data with its value, or else the publisher's id. */
export function foundBy(text: string): Query {
  const typed = text.trim();
  if (typed === "") return {};
  if (isId("evt", typed)) return { event: typed };
  if (/^[\w$-]+(\.[\w$-]+)*:\S/.test(typed)) return { data: typed };
  return { publisher_id: typed };
}

export function queryOf(filters: URLSearchParams): Query {
  const value = (name: string) => filters.get(name) ?? undefined;
  return {
    ...SHOWN[shownOf(filters)][1],
    ...foundBy(filters.get("find") ?? ""),
    type: value("type"),
    error: value("error"),
    since: value("since"),
    until: value("until"),
  };
}
