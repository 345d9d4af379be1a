import { parse, TomlError } from "smol-toml";
import type { TenantNetworks } from "../domain/network/address.ts";
import type { EventType } from "../domain/events/event-type.ts";
import type { FurtherSignature } from "../domain/endpoints/further-signature.ts";
import { ALSO, readAlso } from "./also.ts";
import type { OutboxSettings } from "../domain/outbox/outbox.ts";
import { type Mistake } from "./mistake.ts";
import { nearest } from "../domain/nearest.ts";
import type { TenantShare } from "../domain/time/timetable.ts";
import {
  EGRESS_TENANTS,
  isTable,
  readEgressTenants,
  EVENT_TYPES,
  readEventTypes,
  readTenants,
  TENANTS,
} from "./tables.ts";
import { OUTBOX, readOutboxes } from "./outboxes.ts";
import { fileKeyOf, nameOf, SETTINGS, type SettingName } from "./schema.ts";

export interface FileEntry {
  readonly raw: unknown;
  /** True if `raw` names a file that contains the value. */
  readonly isInFile: boolean;
  /** Returns a place such as `webhookd.toml:14`, which takes a search of the file. */
  where(): string;
}

export interface FileContent {
  readonly settings: ReadonlyMap<SettingName, FileEntry>;
  readonly eventTypes: readonly EventType[];
  readonly egressTenants: readonly TenantNetworks[];
  readonly tenants: ReadonlyMap<string, TenantShare>;
  readonly outboxes: readonly OutboxSettings[];
  readonly also: readonly FurtherSignature[];
  readonly mistakes: readonly Mistake[];
  /** Settings that an unknown or misplaced entry may have been meant for. */
  readonly doubtful: ReadonlySet<SettingName>;
}

/**
 * Reads a configuration file. Anything unknown in it is a mistake. `name` is the file's name in messages, and `folder`
 * is where relative paths start.
 */
export function readFileContent(text: string, name: string, folder: string): FileContent {
  let table: Record<string, unknown>;
  try {
    table = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const what = error.message.split("\n", 1)[0]!.replace("Invalid TOML document: ", "");
    const mistake = { where: `${name}:${error.line}`, what: `is not valid TOML: ${what}.` };
    const doubtful = new Set(SETTINGS.map(nameOf));
    return {
      settings: new Map(),
      eventTypes: [],
      egressTenants: [],
      tenants: new Map(),
      outboxes: [],
      also: [],
      mistakes: [mistake],
      doubtful,
    };
  }
  const settings = new Map<SettingName, FileEntry>();
  const { [EVENT_TYPES]: added = [], [TENANTS]: shares = {}, [OUTBOX]: read = [], ...sections } = table;
  const placeOf = (path: readonly string[]) => `${name}:${lineOf(text, path)}`;
  const { types: eventTypes, mistakes: wrongTypes } = readEventTypes(added, placeOf);
  const { tenants: egressTenants, mistakes: wrongTenants } = readEgressTenants(
    taken(EGRESS_TENANTS, sections),
    placeOf,
  );
  const { tenants, mistakes: wrongShares } = readTenants(shares, placeOf);
  const { outboxes, mistakes: wrongOutboxes } = readOutboxes(read, placeOf, folder);
  const { also, mistakes: wrongAlso } = readAlso(taken(ALSO, sections), placeOf);
  const mistakes = [...wrongTypes, ...wrongTenants, ...wrongShares, ...wrongOutboxes, ...wrongAlso];
  const doubtful = new Set<SettingName>();
  for (const [section, values] of Object.entries(sections)) {
    const keys = SETTINGS.filter((setting) => setting.section === section);
    const where = () => `${name}:${lineOf(text, [section])}`;
    if (keys.length === 0) {
      const isSection = isTable(values) || (Array.isArray(values) && values.some(isTable));
      mistakes.push(isSection ? unknownSection(where(), section) : outsideSections(where(), section));
      for (const name of meantBy(section)) doubtful.add(name);
    } else if (!isTable(values)) {
      mistakes.push({ where: where(), what: `${section} is a section, not a value.`, todo: `Write [${section}].` });
      for (const name of meantBy(section)) doubtful.add(name);
    } else {
      const place = (key: string) => () => `${name}:${lineOf(text, [section, key])}`;
      readSection(section, values, place, { settings, mistakes, doubtful });
    }
  }
  return { settings, eventTypes, egressTenants, tenants, outboxes, also, mistakes, doubtful };
}

