/** Imports of event types, as a document describes them: what becomes of the types that there are. */
import { settledType, type StoredType, type TypeSettings } from "./catalogue.ts";

/** The parts of a type that a document describes. */
export interface TypeDraft extends Partial<
  Pick<TypeSettings, "description" | "schema" | "sample" | "group" | "deprecated">
> {
  readonly name: string;
}

/** The longest body of an import. */
export const MAX_IMPORT_BYTES = 8 * 1024 * 1024;

export const IMPORT_RESULTS = ["added", "changed", "unchanged", "refused"] as const;
export type ImportResult = (typeof IMPORT_RESULTS)[number];

/** A draft whose schema and sample are known to match. */
export type CheckedDraft = TypeDraft & Required<Pick<TypeDraft, "schema" | "sample">>;

/** The parts that the document leaves out stay as they are, and so does the type's life: its validation, sunset and archiving. */
export function importedType(draft: CheckedDraft, before: StoredType | null, now: number): StoredType {
  const { name, schema, sample } = draft;
  const deprecated = draft.deprecated ?? (before !== null && before.deprecatedAt !== null);
  const settings = {
    schema,
    sample,
    deprecated,
    description: draft.description ?? before?.description ?? "",
    group: draft.group ?? before?.group ?? null,
    validation: before?.validation ?? null,
    sunsetAt: deprecated ? (before?.sunsetAt ?? null) : null,
    archived: before?.archived ?? false,
  };
  return settledType(name, before, settings, now);
}
