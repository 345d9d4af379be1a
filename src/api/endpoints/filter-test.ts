/** The route that says whether a filter accepts an event, and which conditions decide: `docs/interface.md` §3. */
import * as v from "valibot";
import { type Decision, explain, type Explanation, type Subject } from "../../domain/events/filter/evaluate.ts";
import { type FilterDocument, isFilter, parseFilter } from "../../domain/events/filter/filter.ts";
import { subjectOf } from "../../domain/events/filter/subject.ts";
import { idPattern } from "../../domain/id.ts";
import { excerptOf } from "../../domain/json/excerpt.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { readJson, validationFailed } from "../pipeline/body.ts";
import { endpointId } from "../pipeline/names.ts";
import { partOf } from "../pipeline/reach.ts";
import { damagedEndpoint, json, notFound, type Reply } from "../pipeline/reply.ts";
import type { Call, Operation, Route } from "../pipeline/route.ts";
import { anObject, described, titled } from "../pipeline/shapes.ts";
import { filter } from "./fields.ts";

/** The longest part of a found value that is shown, in characters. */
const MAX_FOUND = 200;

function bodySchema(rules: { readonly seesTags: boolean }) {
  return titled(
    "FilterTest",
    v.strictObject({
      filter: v.optional(described(filter(rules), "The filter to try; by default the one that the endpoint has.")),
      event: v.optional(
        described(v.pipe(v.string(), v.regex(idPattern("evt"))), "The id of an event whose data is still kept."),
      ),
      type: v.optional(described(v.string(), "In place of `event`: the type of an event.")),
      data: v.optional(described(anObject(), "In place of `event`: the data of an event.")),
      tags: v.optional(described(v.array(v.string()), "In place of `event`: the tags of an event.")),
    }),
  );
}
type Body = v.InferOutput<ReturnType<typeof bodySchema>>;

export const FilterDecision = titled(
  "FilterDecision",
  v.object({
    pointer: described(v.string(), "The condition in the filter, as a JSON pointer."),
    path: described(v.string(), "Where it looked in the event, as a JSON pointer."),
    found: described(
      v.nullable(v.string()),
      `The value there as JSON, cut after ${MAX_FOUND} characters; null if there is none.`,
    ),
    holds: described(v.boolean(), "Whether the condition is met."),
  }),
);

export const FilterResult = titled(
  "FilterResult",
  v.object({
    matches: described(v.boolean(), "Whether the filter takes the event."),
    too_large: described(
      v.boolean(),
      "The filter would have to test more values of the event than it may, so the event is accepted.",
    ),
    decided: described(
      v.array(FilterDecision),
      "The conditions that decided: the one that is not met, or all that are; empty without a filter, and for an event that is too large for them to be found.",
    ),
  }),
);

export const testFilter: Operation = {
  id: "testFilter",
  tag: "Endpoints",
  summary: "Try a filter on an event",
  description:
    "Says whether a filter takes an event, and why. Nothing is sent or changed, and the types that the endpoint chose do not matter.",
  params: { id: "ep" },
  example: { filter: { data: { amount: { $gt: 1000 } } }, type: "budget.exceeded", data: { amount: 250 } },
  replies: {
    200: {
      description: "Whether the filter takes the event.",
      schema: FilterResult,
      example: {
        matches: false,
        too_large: false,
        decided: [{ pointer: "/data/amount/$gt", path: "/data/amount", found: "250", holds: false }],
      },
    },
  },
  problems: ["endpoint_damaged"],
};

export function filterTestRoutes(parts: ApiParts): Route[] {
  return [
    {
      method: "POST",
      path: "/v1/webhooks/:id/filter/test",
      access: "read",
      reach: "endpoint",
      query: [TenantParameter],
      body: { maxBytes: 64 * 1024, schema: bodySchema({ seesTags: true }) },
      growth: "folds",
      operation: testFilter,
      again: (call) => answer(parts, call),
      handle: (call) => tryFilter(parts, call),
    },
  ];
}

/** A repeated request is evaluated again: an answer shows data of the event, which may have been erased since. */
async function tryFilter(parts: ApiParts, call: Call): Promise<Reply> {
  const reply = await answer(parts, call);
  if (call.request !== undefined) await parts.store.idempotency.remember(call.request, "");
  return reply;
}

async function answer(parts: ApiParts, call: Call): Promise<Reply> {
  const { store } = parts;
  const { principal, query, body } = call;
  const rules = { seesTags: !principal.isPortal };
  const given = readJson(body, bodySchema(rules));
  const tenant = tenantToRead(principal, namedTenant(query));
  const endpoint = await store.endpoints.get(tenant, await endpointId(store, call));
  if (endpoint === null) throw notFound();
  if (given.filter === undefined && endpoint.damaged !== null) throw damagedEndpoint(endpoint.damaged);
  const subject = await subjectFor(parts, call, given, endpoint.tenant);
  const document = given.filter === undefined ? endpoint.filter : given.filter;
  if (document === null) return json(200, present({ matches: true, isTooLarge: false, decided: [] }));
  const filter = readable(document, rules);
  return json(200, await call.inPieces(inOnePiece(() => present(explain(filter, subject)))));
}

// oxlint-disable-next-line require-yield
export function* inOnePiece<T>(work: () => T): Generator<void, T> {
  return work();
}

/** An operator may have given the endpoint a filter on tags, and the customer of a portal link must not learn them. */
function readable(document: FilterDocument, { seesTags }: { readonly seesTags: boolean }) {
  const read = parseFilter(document);
  if (isFilter(read) && (seesTags || !read.parts.has("tags"))) return read;
  const detail = "the endpoint's filter tests tags, which this key cannot see; give a filter to try";
  throw validationFailed([{ pointer: "/filter", code: "invalid_filter", detail }]);
}

async function subjectFor(parts: ApiParts, { principal }: Call, given: Body, tenant: string): Promise<Subject> {
  const { event: id, type, data, tags } = given;
  if (id === undefined) {
    const faults = (["type", "data"] as const).filter((name) => given[name] === undefined);
    const detail = "is missing: give an event, or type and data";
    if (type === undefined || data === undefined)
      throw validationFailed(faults.map((name) => ({ pointer: `/${name}`, code: "missing_field", detail })));
    return { type, data, tags: (tags ?? []).toSorted() };
  }
  if (type !== undefined || data !== undefined || tags !== undefined) {
    const detail = "is given with type, data or tags; give one or the other";
    throw validationFailed([{ pointer: "/event", code: "conflicting_fields", detail }]);
  }
  const found = await parts.store.reads.getEvent(tenant, id);
  const event = found && (await partOf(parts.store, principal, found));
  if (event === null || event.data === null || (principal.endpoints !== null && event.deliveries.length === 0)) {
    const detail = "is not an event that this key may see, or its data is no longer kept";
    throw validationFailed([{ pointer: "/event", code: "unknown_event", detail }]);
  }
  return subjectOf(event.type, event.data, event.tags);
}

function present({ matches, isTooLarge, decided }: Explanation): v.InferInput<typeof FilterResult> {
  return { matches, too_large: isTooLarge, decided: presentDecisions(decided) };
}

export function presentDecisions(decided: readonly Decision[]): v.InferInput<typeof FilterDecision>[] {
  // Many conditions may have found the same large value.
  const excerpts = new Map<unknown, string>();
  const excerpt = (found: unknown) => {
    let text = excerpts.get(found);
    if (text === undefined) excerpts.set(found, (text = excerptOf(found, MAX_FOUND)));
    return text;
  };
  return decided.map(({ found, ...where }) => ({ ...where, found: found === undefined ? null : excerpt(found) }));
}
