/** The schemas of event types, and the descriptions of their routes. */
import * as v from "valibot";
import { MAX_STORED_TYPES, ORIGINS, VALIDATIONS, type KnownType } from "../../domain/events/catalogue.ts";
import { BUILT_IN_TYPES, type JsonSchema } from "../../domain/events/event-type.ts";
import { IMPORT_RESULTS } from "../../domain/events/type-import.ts";
import { formatInstantOrNull, parseInstant } from "../../domain/time/instant.ts";
import type { Operation } from "../pipeline/route.ts";
import {
  asRead,
  anObject,
  AnyObject,
  aPageOf,
  described,
  Instant,
  line,
  pageSchema,
  titled,
} from "../pipeline/shapes.ts";

export const PATH = "/v1/webhooks/event-types";
/** The most bytes of one type. */
export const MAX_TYPE_BYTES = 64 * 1024;

const Validation = titled(
  "Validation",
  described(
    v.nullable(v.picklist(VALIDATIONS)),
    "What happens to published data that does not match the schema: `enforce` refuses it, `warn` accepts it and says so in `warnings` of the answer, `off` does not look. Null: as `[events] validate` says.",
  ),
);

export const EventType = titled(
  "EventType",
  v.object({
    name: v.string(),
    description: v.string(),
    schema: described(
      AnyObject,
      "JSON Schema 2020-12 of `data`. Published data is checked against it if `validation` says so, or `[events] validate`.",
    ),
    sample: described(AnyObject, "An example of `data`, and the `data` of a test event."),
    source: described(v.picklist(["specified", "example"]), "Whether the data is specified, or only an example."),
    group: described(v.nullable(v.string()), "A word under which types are shown together."),
    validation: Validation,
    deprecated: described(v.boolean(), "Whether new publishers and subscribers should use another type."),
    deprecated_at: described(v.nullable(Instant), "Since when it is deprecated."),
    sunset_at: described(v.nullable(Instant), "When its events are expected to end. Nothing happens by itself then."),
    archived: described(
      v.boolean(),
      "Whether no endpoint may choose it any more. It can still be published, and those who chose it still receive it.",
    ),
    defined_in: described(
      v.picklist(ORIGINS),
      "`specification`: fixed; `configuration`: from `[[event_types]]`; `api`: it can be changed with this interface.",
    ),
  }),
);

export const EventTypePage = pageSchema(EventType);
export const anEventType = presentType({
  ...BUILT_IN_TYPES[0]!,
  group: null,
  validation: null,
  deprecatedAt: null,
  sunsetAt: null,
  archived: false,
  origin: "specification",
});

export function presentType(type: Omit<KnownType, "checks">) {
  const { name, description, schema, sample, source, group, validation, deprecatedAt, sunsetAt, archived } = type;
  return {
    name,
    description,
    schema,
    sample,
    source,
    group,
    validation,
    deprecated: deprecatedAt !== null,
    deprecated_at: formatInstantOrNull(deprecatedAt),
    sunset_at: formatInstantOrNull(sunsetAt),
    archived,
    defined_in: type.origin,
  };
}

/** Allows any object as `data`. */
const ANY = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };

const SETTINGS_NAME = described(
  v.string(),
  "Words of letters, digits, `_` and `-`, separated by dots: at most 128 characters.",
);

const TypeSchema = titled(
  "TypeSchema",
  described(anObject(), "JSON Schema 2020-12 of `data`. By default any object; without references to other documents."),
);
const TypeSample = titled(
  "TypeSample",
  described(anObject(), "An example of `data`, which must match the schema; by default one is made from the schema."),
);
const TypeGroup = titled(
  "TypeGroup",
  described(
    v.nullable(v.pipe(line(64), v.minLength(1, "too_few: must not be empty"))),
    "A word under which types are shown together.",
  ),
);
const SunsetAt = titled(
  "SunsetAt",
  described(
    v.nullable(
      v.pipe(
        v.string(),
        v.metadata({ format: "date-time" }),
        v.check((text) => parseInstant(text) !== null, "invalid_type: must be an RFC 3339 instant"),
        v.transform((text) => parseInstant(text)!),
      ),
    ),
    "For a deprecated type: when its events are expected to end, for the `Sunset` header.",
  ),
);

const SETTINGS = {
  description: v.optional(described(line(256), "What the event says, for subscribers, on one line."), ""),
  schema: v.optional(TypeSchema, ANY),
  sample: v.optional(TypeSample),
  group: v.optional(TypeGroup, null),
  validation: v.optional(Validation, null),
  deprecated: v.optional(
    described(v.boolean(), "Warns publishers with a `Deprecation` header, and subscribers in the portal."),
    false,
  ),
  sunset_at: v.optional(SunsetAt, null),
  archived: v.optional(
    described(v.boolean(), "Stops offering it to endpoints; those that chose it still receive it."),
    false,
  ),
};

/** More would make too long a body, and too many types. */
const MAX_IMPORTED = 1000;

const ImportedType = titled(
  "ImportedType",
  v.strictObject({
    name: SETTINGS_NAME,
    description: v.optional(SETTINGS.description.wrapped),
    schema: v.optional(SETTINGS.schema.wrapped),
    sample: SETTINGS.sample,
    group: v.optional(SETTINGS.group.wrapped),
    deprecated: v.optional(SETTINGS.deprecated.wrapped),
  }),
);

