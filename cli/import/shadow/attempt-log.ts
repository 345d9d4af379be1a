/** A log of what another sender sent: JSON lines, or a CSV file, with a line for each attempt. */
import { closeSync, openSync, readSync } from "node:fs";
import { usage } from "../../failure.ts";
import { readText, textOf } from "../../files.ts";
import { rowsIn } from "../csv.ts";
import { isRecord, type JsonRecord } from "../../../src/domain/json/merge-patch.ts";
import { textIn } from "../record.ts";
import { payloadHash, type Sent } from "./sides.ts";

const COLUMNS = { required: ["endpoint", "type", "at"], optional: ["event", "publisher_id", "payload"] } as const;
type Column = (typeof COLUMNS.required)[number] | (typeof COLUMNS.optional)[number];

export interface LoggedSent extends Sent {
  /** The endpoint as the log names it. */
  readonly endpoint: string;
}

const MAX_CSV_BYTES = 64 * 1024 * 1024;
const MAX_LINE_BYTES = 4 * 1024 * 1024;

/** Yields each line, and keeps no other line of a log of JSON lines. No message repeats what is in the file. */
export function* loggedIn(file: string): Generator<LoggedSent, void, undefined> {
  let number = 0;
  for (const text of linesOf(file)) {
    number++;
    if (text.trim() === "") continue;
    if (number === 1 && !text.trimStart().startsWith("{")) return yield* ofCsv(file);
    yield sentOf(recordOf(text, `${file}:${number}`), `${file}:${number}`);
  }
}

function* ofCsv(file: string): Generator<LoggedSent, void, undefined> {
  const text = readText(file, "--log", MAX_CSV_BYTES);
  for (const { cells, line } of rowsIn<Column>(text, file, COLUMNS)) {
    const where = `${file}:${line}`;
    const given = Object.entries(cells).filter(([, cell]) => cell.trim() !== "");
    const payload = cells.payload?.trim() ? { payload: jsonOf(cells.payload, where) } : {};
    yield sentOf({ ...Object.fromEntries(given), ...payload }, where);
  }
}

function recordOf(text: string, where: string): JsonRecord {
  const value = jsonOf(text, where);
  if (isRecord(value)) return value;
  throw usage(`${where} is not a JSON object`);
}

function jsonOf(text: string, where: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw usage(`${where} is not JSON`);
  }
}

function sentOf(record: JsonRecord, where: string): LoggedSent {
  const missing = COLUMNS.required.find((name) => textIn(record, name) === null);
  if (missing !== undefined)
    throw usage(`${where} has no text "${missing}"`, "docs/import.md shows what a log looks like.");
  const at = Date.parse(textIn(record, "at")!);
  if (Number.isNaN(at)) throw usage(`${where} has an "at" that is not an instant such as 2026-11-20T09:55:00Z`);
  const [publisherId, event] = [textIn(record, "publisher_id"), textIn(record, "event")];
  if (publisherId === null && record.payload === undefined)
    throw usage(`${where} has neither "publisher_id" nor "payload"`, "By one of them, an event is found here.");
  return {
    endpoint: textIn(record, "endpoint")!,
    event: event ?? publisherId ?? where,
    type: textIn(record, "type")!,
    publisherId,
    payload: record.payload === undefined ? null : payloadHash(record.payload),
    at,
  };
}

/** Yields the lines of a file, which may be of any size. */
function* linesOf(file: string): Generator<string, void, undefined> {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw usage(`--log: ${file} cannot be read (${code === "ENOENT" ? "there is no such file" : code})`);
  }
  try {
    let rest: Buffer = Buffer.alloc(0);
    const chunk = Buffer.allocUnsafe(256 * 1024);
    for (let read = readSync(descriptor, chunk); read > 0; read = readSync(descriptor, chunk)) {
      rest = Buffer.concat([rest, chunk.subarray(0, read)]);
      for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
        yield textOf(rest.subarray(0, end), file);
        rest = rest.subarray(end + 1);
      }
      if (rest.length > MAX_LINE_BYTES) throw usage(`${file} has a line of more than ${MAX_LINE_BYTES} bytes`);
    }
    if (rest.length > 0) yield textOf(rest, file);
  } finally {
    closeSync(descriptor);
  }
}
