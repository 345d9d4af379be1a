/** Routes for the outboxes that this daemon reads, and for the rows that it has set aside. */
import * as v from "valibot";
import { formatInstant } from "../../domain/time/instant.ts";
import type { ApiParts, Outbox as ReadOutbox } from "../parts.ts";
import { requireEveryTenant } from "../pipeline/access.ts";
import { readJson } from "../pipeline/body.ts";
import { json, notFound, type Reply } from "../pipeline/reply.ts";
import type { Call, Operation, Route } from "../pipeline/route.ts";
import { Count, described, Instant, titled } from "../pipeline/shapes.ts";

const MAX_ROWS = 100;

export const Outbox = titled(
  "Outbox",
  v.object({
    name: v.string(),
    database: v.picklist(["postgres", "sqlite"]),
    place: described(v.string(), "Its host and database, or its file; no password."),
    table: v.string(),
    up: described(v.boolean(), "True if it can be read."),
    since: described(Instant, "The time since which that has been so."),
    trouble: described(
      v.nullable(v.object({ what: v.string(), todo: v.string() })),
      "Why it cannot be read, or why its rows cannot be published, and what to do; null while all is well.",
    ),
    waiting: described(
      v.nullable(Count),
      "Rows that wait to be published; 100000 means as many or more. Null until they have been counted.",
    ),
    oldest_seconds: described(
      v.nullable(v.number()),
      "The age of the first of these rows; null if there is none, or if the table has no `created_at`.",
    ),
    set_aside: described(v.nullable(Count), "Rows that cannot be events, counted like `waiting`."),
    published: described(Count, "Events that this process has published from it since it started."),
  }),
);
export const OutboxList = titled("OutboxList", v.object({ data: v.array(Outbox) }));

export const SetAsideRow = titled(
  "SetAsideRow",
  v.object({
    id: v.string(),
    type: v.nullable(v.string()),
    problem: described(v.string(), "Why it cannot be an event."),
  }),
);
export const SetAsideRows = titled("SetAsideRows", v.object({ data: v.array(SetAsideRow) }));

export const RowsRequest = titled(
  "RowsRequest",
  v.strictObject({
    ids: v.optional(
      described(
        v.pipe(v.array(v.string()), v.maxLength(1000, "too_long: at most 1000 ids")),
        "The rows. By default all that were set aside.",
      ),
    ),
  }),
);
export const RowsAnswer = titled("RowsAnswer", v.object({ rows: described(Count, "How many rows that was.") }));

export const anOutbox = {
  name: "shop",
  database: "postgres",
  place: "db1:5432/shop",
  table: "webhookd_outbox",
  up: true,
  since: "2026-11-20T08:00:00.000Z",
  trouble: null,
  waiting: 0,
  oldest_seconds: null,
  set_aside: 1,
  published: 5120,
} as const;
export const aSetAsideRow = {
  id: "4711",
  type: "order.creatd",
  problem: "/type is not a known event type; did you mean order.created?",
};

const params = { id: "" };

export const listOutboxes: Operation = {
  id: "listOutboxes",
  tag: "Daemon",
  summary: "List the outboxes",
  description: "The tables of `[[outbox]]` in the configuration, as this process sees them.",
  replies: { 200: { description: "The outboxes.", schema: OutboxList, example: { data: [anOutbox] } } },
};

export const listSetAsideRows: Operation = {
  id: "listSetAsideRows",
  tag: "Daemon",
  summary: "List the rows of an outbox that were set aside",
  description: `At most ${MAX_ROWS}, by id.`,
  params,
  replies: { 200: { description: "The rows.", schema: SetAsideRows, example: { data: [aSetAsideRow] } } },
  problems: ["outbox_unavailable"],
};

export const retryOutboxRows: Operation = {
  id: "retryOutboxRows",
  tag: "Daemon",
  summary: "Publish rows of an outbox that were set aside",
  description: "A row that still cannot be an event is set aside again.",
  params,
  example: { ids: ["4711"] },
  replies: { 200: { description: "The rows are read again.", schema: RowsAnswer, example: { rows: 1 } } },
  problems: ["outbox_unavailable"],
};

export const dropOutboxRows: Operation = {
  id: "dropOutboxRows",
  tag: "Daemon",
  summary: "Delete rows of an outbox that were set aside",
  description: "They are removed from the table for good, and no event is published for them.",
  params,
  example: { ids: ["4711"] },
  replies: { 200: { description: "The rows were deleted.", schema: RowsAnswer, example: { rows: 1 } } },
  problems: ["outbox_unavailable"],
};

const PATH = "/v1/outboxes";

export function outboxRoutes({ outboxes, log }: ApiParts): Route[] {
  const named = ({ principal, params: { id: name } }: Call): ReadOutbox => {
    requireEveryTenant(principal);
    const found = outboxes.find(({ outbox }) => outbox.name === name);
    if (found === undefined) throw notFound();
    return found;
  };

  function list({ principal }: Call): Reply {
    requireEveryTenant(principal);
    return json(200, { data: outboxes.map(presentOutbox) });
  }

  async function rows(call: Call): Promise<Reply> {
    return json(200, { data: await named(call).setAside(MAX_ROWS) });
  }

  const change = (what: "retry" | "drop") =>
    async function changeRows(call: Call): Promise<Reply> {
      const outbox = named(call);
      const { ids } = call.body.length === 0 ? {} : readJson(call.body, RowsRequest);
      const changed = await outbox[what](ids ?? null);
      const by = call.principal.keyId ?? "socket";
      if (changed > 0) log.warn({ outbox: outbox.outbox.name, rows: changed, by }, LOGGED[what]);
      return json(200, { rows: changed });
    };

  const post = { method: "POST", access: "admin", growth: "folds" } as const;
  const body = { maxBytes: 1024 * 1024, schema: RowsRequest, optional: true };
  return [
    { method: "GET", path: PATH, access: "admin", operation: listOutboxes, handle: list },
    { method: "GET", path: `${PATH}/:id/set-aside`, access: "admin", operation: listSetAsideRows, handle: rows },
    {
      ...post,
      path: `${PATH}/:id/retry`,
      body,
      audit: "outbox.retry",
      operation: retryOutboxRows,
      handle: change("retry"),
    },
    {
      ...post,
      path: `${PATH}/:id/drop`,
      body,
      audit: "outbox.drop",
      operation: dropOutboxRows,
      handle: change("drop"),
    },
  ];
}

const LOGGED = {
  retry: "rows of an outbox that were set aside are read again",
  drop: "rows of an outbox that were set aside were deleted",
};

export function presentOutbox({ outbox, place, standing }: ReadOutbox) {
  const { isUp, since, trouble, waiting, oldestMs, setAside, published } = standing;
  return {
    name: outbox.name,
    database: outbox.database.kind,
    place,
    table: outbox.table,
    up: isUp,
    since: formatInstant(since),
    trouble,
    waiting,
    oldest_seconds: oldestMs === null ? null : Math.round(oldestMs) / 1000,
    set_aside: setAside,
    published,
  };
}
