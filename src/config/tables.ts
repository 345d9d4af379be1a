/**
 * Reads the sections of a file that the operator names or repeats: `[[event_types]]`, `[[egress.tenant]]`,
 * `[tenants.NAME]`.
 */
import { nameFault, type EventType, type JsonSchema } from "../domain/events/event-type.ts";
import { sampleOf } from "../domain/events/sample.ts";
import { isTenant } from "../domain/id.ts";
import type { TenantNetworks } from "../domain/network/address.ts";
import type { TenantShare } from "../domain/time/timetable.ts";
import { listed } from "../domain/wording.ts";
import { type Mistake } from "./mistake.ts";
import { nearest } from "../domain/nearest.ts";
import { KINDS, readOr, ValueFault } from "./kinds.ts";

export type Table = Readonly<Record<string, unknown>>;
/** Returns the place of a path of keys in the file, which takes a search of the file. */
export type Where = (path: readonly string[]) => string;

export const EVENT_TYPES = "event_types";

const TYPE_FIELDS = ["name", "description", "sample", "schema"] as const;
const MAX_DESCRIPTION = 256;
/** Allows any object as `data`. */
const ANY: JsonSchema = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };

/** Reads the event types to add to the built-in ones. */
export function readEventTypes(
  raw: unknown,
  where: Where,
): { types: readonly EventType[]; mistakes: readonly Mistake[] } {
  const types: EventType[] = [];
  const mistakes: Mistake[] = [];
  if (!Array.isArray(raw) || !raw.every(isTable)) {
    return { types, mistakes: [notSections(EVENT_TYPES, where([EVENT_TYPES]))] };
  }
  raw.forEach((table, index) => {
    const faults = faultsOf(table, types);
    for (const { key, what, todo } of faults) {
      const path = [EVENT_TYPES, String(index), ...(key !== undefined && Object.hasOwn(table, key) ? [key] : [])];
      mistakes.push({ where: where(path), what: `[[${EVENT_TYPES}]] ${what}.`, ...(todo !== undefined && { todo }) });
    }
    if (faults.length === 0) types.push(typeOf(table));
  });
  return { types, mistakes };
}

interface Fault {
  readonly key?: string;
  readonly what: string;
  readonly todo?: string;
}

function faultsOf(table: Table, before: readonly EventType[]): Fault[] {
  const faults: Fault[] = [];
  for (const key of Object.keys(table)) {
    if (TYPE_FIELDS.some((field) => field === key)) continue;
    const near = nearest(key, TYPE_FIELDS);
    const todo = near === null ? `Its fields are ${TYPE_FIELDS.join(", ")}.` : `Did you mean ${near}?`;
    faults.push({ key, what: `${key} is unknown`, todo });
  }
  const { name, description = "", sample = {}, schema = {} } = table;
  if (typeof name !== "string") faults.push({ key: "name", what: 'needs a name, such as "order.created"' });
  else {
    const fault = nameFault(name) ?? (before.some((type) => type.name === name) ? "is defined twice" : null);
    if (fault !== null) faults.push({ key: "name", what: `name = ${JSON.stringify(name)} ${fault}` });
  }
  if (typeof description !== "string" || description.length > MAX_DESCRIPTION || /\p{Cc}/u.test(description)) {
    faults.push({ key: "description", what: `description must be one line of at most ${MAX_DESCRIPTION} characters` });
  }
  for (const [key, value] of Object.entries({ sample, schema })) {
    if (!isTable(value)) faults.push({ key, what: `${key} must be a table, such as { id = 1 }` });
    else if (!isJson(value))
      faults.push({ key, what: `${key} contains a number that JSON does not have (inf or nan)` });
  }
  return faults;
}

function typeOf({ name, description = "", sample, schema = ANY }: Table): EventType {
  const its = asJson(schema);
  return {
    name: name as string,
    description: description as string,
    source: "example",
    schema: its,
    sample: sample === undefined ? sampleObject(its) : asJson(sample),
  };
}

/** If no object can be made of the schema, the check of the sample says so. */
function sampleObject(schema: JsonSchema): EventType["sample"] {
  const made = sampleOf(schema);
  return isTable(made) ? made : {};
}

/** TOML's own dates and times become their text. */
function asJson(value: unknown): Readonly<Record<string, unknown>> {
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
}

function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(isJson);
}

export const EGRESS_TENANTS = "egress.tenant";

const TENANT_FIELDS = ["names", "allow_cidrs"] as const;
type TenantField = (typeof TENANT_FIELDS)[number];

