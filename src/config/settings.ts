import { dirname, relative, resolve } from "node:path";
import type { TenantNetworks } from "../domain/network/address.ts";
import { mayBeReplaced, NotUtf8 } from "../domain/utf8.ts";
import type { FurtherSignature } from "../domain/endpoints/further-signature.ts";
import type { EventType } from "../domain/events/event-type.ts";
import type { OutboxSettings } from "../domain/outbox/outbox.ts";
import type { TenantShare } from "../domain/time/timetable.ts";
import { ConfigError, type Mistake } from "./mistake.ts";
import { nearest } from "../domain/nearest.ts";
import { meantBy, readFileContent, unknownKey } from "./file.ts";
import { ForeignFile, type ConfigInputs } from "./inputs.ts";
import { fromText, KINDS, readOr } from "./kinds.ts";
import {
  DEFAULTS,
  fileVariableOf,
  holdsSecret,
  nameOf,
  readSetting,
  SETTINGS,
  variableOf,
  type Setting,
  type SettingName,
  type Settings,
} from "./schema.ts";

export interface LoadedSettings {
  readonly settings: Settings;
  readonly eventTypes: readonly EventType[];
  readonly egressTenants: readonly TenantNetworks[];
  readonly tenants: ReadonlyMap<string, TenantShare>;
  readonly outboxes: readonly OutboxSettings[];
  readonly also: readonly FurtherSignature[];
  readonly file: string | null;
  /** The origin of each setting that is not at its default: `webhookd.toml:14`, a variable or a flag. */
  readonly origins: ReadonlyMap<SettingName, () => string>;
  /** The files with a secret that every user of this host can read. */
  readonly openSecrets: readonly string[];
}

interface Given {
  readonly raw: unknown;
  /** True if `raw` names a file that contains the value. */
  readonly isInFile: boolean;
  where(): string;
  readonly folder: string;
}

/** Kubernetes sets such variables for a service whose name begins with webhookd. */
const SERVICE_LINK = /_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_\d+_(TCP|UDP)(_.*)?)?)$/;

/** The settings, and the mistakes in them. A setting with a wrong value has its default. */
export interface ReadSettings extends LoadedSettings {
  readonly mistakes: readonly Mistake[];
  /** False for a setting that has its default only because the given value is wrong. */
  isSure(name: SettingName): boolean;
}

/** Like `readSettings`, but throws a ConfigError with every mistake in the values. */
export function loadSettings(inputs: ConfigInputs, known: string | null = null): LoadedSettings {
  const read = readSettings(inputs, known);
  if (read.mistakes.length > 0) throw new ConfigError(read.mistakes);
  return read;
}

/**
 * Flags override variables, which override the file, which overrides the defaults. `known` is the file that was read
 * before. No other file is searched for, because without this one every setting would have its default.
 */
export function readSettings(inputs: ConfigInputs, known: string | null = null): ReadSettings {
  const { given, mistakes, doubtful, ...read } = readConfigFile(inputs, known);
  const unknown = addVariables(given, inputs);
  mistakes.push(...unknown.map(({ mistake }) => mistake));
  for (const { section } of unknown) for (const name of meantBy(section)) doubtful.add(name);
  for (const { name, flag, text } of inputs.flags.settings ?? []) {
    const setting = SETTINGS.find((known) => nameOf(known) === name)!;
    given.set(name, { raw: fromText(setting.kind, text), isInFile: false, where: () => flag, folder: inputs.cwd });
  }
  const values: Partial<Record<SettingName, unknown>> = {};
  const origins = new Map<SettingName, () => string>();
  const openSecrets: string[] = [];
  for (const setting of SETTINGS) {
    const name = nameOf(setting);
    const named = given.get(name);
    if (named === undefined) continue;
    const entry = named.isInFile ? contentOf(setting, named, inputs, { mistakes, openSecrets }) : named;
    if (entry === null) {
      doubtful.add(name);
      continue;
    }
    const value = readOr(
      () => readSetting(setting, entry.raw, entry.folder),
      (wanted) => mistakes.push(wrongValue(setting, entry, wanted)),
    );
    if (value === undefined) {
      doubtful.add(name);
      continue;
    }
    values[name] = value;
    origins.set(name, entry.where);
  }
  const settings = { ...DEFAULTS, ...values } as Settings;
  const isSure = (name: SettingName) => Object.hasOwn(values, name) || !doubtful.has(name);
  return { ...read, settings, origins, openSecrets, mistakes, isSure };
}

