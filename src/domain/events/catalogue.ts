/**
 * The catalogue: the event types of the specification, those of the configuration, and those that operators keep in the
 * store. It decides which source of a name wins, what may be changed and deleted, what an endpoint may choose, and what
 * publishers of a deprecated type are told.
 */
import { type FieldError, WebhookdError } from "../errors.ts";
import { BUILT_IN_TYPES, type EventType, nameFault } from "./event-type.ts";

/** `warn` accepts data that does not match the schema, and says so in the response. */
export const VALIDATIONS = ["off", "warn", "enforce"] as const;
export type Validation = (typeof VALIDATIONS)[number];

export const ORIGINS = ["specification", "configuration", "api"] as const;
export type Origin = (typeof ORIGINS)[number];

/** The parts of a type that only the store has. */
export interface TypeLife {
  /** A word under which types are shown together. */
  readonly group: string | null;
  /** Null to follow `[events] validate`. */
  readonly validation: Validation | null;
  /** The time at which it became deprecated. Null if it is not. */
  readonly deprecatedAt: number | null;
  /** The time at which its events are expected to end. */
  readonly sunsetAt: number | null;
  /** True if no further endpoint may choose it. Endpoints that chose it still receive it. */
  readonly archived: boolean;
}

/** A type that the store keeps. */
export interface StoredType extends Pick<EventType, "name" | "description" | "schema" | "sample">, TypeLife {}

/** The parts of a stored type that a caller sets. */
export interface TypeSettings extends Omit<StoredType, "name" | "deprecatedAt"> {
  readonly deprecated: boolean;
}

/** A type of the catalogue. */
export interface KnownType extends EventType, TypeLife {
  readonly origin: Origin;
  /** Decides whether published data that does not match the schema is refused, causes a warning, or is not checked. */
  readonly checks: Validation;
}

const PLAIN: TypeLife = { group: null, validation: null, deprecatedAt: null, sunsetAt: null, archived: false };

/** The maximum number of types in a store, because the catalogue is shown whole and held in memory. */
export const MAX_STORED_TYPES = 1000;

export interface Sources {
  readonly configured: readonly EventType[];
  readonly stored: readonly StoredType[];
  /** `[events] validate`. */
  readonly validates: boolean;
}

/**
 * Returns the catalogue by name: first the specification, then the configuration, then the store. The first source of a
 * name wins, so a stored type is hidden while the configuration has the same name. Throws a `RangeError` for a
 * configured name that may not be added or that occurs twice.
 */
export function catalogueOf(sources: Partial<Sources> = {}): Map<string, KnownType> {
  const { configured = [], stored = [], validates = false } = sources;
  const byDefault: Validation = validates ? "enforce" : "off";
  const types = new Map<string, KnownType>();
  for (const type of BUILT_IN_TYPES)
    types.set(type.name, { ...PLAIN, ...type, origin: "specification", checks: byDefault });
  for (const type of configured) {
    const fault = nameFault(type.name) ?? (types.has(type.name) ? "is defined twice" : null);
    if (fault !== null) throw new RangeError(`the event type ${type.name} ${fault}`);
    types.set(type.name, { ...PLAIN, ...type, origin: "configuration", checks: byDefault });
  }
  for (const type of stored.toSorted(byName)) {
    if (types.has(type.name)) continue;
    types.set(type.name, { ...type, source: "example", origin: "api", checks: type.validation ?? byDefault });
  }
  return types;
}

/** Compares as stores do, by code units. */
function byName(one: Pick<StoredType, "name">, other: Pick<StoredType, "name">): number {
  return one.name < other.name ? -1 : 1;
}

/** Returns why a caller may not change or delete the type, or null if the caller may, or if there is none. */
export function readOnlyFault(type: Pick<KnownType, "name" | "origin"> | undefined): WebhookdError | null {
  switch (type?.origin) {
    case "specification":
      return new WebhookdError(
        "event_type_read_only",
        `${type.name} is fixed by the specification and cannot be changed; add a type of another name`,
      );
    case "configuration":
      return new WebhookdError(
        "event_type_read_only",
        `${type.name} comes from the configuration of the daemon: change its [[event_types]] section, and send SIGHUP`,
      );
    default:
      return null;
  }
}

/** Returns the type as it is stored. It stays deprecated since the day on which it first was. */
export function settledType(name: string, before: StoredType | null, settings: TypeSettings, now: number): StoredType {
  const { deprecated, ...others } = settings;
  return { ...others, name, deprecatedAt: deprecated ? (before?.deprecatedAt ?? now) : null };
}

/** The order of a schema's keys counts, because they are shown in it. */
export function isSameType(one: StoredType, other: StoredType): boolean {
  return changedParts(one, other).length === 0;
}

