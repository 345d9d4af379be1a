import { parse, TomlError } from "smol-toml";
import type { Mistake } from "./error.ts";
import { nearest } from "./nearest.ts";
import { nameOf, SETTINGS, type SettingName } from "./schema.ts";

export interface FileEntry {
  readonly raw: unknown;
  /** `webhookd.toml:14`; costs a search. */
  where(): string;
}

/** The settings that a file gives; what it gives besides them is a mistake. `name` is how messages call the file. */
export function readFileEntries(text: string, name: string): Map<SettingName, FileEntry> | readonly Mistake[] {
  let table: Record<string, unknown>;
  try {
    table = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const what = error.message.split("\n", 1)[0]!.replace("Invalid TOML document: ", "");
    return [{ where: `${name}:${error.line}`, what: `is not valid TOML: ${what}.` }];
  }
  const entries = new Map<SettingName, FileEntry>();
  const mistakes: Mistake[] = [];
  for (const [section, values] of Object.entries(table)) {
    const keys = SETTINGS.filter((setting) => setting.section === section);
    const where = () => `${name}:${lineOf(text, [section])}`;
    if (keys.length === 0) {
      mistakes.push(isTable(values) ? unknownSection(where(), section) : outsideSections(where(), section));
    } else if (!isTable(values)) {
      mistakes.push({ where: where(), what: `${section} is a section, not a value.`, todo: `Write [${section}].` });
    } else {
      for (const [key, raw] of Object.entries(values)) {
        const place = () => `${name}:${lineOf(text, [section, key])}`;
        const setting = keys.find((known) => known.key === key);
        if (setting === undefined) mistakes.push(unknownKey(place(), section, key));
        else entries.set(nameOf(setting), { raw, where: place });
      }
    }
  }
  return mistakes.length > 0 ? mistakes : entries;
}

/** Also for variables: the same words for the same mistake. */
export function unknownKey(where: string, section: string, key: string): Mistake {
  const keys = SETTINGS.filter((setting) => setting.section === section).map((setting) => setting.key);
  const near = nearest(key, keys);
  const elsewhere = SETTINGS.find((setting) => setting.key === key);
  const todo =
    near !== null
      ? `Did you mean ${near}?`
      : elsewhere !== undefined
        ? `It belongs to [${elsewhere.section}].`
        : `[${section}] has ${keys.join(", ")}.`;
  return { where, what: `[${section}] ${key} is not known.`, todo };
}

function unknownSection(where: string, section: string): Mistake {
  const sections = [...new Set(SETTINGS.map((setting) => setting.section))];
  const near = nearest(section, sections);
  const todo = near === null ? `The sections are ${sections.join(", ")}.` : `Did you mean [${near}]?`;
  return { where, what: `[${section}] is not known.`, todo };
}

function outsideSections(where: string, key: string): Mistake {
  const owner = SETTINGS.find((setting) => setting.key === key);
  const todo = owner && `It belongs to [${owner.section}].`;
  return { where, what: `${key} stands outside the sections.`, ...(todo && { todo }) };
}

/**
 * The line on which a key begins. smol-toml keeps no positions, so the file is parsed again line by line: the key
 * begins after the longest beginning of the file that parses without it. Only as slow as a mistake may be.
 */
function lineOf(text: string, path: readonly string[]): number {
  const lines = text.split("\n");
  let start = 1;
  for (let end = 1; end <= lines.length; end++) {
    const table = parseOrNull(lines.slice(0, end).join("\n"));
    if (table === null) continue;
    if (has(table, path)) return start;
    start = end + 1;
  }
  return start;
}

function parseOrNull(text: string): Record<string, unknown> | null {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

function has(table: unknown, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined) return true;
  return isTable(table) && Object.hasOwn(table, key) && has(table[key], rest);
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
