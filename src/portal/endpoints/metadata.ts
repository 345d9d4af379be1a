/** The metadata of an endpoint while a person types it: the text of a JSON object. */
import { hasNull, isRecord, type JsonRecord, patchTo } from "../../domain/json/merge-patch.ts";
import { t } from "../language/text.ts";

export const METADATA_EXAMPLE = '{"team": "billing"}';

export function metadataText(metadata: JsonRecord): string {
  return Object.keys(metadata).length === 0 ? "" : JSON.stringify(metadata, null, 2);
}

/** Returns the mistake in the text, or undefined. */
export function metadataFault(text: string): string | undefined {
  const value = valueOf(text);
  if (value === undefined) return t("metadata.notJson");
  if (!isRecord(value)) return t("metadata.notObject", { example: METADATA_EXAMPLE });
  return hasNull(value) ? t("metadata.null") : undefined;
}

/** Returns the merge patch that turns `before` into the text, which has no fault. */
export function metadataPatch(before: JsonRecord, text: string): JsonRecord {
  return patchTo(before, valueOf(text) as JsonRecord);
}

function valueOf(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
