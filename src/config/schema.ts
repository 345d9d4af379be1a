/**
 * Every setting, as data: parsing, defaults, variable names, messages and config.example.toml are derived from here. It
 * contains only settings that some code reads.
 */
import { KINDS, type Bounds, type SettingShape, type Values } from "./kinds.ts";
import { OPERATION, UPKEEP } from "./schema/operation.ts";
import { SENDING } from "./schema/sending.ts";
import { SERVER } from "./schema/server.ts";
import { STORAGE } from "./schema/storage.ts";

/** All settings, in the order of config.example.toml. */
export const SETTINGS = [...SERVER, ...STORAGE, ...SENDING, ...UPKEEP, ...OPERATION] as const;

export type Setting = (typeof SETTINGS)[number];
export type SettingName = NameOf<Setting>;
type NameOf<S extends Setting> = S extends Setting ? `${S["section"]}.${S["key"]}` : never;

/** A value for every setting. */
export type Settings = { readonly [S in Setting as NameOf<S>]: ValueOf<S> };
type ValueOf<S extends Setting> = S extends { options: readonly (infer O)[] } ? O : Values[S["kind"]];

/** The same settings as objects: `server.max_event_bytes` is `server.maxEventBytes`. */
export type Sections = { readonly [C in Setting["section"]]: Section<Extract<Setting, { section: C }>> };
type Section<S extends Setting> = { readonly [T in S as Camel<T["key"]>]: ValueOf<T> };
type Camel<K extends string> = K extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : K;

export function isLive(setting: SettingShape): boolean {
  return setting.live === true;
}

export function holdsSecret(setting: SettingShape): boolean {
  return setting.holdsSecret === true;
}

/**
 * A secret can also be in a file of its own: `KEY_file` names it in the configuration, and the same ending makes the
 * variable. Returns null for a setting without a secret.
 */
export function fileKeyOf(setting: Setting): string | null {
  return holdsSecret(setting) ? `${setting.key}_file` : null;
}

export function fileVariableOf(setting: Setting): string | null {
  return holdsSecret(setting) ? `${variableOf(setting)}_FILE` : null;
}

export function nameOf(setting: Setting): SettingName {
  return `${setting.section}.${setting.key}` as SettingName;
}

export function variableOf(setting: Setting): string {
  return `WEBHOOKD_${setting.section}_${setting.key}`.toUpperCase();
}

/** Reads a setting's value, given as in a file; throws a `ValueFault`. */
export function readSetting(setting: Setting, raw: unknown, folder: string): Settings[SettingName] {
  return KINDS[setting.kind].read(raw, setting as Bounds, folder) as Settings[SettingName];
}

export function writeSetting(setting: Setting, value: Settings[SettingName]): string {
  const write = KINDS[setting.kind].write as (value: unknown) => string;
  return write(value);
}

/** Formats each value as both valid JSON and valid TOML, with secrets masked. */
export function settingsTexts(values: Settings): Readonly<Record<SettingName, string>> {
  const texts = SETTINGS.map((setting) => {
    const value = values[nameOf(setting)];
    return [nameOf(setting), writeSetting(setting, holdsSecret(setting) ? masked(value as string) : value)];
  });
  return Object.fromEntries(texts) as Record<SettingName, string>;
}

/** Masks an address whose path, query or password may give access. */
function masked(text: string): string {
  const [, scheme, user = "", where] = /^(postgres(?:ql)?:\/\/)([^@]*@)?([^?]*)/.exec(text) ?? [];
  if (scheme !== undefined) return `${scheme}${user.replace(/:.*@/, ":…@")}${where}`;
  const url = URL.parse(text);
  if (text === "" || url === null) return text === "" ? "" : "…";
  return `${url.origin}/…`;
}

export const DEFAULTS = Object.fromEntries(
  SETTINGS.map((setting) => [nameOf(setting), readSetting(setting, setting.default, "/")]),
) as unknown as Settings;

export function sectionsOf(settings: Settings): Sections {
  const sections: Record<string, Record<string, unknown>> = {};
  for (const setting of SETTINGS) {
    const key = setting.key.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    (sections[setting.section] ??= {})[key] = settings[nameOf(setting)];
  }
  return sections as unknown as Sections;
}
