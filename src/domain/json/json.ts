/**
 * Strict JSON over bytes: RFC 8259 in UTF-8 without a byte-order mark, unique keys, no lone surrogates, bounded depth
 * and number of values. Use the spans rather than the parsed values to keep the caller's bytes, such as the digits of a
 * number.
 */
import { isUtf8 } from "node:buffer";
import { WebhookdError, type FieldCode } from "../errors.ts";
import {
  bufferOf,
  endOfLiteral,
  endOfNumber,
  endOfString,
  type JsonKind,
  JsonKeys,
  type JsonNode,
  keyName,
  LONE_SURROGATE,
  PIECE_BYTES,
  type Pieces,
  skipSpace,
  type Span,
} from "./json-token.ts";

export interface JsonLimits {
  readonly maxDepth: number;
  readonly maxValues: number;
}

export interface JsonOptions extends Partial<JsonLimits> {
  /**
   * The number of levels that are outlined: 0 gives only the top value, 1 its members, 3 the members of each event of
   * `{"events":[{…}]}`. The limits apply separately to each value at this level, so that each event's `data` has its
   * own.
   */
  readonly outline?: number;
  /**
   * The position of the text in the request, put before the pointers of errors: `/events/3` for the fourth NDJSON line.
   */
  readonly pointer?: string;
}

export const JSON_LIMITS: JsonLimits = { maxDepth: 64, maxValues: 50_000 };

/**
 * Throws `invalid_json` with a field code: `invalid_syntax`, `invalid_utf8`, `duplicate_key`, `too_deep`,
 * `too_many_values`.
 */
export function scanJson(bytes: Uint8Array, options: JsonOptions = {}): JsonNode {
  const scan = new JsonScan(bytes, options);
  scan.advance(scan.begin(), Number.POSITIVE_INFINITY);
  return scan.root!;
}

/** Like `scanJson`, but in pieces, for a text that may be long. */
export function* scanInPieces(bytes: Uint8Array, options: JsonOptions = {}): Pieces<JsonNode> {
  const scan = new JsonScan(bytes, options);
  for (let at = scan.begin(); at >= 0;) {
    yield Math.min(PIECE_BYTES, bytes.length - at);
    at = scan.advance(at, at + PIECE_BYTES);
  }
  return scan.root!;
}

/**
 * Returns the members of a top-level object. Throws like `scanJson`, and throws `validation_failed` for any other
 * value.
 */
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

/** Returns the value of a whole body. `__proto__` becomes an own key, as with `JSON.parse`. */
export function parseJson(bytes: Uint8Array, options: Omit<JsonOptions, "outline"> = {}): unknown {
  scanJson(bytes, options);
  return parseSpan(bytes, { start: 0, end: bytes.length });
}

/** Returns the value of a span from a scan of the same bytes. */
export function parseSpan(bytes: Uint8Array, span: Span): unknown {
  return JSON.parse(bufferOf(bytes).toString("utf8", span.start, span.end));
}

const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const NULL = Buffer.from("null");

/** Longer pointers are cut, because a response must not return a key of several megabytes. */
const MAX_POINTER = 1000;

/** An open container. Frames are reused for the next container at the same depth. */
class Frame {
  closer = 0;
  /** The index of the current member or item. -1 before the first. */
  index = -1;
  /** -1 while the key itself is being read. */
  keyStart = 0;
  keyEnd = 0;
  readonly keys = new JsonKeys();
  node: Outlined | null = null;
}

interface Outlined {
  kind: JsonKind;
  start: number;
  end: number;
  members: Map<string, JsonNode> | null;
  items: JsonNode[] | null;
}

/**
 * One pass over the text, without recursion and without building its values, so that parts outside the outline cost no
 * memory.
 */
class JsonScan {
  readonly #text: Buffer;
  readonly #maxDepth: number;
  readonly #maxValues: number;
  readonly #outline: number;
  readonly #pointer: string;
  readonly #frames: Frame[] = [];
  #depth = 0;
  #outlined = 0;
  #counted = 0;
  root: Outlined | null = null;

  constructor(bytes: Uint8Array, options: JsonOptions) {
    this.#text = bufferOf(bytes);
    this.#maxDepth = options.maxDepth ?? JSON_LIMITS.maxDepth;
    this.#maxValues = options.maxValues ?? JSON_LIMITS.maxValues;
    this.#outline = options.outline ?? 0;
    this.#pointer = options.pointer ?? "";
  }

  /** Returns where the first value begins. */
  begin(): number {
    const text = this.#text;
    if (!isUtf8(text)) throw this.#invalid("invalid_utf8", "the body is not UTF-8");
    if (text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf) {
      throw this.#invalid("invalid_utf8", "the body begins with a byte-order mark");
    }
    return skipSpace(text, 0);
  }

  /**
   * Scans from one value to the first one that begins at `end` or later. Returns its position, or -1 after the whole
   * text.
   */
  advance(from: number, end: number): number {
    let at = from;
    while (at >= 0 && at < end) at = this.#next(this.#value(at));
    return at;
  }

