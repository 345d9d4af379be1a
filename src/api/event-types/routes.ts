/**
 * Routes that show, add, replace and delete event types. All tenants share the types, so only operators change them.
 */
import type * as v from "valibot";
import { WebhookdError } from "../../domain/errors.ts";
import { readOnlyFault, settledType, type StoredType, sunsetFault } from "../../domain/events/catalogue.ts";
import { nameFault } from "../../domain/events/event-type.ts";
import type { ApiParts } from "../parts.ts";
import { requireEveryTenant } from "../pipeline/access.ts";
import { readJson, unknownType, validationFailed } from "../pipeline/body.ts";
import { json, NO_CONTENT, notFound, type Reply } from "../pipeline/reply.ts";
import type { Call, Route } from "../pipeline/route.ts";
import { importRoute } from "./import.ts";
import {
  createEventType,
  deleteEventType,
  EventTypeDraft,
  EventTypeReplacement,
  type EventTypeSettings,
  getEventType,
  listEventTypes,
  MAX_TYPE_BYTES,
  PATH,
  presentType,
  putEventType,
} from "./schemas.ts";

const GROWTH = { grows: 700, kept: "until it is deleted; there may be 1,000" } as const;

export function eventTypeRoutes(parts: ApiParts): Route[] {
  const { types } = parts.catalogue;
  const one = { path: `${PATH}/:id` } as const;
  return [
    {
      method: "GET",
      path: PATH,
      access: "read",
      reach: "all",
      operation: listEventTypes,
      handle: () => json(200, { data: [...types.values()].map(presentType), next_cursor: null }),
    },
    {
      ...one,
      method: "GET",
      access: "read",
      reach: "all",
      operation: getEventType,
      handle: (call) => show(parts, call),
    },
    {
      method: "POST",
      path: PATH,
      access: "admin",
      body: { maxBytes: MAX_TYPE_BYTES, schema: EventTypeDraft },
      audit: "event_type.create",
      growth: GROWTH,
      operation: createEventType,
      handle: (call) => create(parts, call),
    },
    importRoute(parts),
    {
      ...one,
      method: "PUT",
      access: "admin",
      body: { maxBytes: MAX_TYPE_BYTES, schema: EventTypeReplacement },
      audit: "event_type.put",
      growth: GROWTH,
      operation: putEventType,
      handle: (call) => put(parts, call),
    },
    {
      ...one,
      method: "DELETE",
      access: "admin",
      audit: "event_type.delete",
      growth: { grows: 250, kept: "[retention] audit" },
      operation: deleteEventType,
      handle: (call) => remove(parts, call),
    },
  ];
}

function show({ catalogue: { types } }: ApiParts, { params: { id = "" } }: Call): Reply {
  const type = types.get(id);
  if (type !== undefined) return json(200, presentType(type));
  // The names of types are no secret, so the error may suggest a similar one.
  throw new WebhookdError("not_found", `${JSON.stringify(id)} ${unknownType(id, types)}`, {
    errors: [{ pointer: "", code: "unknown_event_type", detail: unknownType(id, types) }],
  });
}

async function create(parts: ApiParts, call: Call): Promise<Reply> {
  requireEveryTenant(call.principal);
  const { name, ...given } = readJson(call.body, EventTypeDraft);
  call.isAbout(name);
  const { type } = await stored(parts, call, { name, given, pointer: "/name" }, (before) => {
    if (before === null) return;
    const detail = `there is an event type ${name} already: PUT ${PATH}/${name} replaces it`;
    throw new WebhookdError("already_created", detail);
  });
  return added(type);
}

async function put(parts: ApiParts, call: Call): Promise<Reply> {
  requireEveryTenant(call.principal);
  const { id: name = "" } = call.params;
  const {
    name: written = name,
    source: _,
    deprecated_at: __,
    defined_in: ___,
    ...given
  } = readJson(call.body, EventTypeReplacement);
  if (written !== name) {
    const detail = "is another name than in the path; leave it out";
    throw validationFailed([{ pointer: "/name", code: "conflicting_fields", detail }]);
  }
  const { before, type } = await stored(parts, call, { name, given, pointer: "" }, () => {});
  return before === null ? added(type) : json(200, shown(type));
}

interface Draft {
  readonly name: string;
  readonly given: v.InferOutput<typeof EventTypeSettings>;
  /** The JSON pointer to the name in the body. */
  readonly pointer: string;
}

async function stored(
  { catalogue }: ApiParts,
  { now }: Call,
  { name, given, pointer }: Draft,
  require: (before: StoredType | null) => void,
) {
  const readOnly = readOnlyFault(catalogue.types.get(name));
  if (readOnly !== null) throw readOnly;
  const fault = nameFault(name);
  if (fault !== null) throw validationFailed([{ pointer, code: "invalid_syntax", detail: fault }]);
  const sample = await catalogue.sampleFor({ name, ...given });
  const { sunset_at: sunsetAt, ...settings } = given;
  const [put] = await catalogue.put([name], (before) => {
    require(before);
    const type = settledType(name, before, { ...settings, sample, sunsetAt }, now);
    const late = sunsetFault(type);
    if (late !== null) throw validationFailed([{ pointer: "/sunset_at", code: "conflicting_fields", detail: late }]);
    return type;
  });
  return put!;
}

function added(type: StoredType): Reply {
  return json(201, shown(type), [["location", `${PATH}/${type.name}`]]);
}

function shown(type: StoredType) {
  return presentType({ ...type, source: "example", origin: "api" });
}

async function remove({ catalogue }: ApiParts, { principal, params: { id = "" }, now }: Call): Promise<Reply> {
  requireEveryTenant(principal);
  if (!(await catalogue.delete(id, now))) throw notFound();
  return NO_CONTENT;
}
