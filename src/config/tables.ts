/** What a file has as lists of sections: `[[event_types]]` and `[[egress.tenant]]`. */
import { nameFault, type EventType, type JsonSchema } from "../domain/events/event-type.ts";
import { isTenant } from "../domain/id.ts";
import type { TenantNetworks } from "../domain/network/address.ts";
import type { Mistake } from "./error.ts";
import { KINDS, ValueFault } from "./kinds.ts";
import { nearest } from "./nearest.ts";

type Table = Readonly<Record<string, unknown>>;
/** The place of what stands under a path of keys; costs a search. */
type Where = (path: readonly string[]) => string;

export const EVENT_TYPES = "event_types";

const TYPE_FIELDS = ["name", "description", "sample", "schema"] as const;
const MAX_DESCRIPTION = 256;
/** Any object is `data`. */
const ANY: JsonSchema = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };

/** Types beside the built-in ones. */
export function readEventTypes(
  raw: unknown,
  where: Where,
): { types: readonly EventType[]; mistakes: readonly Mistake[] } {
  const types: EventType[] = [];
  const mistakes: Mistake[] = [];
  if (!Array.isArray(raw) || !raw.every(isTable)) {
    const todo = `Write [[${EVENT_TYPES}]], with double brackets, once for each entry.`;
    return {
      types,
      mistakes: [{ where: where([EVENT_TYPES]), what: `${EVENT_TYPES} must be a list of sections.`, todo }],
    };
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

function typeOf({ name, description = "", sample = {}, schema = ANY }: Table): EventType {
  return {
    name: name as string,
    description: description as string,
    source: "example",
    schema: asJson(schema),
    sample: asJson(sample),
  };
}

/** TOML's own dates and times become the text that they were written as. */
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

/** Networks that only endpoints of some tenants may be in. */
export function readEgressTenants(
  raw: unknown,
  where: Where,
): { tenants: readonly TenantNetworks[]; mistakes: readonly Mistake[] } {
  const path = EGRESS_TENANTS.split(".");
  if (!Array.isArray(raw) || !raw.every(isTable)) {
    const todo = `Write [[${EGRESS_TENANTS}]], with double brackets, once for each entry.`;
    return {
      tenants: [],
      mistakes: [{ where: where(path), what: `${EGRESS_TENANTS} must be a list of sections.`, todo }],
    };
  }
  const tenants: TenantNetworks[] = [];
  const mistakes: Mistake[] = [];
  raw.forEach((table, index) => {
    const place = (key: string) => where([...path, String(index), ...(Object.hasOwn(table, key) ? [key] : [])]);
    for (const key of Object.keys(table))
      if (!TENANT_FIELDS.some((field) => field === key)) mistakes.push(unknownField(key, place));
    const read = <T>(key: TenantField, of: (value: unknown) => T): T | undefined => {
      try {
        return of(table[key]);
      } catch (error) {
        if (!(error instanceof ValueFault)) throw error;
        mistakes.push({ where: place(key), what: `[[${EGRESS_TENANTS}]] ${key} is not ${error.message}.` });
        return undefined;
      }
    };
    const names = read("names", readNames);
    const allowCidrs = read("allow_cidrs", (value) => KINDS.cidrs.read(value, {}, ""));
    if (names !== undefined && allowCidrs !== undefined) tenants.push({ names, allowCidrs });
  });
  return { tenants, mistakes };
}

function unknownField(key: string, place: (key: string) => string): Mistake {
  const near = nearest(key, TENANT_FIELDS);
  const todo = near === null ? `Its fields are ${TENANT_FIELDS.join(" and ")}.` : `Did you mean ${near}?`;
  return { where: place(key), what: `[[${EGRESS_TENANTS}]] ${key} is unknown.`, todo };
}

function readNames(raw: unknown): readonly string[] {
  const fits = Array.isArray(raw) && raw.length > 0 && raw.every((name) => typeof name === "string" && isTenant(name));
  if (!fits) throw new ValueFault('a list of tenant names such as ["acme"]');
  return raw as string[];
}

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