/** Reads the secret from the file that the setting names. Returns null after a mistake, and if no secrets are read. */
function contentOf(
  setting: Setting,
  { raw, where, folder }: Given,
  inputs: ConfigInputs,
  found: { readonly mistakes: Mistake[]; readonly openSecrets: string[] },
): Given | null {
  const key = `[${setting.section}] ${setting.key}_file`;
  const wrong = (what: string, todo?: string) => found.mistakes.push({ where: where(), what, ...(todo && { todo }) });
  const path = readOr(
    () => KINDS.path.read(raw, {}, folder),
    (wanted) => wrong(`${key} is not ${wanted}.`),
  );
  if (path === undefined) return null;
  if (path === "") return { raw: setting.default, isInFile: false, where, folder };
  const read = inputs.readSecret(path);
  if (read === null) return null;
  if ("refused" in read) {
    wrong(
      `${key}: ${path}${read.refused}.`,
      "The file must hold one line of text, and this user must be able to read it.",
    );
    return null;
  }
  if (read.isOpen) found.openSecrets.push(path);
  return { raw: read.text, isInFile: false, where: () => `${where()} (${path})`, folder };
}

interface ReadFile {
  readonly file: string | null;
  readonly given: Map<SettingName, Given>;
  readonly eventTypes: readonly EventType[];
  readonly egressTenants: readonly TenantNetworks[];
  readonly tenants: ReadonlyMap<string, TenantShare>;
  readonly outboxes: readonly OutboxSettings[];
  readonly also: readonly FurtherSignature[];
  readonly mistakes: Mistake[];
  readonly doubtful: Set<SettingName>;
}

function readConfigFile(inputs: ConfigInputs, known: string | null): ReadFile {
  const given = new Map<SettingName, Given>();
  const asked = inputs.flags.config;
  const named = asked ?? known;
  const places = named === null ? ["webhookd.toml", "/etc/webhookd/webhookd.toml"] : [named];
  for (const place of places) {
    const file = resolve(inputs.cwd, place);
    const shown = relative(inputs.cwd, file).startsWith("..") ? file : relative(inputs.cwd, file);
    const text = readOrSay(inputs, { file, shown }, asked === undefined);
    if (text === null) continue;
    if (typeof text !== "string") return unread(file, text);
    const found = readFileContent(text, shown, dirname(file));
    for (const [name, entry] of found.settings) given.set(name, { ...entry, folder: dirname(file) });
    const { eventTypes, egressTenants, tenants, outboxes, also } = found;
    const [mistakes, doubtful] = [[...found.mistakes], new Set(found.doubtful)];
    return { file, given, eventTypes, egressTenants, tenants, outboxes, also, mistakes, doubtful };
  }
  if (asked !== undefined)
    return unread(null, { where: "--config", what: `there is no file ${resolve(inputs.cwd, asked)}.` });
  if (known !== null) return unread(null, missingFile(known));
  return {
    file: null,
    given,
    eventTypes: [],
    egressTenants: [],
    tenants: new Map(),
    outboxes: [],
    also: [],
    mistakes: [],
    doubtful: new Set(),
  };
}

/** An unreadable file may have set any setting. */
function unread(file: string | null, mistake: Mistake): ReadFile {
  const doubtful = new Set(SETTINGS.map(nameOf));
  const nothing = { given: new Map(), eventTypes: [], egressTenants: [], tenants: new Map(), outboxes: [], also: [] };
  return { file, ...nothing, mistakes: [mistake], doubtful };
}

const SAVE_AS_UTF8 = "Save the file as UTF-8.";
const SET_AS_UTF8 = "Set it in UTF-8.";

/**
 * A file that was found automatically may belong to another user, who could then decide where keys and passphrases go.
 */
function readOrSay(
  inputs: ConfigInputs,
  { file, shown }: { readonly file: string; readonly shown: string },
  onlyOwn: boolean,
): string | Mistake | null {
  try {
    return inputs.readFile(file, onlyOwn);
  } catch (error) {
    if (error instanceof ForeignFile) return foreignFile(file, error.message);
    if (error instanceof NotUtf8) return { where: `${shown}:${error.line}`, what: "is not UTF-8.", todo: SAVE_AS_UTF8 };
    return { where: file, what: `cannot be read (${(error as NodeJS.ErrnoException).code}).` };
  }
}

