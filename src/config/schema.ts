/**
 * Every setting there is, as data: parsing, defaults, variable names, messages and config.example.toml come from here.
 * Only settings that some code reads.
 */
import { KINDS, type Bounds, type Values } from "./kinds.ts";
import { OPERATION } from "./schema/operation.ts";
import { SENDING } from "./schema/sending.ts";
import { SERVER } from "./schema/server.ts";
import { STORAGE } from "./schema/storage.ts";
import { UPKEEP } from "./schema/upkeep.ts";
import type { SettingShape } from "./schema/setting.ts";

/** In the order of config.example.toml. */
export const SETTINGS = [...SERVER, ...STORAGE, ...SENDING, ...UPKEEP, ...OPERATION] as const;

export type Setting = (typeof SETTINGS)[number];
export type SettingName = NameOf<Setting>;
type NameOf<S extends Setting> = S extends Setting ? `${S["section"]}.${S["key"]}` : never;

/** A value for every setting. */
export type Settings = { readonly [S in Setting as NameOf<S>]: ValueOf<S> };
type ValueOf<S extends Setting> = S extends { options: readonly (infer O)[] } ? O : Values[S["kind"]];

export function isLive(setting: SettingShape): boolean {
  return setting.live === true;
}

export function holdsSecret(setting: SettingShape): boolean {
  return setting.holdsSecret === true;
}

export function nameOf(setting: Setting): SettingName {
  return `${setting.section}.${setting.key}` as SettingName;
}

export function variableOf(setting: Setting): string {
  return `WEBHOOKD_${setting.section}_${setting.key}`.toUpperCase();
}

/** The value of a setting given as a file would have it; throws a `ValueFault`. */
export function readSetting(setting: Setting, raw: unknown, folder: string): Settings[SettingName] {
  return KINDS[setting.kind].read(raw, setting as Bounds, folder) as Settings[SettingName];
}

export function writeSetting(setting: Setting, value: Settings[SettingName]): string {
  const write = KINDS[setting.kind].write as (value: unknown) => string;
  return write(value);
}

export const DEFAULTS = Object.fromEntries(
  SETTINGS.map((setting) => [nameOf(setting), readSetting(setting, setting.default, "/")]),
) as unknown as Settings;