export const EventTypeImport = titled(
  "EventTypeImport",
  v.strictObject({
    types: described(
      v.pipe(
        v.array(ImportedType),
        v.minLength(1, "too_few: must name at least one type"),
        v.maxLength(MAX_IMPORTED, `too_long: must have at most ${MAX_IMPORTED} types`),
      ),
      "The types to add or to change. What you leave out of a type stays as it is.",
    ),
    dry_run: v.optional(described(v.boolean(), "Only return what the import would do."), false),
  }),
);

export const EventTypeImported = titled(
  "EventTypeImported",
  v.object({
    data: v.array(
      v.object({
        name: v.string(),
        result: described(v.picklist(IMPORT_RESULTS), "`refused` occurs only with `dry_run`."),
        changed: described(v.array(v.string()), "The fields that change. Empty unless `result` is `changed`."),
        reason: described(v.nullable(v.string()), "Why the type is refused."),
      }),
    ),
    dry_run: described(v.boolean(), "True if nothing was done."),
  }),
);

export const EventTypeSettings = v.strictObject(SETTINGS);

/** A caller can send back what it read, with its own changes. */
export const EventTypeReplacement = titled(
  "EventTypeSettings",
  v.strictObject({
    ...SETTINGS,
    name: asRead(v.string(), "If you send back what you read: it must be the name in the path."),
    source: asRead(v.string()),
    deprecated_at: asRead(v.nullable(v.string())),
    defined_in: asRead(v.string()),
  }),
);

export const EventTypeDraft = titled(
  "EventTypeDraft",
  v.strictObject({
    name: SETTINGS_NAME,
    ...SETTINGS,
  }),
);

export const ANY_DATA: JsonSchema = ANY;

const params = { id: "" };
const aDraft = {
  description: "An order was created.",
  schema: { type: "object", required: ["id"], properties: { id: { type: "string" } } },
  sample: { id: "ord_1" },
  group: "orders",
  validation: "warn" as const,
};
const { validation: _, ...aDocumented } = aDraft;
const aStoredType = {
  ...anEventType,
  ...aDraft,
  name: "order.created",
  source: "example" as const,
  defined_in: "api" as const,
};

export const listEventTypes: Operation = {
  id: "listEventTypes",
  tag: "Events",
  summary: "List the event types",
  description:
    "The whole catalogue in one page: the built-in types, those that `[[event_types]]` in the configuration adds, and those that were added with this interface. Archived types are included.",
  replies: { 200: { description: "All event types.", schema: EventTypePage, example: aPageOf(anEventType) } },
};

export const getEventType: Operation = {
  id: "getEventType",
  tag: "Events",
  summary: "Get an event type",
  description: "With its schema and its sample. An unknown name is answered with the nearest one.",
  params,
  replies: { 200: { description: "The event type.", schema: EventType, example: anEventType } },
};

export const createEventType: Operation = {
  id: "createEventType",
  tag: "Events",
  summary: "Add an event type",
  description: `It takes an admin key for every tenant, because all tenants share the types. There may be ${MAX_STORED_TYPES}. Events of the type can be published as soon as this call returns, on every node; endpoints with a pattern that matches it receive them.`,
  example: { name: aStoredType.name, ...aDraft },
  replies: {
    201: { description: "The type was added.", schema: EventType, example: aStoredType, headers: ["location"] },
  },
  problems: ["already_created", "event_type_read_only", "event_type_limit"],
};

export const putEventType: Operation = {
  id: "putEventType",
  tag: "Events",
  summary: "Add or replace an event type",
  description:
    "Fields that you leave out get their default. A type stays deprecated since the day on which it first was. Other nodes validate by the new schema within a second.",
  params,
  adds: true,
  example: aDraft,
  replies: {
    200: { description: "The type was replaced.", schema: EventType, example: aStoredType },
    201: { description: "The type was added.", schema: EventType, example: aStoredType, headers: ["location"] },
  },
  problems: ["event_type_read_only", "event_type_limit"],
};

export const importEventTypes: Operation = {
  id: "importEventTypes",
  tag: "Events",
  summary: "Add or change many event types at once",
  description:
    "All of them, or none: if one cannot be imported, nothing changes. To see what an import would do, say `dry_run`. The same import again changes nothing. `validation`, `sunset_at` and `archived` stay as they are.",
  example: { types: [{ name: aStoredType.name, ...aDocumented }], dry_run: true },
  replies: {
    200: {
      description: "What became of each type, or would.",
      schema: EventTypeImported,
      example: {
        data: [
          { name: aStoredType.name, result: "changed", changed: ["schema", "sample"], reason: null },
          {
            name: "budget.exceeded",
            result: "refused",
            changed: [],
            reason: "budget.exceeded is fixed by the specification and cannot be changed; add a type of another name",
          },
        ],
        dry_run: true,
      },
    },
  },
  problems: ["event_type_limit"],
};

export const deleteEventType: Operation = {
  id: "deleteEventType",
  tag: "Events",
  summary: "Delete an event type",
  description:
    "Only a type that no endpoint chose by its name, and of which no event is kept. Otherwise archive it. An endpoint with a pattern does not keep a type.",
  params,
  replies: { 204: { description: "The type was deleted." } },
  problems: ["event_type_read_only", "event_type_in_use"],
};