function foreignFile(file: string, how: string): Mistake {
  return {
    where: file,
    what: `${how}, and it was found automatically rather than named with --config.`,
    why: "It decides where keys and passphrases are sent.",
    todo: `Make sure only you can change it (chown, chmod go-w) or, if you trust it, name it: --config ${file}.`,
  };
}

function missingFile(file: string): Mistake {
  return {
    where: file,
    what: "is no longer there, but the configuration was read from it.",
    todo: "Put it back and send SIGHUP again, or restart the daemon to run without it.",
  };
}

/**
 * A misspelt variable would silently have no effect. So variables that name a section, or nearly name a setting, must
 * be known.
 */
function addVariables(given: Map<SettingName, Given>, { env, cwd }: ConfigInputs) {
  const mistakes: { readonly section: string; readonly mistake: Mistake }[] = [];
  const known = new Map(SETTINGS.map((setting) => [variableOf(setting), setting]));
  const files = new Map(SETTINGS.map((setting) => [fileVariableOf(setting) ?? "", setting]));
  const sections = new Set(SETTINGS.map((setting) => setting.section));
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith("WEBHOOKD_") || text === undefined) continue;
    const setting = known.get(variable) ?? files.get(variable);
    if (setting !== undefined && mayBeReplaced(text)) {
      mistakes.push({
        section: setting.section,
        mistake: { where: variable, what: "is not UTF-8.", todo: SET_AS_UTF8 },
      });
      continue;
    }
    if (setting !== undefined) {
      const isInFile = files.has(variable);
      // It names no file. Taking it for an empty value would put the default in the place of what the file says.
      if (isInFile && text === "") continue;
      if (isInFile && env[variableOf(setting)]) {
        const what = `${variableOf(setting)} is set as well.`;
        mistakes.push({ section: setting.section, mistake: { where: variable, what, todo: "Unset one of them." } });
        continue;
      }
      if (!isInFile && text === "" && given.get(nameOf(setting))?.where() === fileVariableOf(setting)) continue;
      const raw = fromText(isInFile ? "path" : setting.kind, text);
      given.set(nameOf(setting), { raw, isInFile, where: () => variable, folder: cwd });
      continue;
    }
    const words = /^WEBHOOKD_([A-Z]+)_(\w+)$/.exec(variable) ?? [];
    const [section = "", key = ""] = words.slice(1).map((word) => word.toLowerCase());
    if (SERVICE_LINK.test(variable)) continue;
    const meant = SETTINGS.find((one) => isMisspelt(variable, one));
    if ([...sections].some((name) => name === section)) {
      mistakes.push({ section, mistake: unknownKey(variable, section, key) });
    } else if (meant !== undefined) {
      const todo = `Did you mean ${variableOf(meant)}?`;
      mistakes.push({
        section: meant.section,
        mistake: { where: variable, what: "is the variable of no setting.", todo },
      });
    }
  }
  return mistakes;
}

/** Matches `WEBHOOKD_DATADIR`, or a setting's key in a misspelt section. */
function isMisspelt(variable: string, setting: Setting): boolean {
  const letters = (text: string) => text.replaceAll("_", "");
  if (letters(variable) === letters(variableOf(setting))) return true;
  const key = `_${setting.key.toUpperCase()}`;
  return variable.endsWith(key) && nearest(variable.slice("WEBHOOKD_".length, -key.length), [setting.section]) !== null;
}

function wrongValue(setting: Setting, { raw, where }: Given, wanted: string): Mistake {
  // Even half of a password is too much to show on a screen.
  if (holdsSecret(setting)) return { where: where(), what: `[${setting.section}] ${setting.key} is not ${wanted}.` };
  const shown = typeof raw === "string" ? `"${raw}"` : Array.isArray(raw) ? JSON.stringify(raw) : String(raw);
  const cut = shown.length > 80 ? `${shown.slice(0, 80)}…` : shown;
  return { where: where(), what: `[${setting.section}] ${setting.key} = ${cut} is not ${wanted}.` };
}
