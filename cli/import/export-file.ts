/** Reads an export file that is JSON. */
import { WebhookdError } from "../../src/domain/errors.ts";
import { scanJson } from "../../src/domain/json/json.ts";
import { placeOf } from "../events/data.ts";
import { usage } from "../failure.ts";
import { isRecord, type JsonRecord } from "./record.ts";

const LIMITS = { maxDepth: 100, maxValues: 10_000_000 };

/** `name` is the file in messages, which repeat nothing of its contents. */
export function recordIn(text: string, name: string): JsonRecord {
  const bytes = Buffer.from(text);
  try {
    scanJson(bytes, LIMITS);
  } catch (error) {
    if (!(error instanceof WebhookdError)) throw error;
    throw usage(`${name}${error.at === undefined ? "" : placeOf(bytes, error.at)}: ${error.detail}`);
  }
  const value: unknown = JSON.parse(text);
  if (isRecord(value)) return value;
  throw usage(`${name} is not a JSON object`, "docs/import.md shows what such a file looks like.");
}
