/**
 * Strict JSON over bytes: RFC 8259 in UTF-8 without a byte-order mark, unique keys, no lone surrogates, bounded depth and
 * number of values. Numbers keep their text: who needs the caller's bytes takes the spans, not the parsed values.
 */
import { WebhookdError } from "../errors.ts";
import { JsonScan, type JsonLimits, type JsonNode, type JsonOptions, type Span } from "./json-scan.ts";
import { skipSpace } from "./json-token.ts";

export const JSON_LIMITS: JsonLimits = { maxDepth: 64, maxValues: 50_000 };

/** Throws `invalid_json` with a field code: `invalid_syntax`, `invalid_utf8`, `duplicate_key`, `too_deep`, `too_many_values`. */
export function scanJson(bytes: Uint8Array, options: JsonOptions = {}): JsonNode {
  return new JsonScan(bufferOf(bytes), { ...JSON_LIMITS, outline: 0, pointer: "", ...options }).run();
}

/** The members of a top-level object. Throws as `scanJson` does, and `validation_failed` for any other value. */
export function scanObject(
  bytes: Uint8Array,
  options: Omit<JsonOptions, "outline"> = {},
): ReadonlyMap<string, JsonNode> {
  const { members } = scanJson(bytes, { ...options, outline: 1 });
  if (members !== null) return members;
  const detail = "the body must be a JSON object";
  throw new WebhookdError("validation_failed", detail, {
    errors: [{ pointer: options.pointer ?? "", code: "invalid_body", detail }],
  });
}

/** The value of a whole body. `__proto__` becomes an own key, as `JSON.parse` makes it. */
export function parseJson(bytes: Uint8Array, options: Omit<JsonOptions, "outline"> = {}): unknown {
  scanJson(bytes, options);
  return parseSpan(bytes, { start: 0, end: bytes.length });
}

/** The value of a span that a scan of the same bytes gave. */
export function parseSpan(bytes: Uint8Array, span: Span): unknown {
  return JSON.parse(bufferOf(bytes).toString("utf8", span.start, span.end));
}

/**
 * The lines of an NDJSON text that are not blank, the first `limit` of them; each is scanned by itself. A raw line break
 * cannot be in a string.
 */
export function jsonLines(bytes: Uint8Array, limit = Number.POSITIVE_INFINITY): Span[] {
  const lines: Span[] = [];
  for (let start = skipSpace(bytes, 0); start < bytes.length && lines.length < limit;) {
    const newline = bytes.indexOf(0x0a, start);
    const end = newline < 0 ? bytes.length : newline;
    lines.push({ start, end });
    start = skipSpace(bytes, end);
  }
  return lines;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