interface Found {
  readonly settings: Map<SettingName, FileEntry>;
  readonly mistakes: Mistake[];
  readonly doubtful: Set<SettingName>;
}

function readSection(
  section: string,
  values: Record<string, unknown>,
  place: (key: string) => () => string,
  { settings, mistakes, doubtful }: Found,
): void {
  for (const [key, raw] of Object.entries(values)) {
    const where = place(key);
    const setting = SETTINGS.find((one) => one.section === section && (one.key === key || fileKeyOf(one) === key));
    if (setting === undefined) {
      mistakes.push(unknownKey(where(), section, key));
      for (const name of [...meantBy(section), ...meantBy(key)]) doubtful.add(name);
      continue;
    }
    const name = nameOf(setting);
    const before = settings.get(name);
    // A file that we wrote has every key, so an empty one may stay beside its KEY_file.
    if (before === undefined || before.raw === "") {
      settings.set(name, { raw, isInFile: key !== setting.key, where });
    } else if (raw !== "") {
      const what = `[${section}] has both ${setting.key} and ${setting.key}_file.`;
      mistakes.push({ where: where(), what, todo: "Leave one of them out." });
      doubtful.add(name);
    }
  }
}

/** The settings that an unknown or misplaced section or key may have been meant for. */
export function meantBy(word: string): SettingName[] {
  const near = nearest(word, new Set(SETTINGS.map(({ section }) => section)));
  return SETTINGS.filter(({ section, key }) => section === near || key === word).map(nameOf);
}

/** Takes out the list of sections `name`, which is within a section. The other keys of that section are settings. */
function taken(name: string, sections: Record<string, unknown>): unknown {
  const [section, key] = name.split(".") as [string, string];
  const values = sections[section];
  if (!isTable(values) || !Object.hasOwn(values, key)) return [];
  const { [key]: list, ...settings } = values;
  sections[section] = settings;
  return list;
}

/** Used for variables as well, so that the same mistake gets the same message. */
export function unknownKey(where: string, section: string, key: string): Mistake {
  const keys: string[] = SETTINGS.filter((setting) => setting.section === section).flatMap((setting) => {
    const fileKey = fileKeyOf(setting);
    return fileKey === null ? [setting.key] : [setting.key, fileKey];
  });
  const near = nearest(key, keys);
  const elsewhere = SETTINGS.find((setting) => setting.key === key);
  const todo =
    near !== null
      ? `Did you mean ${near}?`
      : elsewhere !== undefined
        ? `It belongs to [${elsewhere.section}].`
        : `The settings of [${section}] are ${keys.join(", ")}.`;
  return { where, what: `[${section}] ${key} is unknown.`, todo };
}

function unknownSection(where: string, section: string): Mistake {
  const sections = [...new Set<string>(SETTINGS.map((setting) => setting.section)), EVENT_TYPES, TENANTS, OUTBOX];
  const near = nearest(section, sections);
  const meant = near === EVENT_TYPES || near === OUTBOX ? `[[${near}]]` : `[${near}]`;
  const todo = near === null ? `The sections are ${sections.join(", ")}.` : `Did you mean ${meant}?`;
  return { where, what: `[${section}] is unknown.`, todo };
}

function outsideSections(where: string, key: string): Mistake {
  const owner = SETTINGS.find((setting) => setting.key === key);
  const todo = owner && `It belongs to [${owner.section}].`;
  return { where, what: `${key} is outside of any section.`, ...(todo && { todo }) };
}

/**
 * Returns the line on which a key begins. smol-toml keeps no positions, so this parses the file again line by line: the
 * key begins after the longest prefix of the file that parses without it. This is slow, but runs only after a mistake.
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
  if (Array.isArray(table)) return Object.hasOwn(table, key) && has(table[Number(key)], rest);
  return isTable(table) && Object.hasOwn(table, key) && has(table[key], rest);
}