export function changedParts(one: StoredType, other: StoredType): (keyof StoredType)[] {
  return (Object.keys(one) as (keyof StoredType)[]).filter(
    (part) => JSON.stringify(one[part]) !== JSON.stringify(other[part]),
  );
}

/** A sunset before the deprecation would contradict itself (RFC 9745, section 4). Null if the two agree. */
export function sunsetFault({ deprecatedAt, sunsetAt }: TypeLife): string | null {
  if (sunsetAt === null) return null;
  if (deprecatedAt === null) return "is only for a deprecated type: set deprecated to true too";
  return sunsetAt < deprecatedAt ? "must not be before the type became deprecated" : null;
}

/** Refuses new types where there would be too many; null if there is room. */
export function capacityFault(stored: number, added = 1): WebhookdError | null {
  if (added === 0 || stored + added <= MAX_STORED_TYPES) return null;
  const there = stored === MAX_STORED_TYPES ? stored : `${stored}, with ${added} new ones too many,`;
  const detail = `there are ${there} event types already, of ${MAX_STORED_TYPES} that there may be: delete some that nothing uses any more`;
  return new WebhookdError("event_type_limit", detail);
}

/** The endpoints and events that still refer to a type. */
export interface TypeUse {
  /** The number of endpoints that chose it by its name. `some` has the ids of the first few. */
  readonly endpoints: number;
  readonly some: readonly string[];
  /** True if the store still has events of it. */
  readonly hasEvents: boolean;
}

/** Returns why the type may not be deleted, or null if nothing refers to it. */
export function deletionFault(name: string, { endpoints, some, hasEvents }: TypeUse): WebhookdError | null {
  const instead =
    "archive it instead, with archived: true: it is no longer offered, and endpoints that chose it keep it";
  if (endpoints > 0) {
    const rest = endpoints - some.length;
    const who = [...some, ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
    const count = endpoints === 1 ? "an endpoint chose it" : `${endpoints} endpoints chose it`;
    return new WebhookdError("event_type_in_use", `${name} cannot be deleted, because ${count} (${who}); ${instead}`);
  }
  if (!hasEvents) return null;
  const detail = `${name} cannot be deleted, because events of it are kept until [retention] removes them; ${instead}`;
  return new WebhookdError("event_type_in_use", detail);
}

/** Refuses archived types that an endpoint chooses, unless it had chosen them before. Null if there are none. */
export function archivedFault(
  types: ReadonlyMap<string, Pick<KnownType, "archived">>,
  events: readonly string[],
  before: readonly string[],
): WebhookdError | null {
  const detail = "is archived: it is no longer offered for new subscriptions";
  return refusal(events, (name) => types.get(name)?.archived === true && !before.includes(name), detail);
}

/** Refuses types that were deleted while the endpoint was being changed. Null if there are none. */
export function deletedFault(events: readonly string[], deleted: readonly string[]): WebhookdError | null {
  const detail = "is no longer a known event type: it was just deleted";
  return refusal(events, (name) => deleted.includes(name), detail, "unknown_event_type");
}

function refusal(
  events: readonly string[],
  isRefused: (name: string) => boolean,
  detail: string,
  code: FieldError["code"] = "archived_event_type",
): WebhookdError | null {
  const errors = [...events.entries()]
    .filter(([, name]) => isRefused(name))
    .map(([index]) => ({ pointer: `/events/${index}`, code, detail }));
  return errors.length === 0
    ? null
    : new WebhookdError("validation_failed", `${errors[0]!.pointer} ${detail}`, { errors });
}

/** The deprecated types among those of a publish, as its response reports them. */
export interface Deprecation {
  /** The earliest day on which one of them was deprecated. */
  readonly since: number;
  readonly sunsetAt: number | null;
  readonly names: readonly string[];
}

/** The maximum number of deprecated types that one response names. */
const NAMED = 10;

/** Returns null if none of the types is deprecated. */
export function deprecationOf(
  types: ReadonlyMap<string, Pick<KnownType, "deprecatedAt" | "sunsetAt">>,
  published: Iterable<string>,
): Deprecation | null {
  let [since, sunsetAt] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const names = new Set<string>();
  for (const name of published) {
    const type = types.get(name);
    if (type === undefined || type.deprecatedAt === null) continue;
    since = Math.min(since, type.deprecatedAt);
    sunsetAt = Math.min(sunsetAt, type.sunsetAt ?? Number.POSITIVE_INFINITY);
    if (names.size < NAMED) names.add(name);
  }
  if (names.size === 0) return null;
  return { since, sunsetAt: Number.isFinite(sunsetAt) ? sunsetAt : null, names: [...names] };
}
