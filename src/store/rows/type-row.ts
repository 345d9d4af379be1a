/** A row of the table of event types that operators keep: the same in both stores. */
import { isSameType, type StoredType, type Validation } from "../../domain/events/catalogue.ts";
import type { JsonSchema } from "../../domain/events/event-type.ts";
import type { PutType, TypeChange } from "../store.ts";

export interface TypeRow {
  readonly name: string;
  readonly description: string;
  readonly type_group: string | null;
  readonly schema: string;
  readonly sample: string;
  readonly validation: Validation | null;
  readonly deprecated_at: number | null;
  readonly sunset_at: number | null;
  readonly archived: number;
  /**
   * Set once the type is deleted. The row stays for a while, so that an endpoint that is registered at the same time,
   * on whatever node, does not choose a type that is gone.
   */
  readonly deleted_at: number | null;
}

/** A deleted type stays for this long. No request lasts longer, and every node has learnt of it by then. */
export const DELETED_FOR_MS = 86_400_000;

/** The fact in `meta` that counts the changes of event types. */
export const TYPES_REVISION = "types_revision";

export const TYPE_COLUMNS = [
  "name",
  "description",
  "type_group",
  "schema",
  "sample",
  "validation",
  "deprecated_at",
  "sunset_at",
  "archived",
] as const satisfies readonly (keyof TypeRow)[];

/** The values of `TYPE_COLUMNS`. */
export function typeValues(type: StoredType): (string | number | null)[] {
  const { name, description, group, validation, deprecatedAt, sunsetAt, archived } = type;
  const [schema, sample] = [JSON.stringify(type.schema), JSON.stringify(type.sample)];
  return [name, description, group, schema, sample, validation, deprecatedAt, sunsetAt, Number(archived)];
}

export function typeOf(row: TypeRow): StoredType {
  return {
    name: row.name,
    description: row.description,
    schema: JSON.parse(row.schema) as JsonSchema,
    sample: JSON.parse(row.sample) as Record<string, unknown>,
    group: row.type_group,
    validation: row.validation,
    deprecatedAt: row.deprecated_at,
    sunsetAt: row.sunset_at,
    archived: row.archived === 1,
  };
}

/** Applies a change to each of the types, as they are now. Throws what the change throws. */
export function changedTypes(
  names: readonly string[],
  get: (name: string) => StoredType | null,
  change: TypeChange,
): PutType[] {
  return names.map((name) => {
    const before = get(name);
    return { before, type: change(before, name) };
  });
}

export function isChanged({ before, type }: PutType): boolean {
  return before === null || !isSameType(before, type);
}

/** Counts the new types. */
export function addedIn(types: readonly PutType[]): number {
  return types.filter(({ before }) => before === null).length;
}