/** Reads the networks that only endpoints of certain tenants may be in. */
export function readEgressTenants(
  raw: unknown,
  where: Where,
): { tenants: readonly TenantNetworks[]; mistakes: readonly Mistake[] } {
  const path = EGRESS_TENANTS.split(".");
  if (!Array.isArray(raw) || !raw.every(isTable)) {
    return { tenants: [], mistakes: [notSections(EGRESS_TENANTS, where(path))] };
  }
  const tenants: TenantNetworks[] = [];
  const mistakes: Mistake[] = [];
  raw.forEach((table, index) => {
    const place = (key: string) => where([...path, String(index), ...(Object.hasOwn(table, key) ? [key] : [])]);
    for (const key of Object.keys(table))
      if (!TENANT_FIELDS.some((field) => field === key))
        mistakes.push(unknownField(`[[${EGRESS_TENANTS}]]`, key, TENANT_FIELDS, place));
    const read = <T>(key: TenantField, of: (value: unknown) => T): T | undefined =>
      readOr(
        () => of(table[key]),
        (wanted) => mistakes.push({ where: place(key), what: `[[${EGRESS_TENANTS}]] ${key} is not ${wanted}.` }),
      );
    const names = read("names", readNames);
    const allowCidrs = read("allow_cidrs", (value) => KINDS.cidrs.read(value, {}, ""));
    if (names !== undefined && allowCidrs !== undefined) tenants.push({ names, allowCidrs });
  });
  return { tenants, mistakes };
}

/** The mistake of a value where the file should have `[[name]]`, any number of times. */
export function notSections(name: string, where: string): Mistake {
  const todo = `Write [[${name}]], with double brackets, once for each entry.`;
  return { where, what: `${name} must be a list of sections.`, todo };
}

export function unknownField(
  section: string,
  key: string,
  fields: readonly string[],
  place: (key: string) => string,
): Mistake {
  const near = nearest(key, fields);
  const todo = near === null ? `Its fields are ${listed(fields, "and")}.` : `Did you mean ${near}?`;
  return { where: place(key), what: `${section} ${key} is unknown.`, todo };
}

export const TENANTS = "tenants";

/** The limits of each field, by its key in the file. 0 means no limit, as for every limit. */
const SHARE_FIELDS = {
  weight: { min: 1, max: 1000 },
  rate_per_second: { min: 0, max: 1_000_000 },
  max_pending: { min: 0, max: 1_000_000_000 },
} as const;
type ShareField = keyof typeof SHARE_FIELDS;

/** Reads the shares of single tenants. */
export function readTenants(
  raw: unknown,
  where: Where,
): { tenants: ReadonlyMap<string, TenantShare>; mistakes: readonly Mistake[] } {
  const tenants = new Map<string, TenantShare>();
  if (!isTable(raw)) {
    const todo = `Write [${TENANTS}.NAME], with the name of the tenant.`;
    return { tenants, mistakes: [{ where: where([TENANTS]), what: `${TENANTS} must have sections.`, todo }] };
  }
  const mistakes: Mistake[] = [];
  for (const [name, table] of Object.entries(raw)) {
    const section = `[${TENANTS}.${name}]`;
    if (!isTenant(name) || !isTable(table)) {
      const what = isTable(table) ? `${section} is not the name of a tenant.` : `[${TENANTS}] ${name} is unknown.`;
      mistakes.push({
        where: where([TENANTS, name]),
        what,
        todo: `Write [${TENANTS}.NAME], with the name of the tenant.`,
      });
      continue;
    }
    const place = (key: string) => where([TENANTS, name, key]);
    const given: Partial<Record<ShareField, number>> = {};
    for (const [key, value] of Object.entries(table)) {
      if (!Object.hasOwn(SHARE_FIELDS, key)) {
        mistakes.push(unknownField(section, key, Object.keys(SHARE_FIELDS), place));
        continue;
      }
      const field = key as ShareField;
      const read = readOr(
        () => KINDS.int.read(value, SHARE_FIELDS[field], ""),
        (wanted) => mistakes.push({ where: place(key), what: `${section} ${key} is not ${wanted}.` }),
      );
      if (read !== undefined) given[field] = read;
    }
    const { weight = 1, rate_per_second: rate = 0, max_pending: maxPending = null } = given;
    tenants.set(name, { weight, ratePerSecond: rate === 0 ? null : rate, maxPending });
  }
  return { tenants, mistakes };
}

export function readNames(raw: unknown): readonly string[] {
  const fits = Array.isArray(raw) && raw.length > 0 && raw.every((name) => typeof name === "string" && isTenant(name));
  if (!fits) throw new ValueFault('a list of tenant names such as ["acme"]');
  return raw as string[];
}

export function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