  /** Reads the value at `at`. Returns the position after it, or after its opening bracket. */
  #value(at: number): number {
    this.#count();
    const text = this.#text;
    switch (text[at]) {
      case OPEN_OBJECT:
        return this.#open(at, "object", CLOSE_OBJECT);
      case OPEN_ARRAY:
        return this.#open(at, "array", CLOSE_ARRAY);
      case QUOTE:
        return this.#scalar(at, "string", this.#string(at));
      case 0x74: // t
        return this.#scalar(at, "boolean", endOfLiteral(text, at, TRUE));
      case 0x66: // f
        return this.#scalar(at, "boolean", endOfLiteral(text, at, FALSE));
      case 0x6e: // n
        return this.#scalar(at, "null", endOfLiteral(text, at, NULL));
      default:
        return this.#scalar(at, "number", endOfNumber(text, at));
    }
  }

  /** Called after a value or an opening bracket. Returns where the next value begins, or -1 after the whole text. */
  #next(from: number): number {
    const text = this.#text;
    let at = skipSpace(text, from);
    while (this.#depth > 0) {
      const frame = this.#frames[this.#depth - 1]!;
      if (text[at] === frame.closer) {
        this.#depth--;
        if (frame.node !== null) frame.node.end = at + 1;
        at = skipSpace(text, at + 1);
        continue;
      }
      if (frame.index >= 0) {
        if (text[at] !== COMMA) throw this.#unexpected(at);
        at = skipSpace(text, at + 1);
      }
      frame.index++;
      return frame.closer === CLOSE_OBJECT ? this.#key(frame, at) : at;
    }
    if (at < text.length) throw this.#unexpected(at);
    return -1;
  }

  /** Reads the key at `at`. Returns where its value begins. */
  #key(frame: Frame, at: number): number {
    const text = this.#text;
    frame.keyStart = -1;
    if (text[at] !== QUOTE) throw this.#unexpected(at);
    const end = this.#string(at);
    frame.keyStart = at + 1;
    frame.keyEnd = end - 1;
    if (!frame.keys.add(text, frame.keyStart, frame.keyEnd)) {
      throw this.#invalid("duplicate_key", "an object has the same key twice", at);
    }
    const colon = skipSpace(text, end);
    if (text[colon] !== COLON) throw this.#unexpected(colon);
    return skipSpace(text, colon + 1);
  }

  #string(at: number): number {
    const end = endOfString(this.#text, at);
    if (end === LONE_SURROGATE) {
      throw this.#invalid("invalid_utf8", "a string contains half of a surrogate pair, which has no UTF-8 form", at);
    }
    if (end < 0)
      throw this.#invalid(
        "invalid_syntax",
        `the string at byte ${at} does not end or contains a forbidden character`,
        at,
      );
    return end;
  }

  #scalar(start: number, kind: JsonKind, end: number): number {
    if (end < 0) throw this.#unexpected(start);
    if (this.#depth <= this.#outline) this.#attach({ kind, start, end, members: null, items: null });
    return end;
  }

  #open(at: number, kind: "object" | "array", closer: number): number {
    const depth = this.#depth;
    if (depth - this.#outline >= this.#maxDepth) {
      throw this.#invalid("too_deep", `values are nested more than ${this.#maxDepth} deep`, at);
    }
    const frame = (this.#frames[depth] ??= new Frame());
    frame.closer = closer;
    frame.index = -1;
    frame.keyStart = 0;
    frame.keys.clear();
    frame.node = depth > this.#outline ? null : this.#outlineOf(at, kind);
    this.#depth = depth + 1;
    return at + 1;
  }

  #outlineOf(start: number, kind: "object" | "array"): Outlined {
    const inner = this.#depth < this.#outline;
    const members = inner && kind === "object" ? new Map<string, JsonNode>() : null;
    const items = inner && kind === "array" ? [] : null;
    return this.#attach({ kind, start, end: start, members, items });
  }

  #attach(node: Outlined): Outlined {
    const parent = this.#frames[this.#depth - 1];
    if (parent === undefined) this.root = node;
    else if (parent.node?.items) parent.node.items.push(node);
    else parent.node?.members?.set(keyName(this.#text, parent.keyStart, parent.keyEnd), node);
    return node;
  }

  /** Outlined values share one limit, and each of the outline's leaves has its own. */
  #count(): void {
    if (this.#depth <= this.#outline) {
      this.#outlined++;
      this.#counted = 0;
    }
    this.#counted++;
    if (this.#counted > this.#maxValues || this.#outlined > this.#maxValues) {
      throw this.#invalid("too_many_values", `there are more than ${this.#maxValues} values`);
    }
  }

  #unexpected(at: number): WebhookdError {
    const what = at < this.#text.length ? `an unexpected character at byte ${at}` : "an unexpected end";
    return this.#invalid("invalid_syntax", `the JSON text has ${what}`, at);
  }

  #invalid(code: FieldCode, detail: string, at?: number): WebhookdError {
    const pointer = this.#where();
    const more = { errors: [{ pointer, code, detail }], ...(at !== undefined && { at }) };
    return new WebhookdError("invalid_json", pointer === "" ? detail : `${detail}, at ${pointer}`, more);
  }

  /** Builds an RFC 6901 pointer from the open containers. */
  #where(): string {
    let pointer = this.#pointer;
    for (const frame of this.#frames.slice(0, this.#depth)) {
      if (frame.index < 0 || frame.keyStart < 0) break;
      const token = frame.closer === CLOSE_ARRAY ? `${frame.index}` : keyName(this.#text, frame.keyStart, frame.keyEnd);
      const longer = `${pointer}/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      if (longer.length > MAX_POINTER) break;
      pointer = longer;
    }
    return pointer;
  }
}
