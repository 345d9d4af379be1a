/** Reads a JSON object from a flag, such as the `data` of an event. It is checked, then passed on byte for byte. */
import { WebhookdError } from "../../src/domain/errors.ts";
import { scanJson } from "../../src/domain/json/json.ts";
import { usage } from "../failure.ts";
import { readFile, textOf } from "../files.ts";
import type { Io } from "../io.ts";

/** More than any daemon accepts. */
const MAX_BYTES = 64 * 1024 * 1024;

const DATA = { flag: "--data", what: "An event's data" };

/**
 * Reads `@FILE`, stdin for `-` or (as in curl) `@-`, or else the text itself as JSON. Throws a Failure that names the
 * line and column.
 */
export async function readData(typed: string, io: Io, { flag, what } = DATA): Promise<string> {
  const given = typed === "@-" ? "-" : typed;
  const file = given.startsWith("@") ? given.slice(1) : null;
  const where = given === "-" ? "stdin" : (file ?? flag);
  const bytes =
    given === "-" ? await io.stdin.read() : file === null ? Buffer.from(given) : readFile(file, flag, MAX_BYTES);
  textOf(bytes, where);
  try {
    const { kind, start, end } = scanJson(bytes);
    if (kind === "object") return bytes.toString("utf8", start, end);
    throw usage(`${where} contains ${kind === "null" ? "null" : `a JSON ${kind}`}`, `${what} must be a JSON object.`);
  } catch (error) {
    if (!(error instanceof WebhookdError)) throw error;
    const isName = file === null && given !== "-" && /^[\w./~-]+$/.test(given);
    const hint = isName ? `To read a file, write ${flag} @${given}.` : "";
    throw usage(`${where}${error.at === undefined ? "" : placeOf(bytes, error.at)}: ${error.detail}`, hint);
  }
}

/** Returns `:3:14`, as compilers and editors write a place. Columns are counted in characters. */
export function placeOf(bytes: Buffer, at: number): string {
  const lines = bytes.toString("utf8", 0, at).split("\n");
  return `:${lines.length}:${[...lines.at(-1)!].length + 1}`;
}
