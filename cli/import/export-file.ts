/** Reads the JSON of another sender: an export file, or an answer of its API. */
import { WebhookdError } from "../../src/domain/errors.ts";
import { scanJson } from "../../src/domain/json/json.ts";
import { placeOf } from "../events/data.ts";
import { utf8Of } from "../../src/domain/utf8.ts";
import { usage } from "../failure.ts";
import { isRecord, type JsonRecord } from "../../src/domain/json/merge-patch.ts";

const LIMITS = { maxDepth: 100, maxValues: 10_000_000 };

/**
 * Returns the value of a text that other people wrote. Throws a `WebhookdError` if it is no JSON, or too much of it.
 */
export function foreignValue(bytes: Uint8Array): unknown {
  scanJson(bytes, LIMITS);
  return JSON.parse(utf8Of(bytes)) as unknown;
}

/** `name` is the file in messages, which repeat nothing of its contents. */
export function recordIn(text: string, name: string): JsonRecord {
  const bytes = Buffer.from(text);
  let value: unknown;
  try {
    value = foreignValue(bytes);
  } catch (error) {
    if (!(error instanceof WebhookdError)) throw error;
    throw usage(`${name}${error.at === undefined ? "" : placeOf(bytes, error.at)}: ${error.detail}`);
  }
  if (isRecord(value)) return value;
  throw usage(`${name} is not a JSON object`, "docs/import.md shows what such a file looks like.");
}
