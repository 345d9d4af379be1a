/**
 * The words of the page, in the language that was chosen before it was drawn. It stays the same until the page is
 * loaded again, so no component has to be told of it.
 */
import type { Key, Language, Places, PlainKey, Text } from "./catalogue.ts";
import { english } from "./english.ts";

export const ENGLISH: Language = { tag: "en", texts: english, api: null };

let spoken = ENGLISH;
/** A tag of BCP 47, which may name a region too. It decides how dates and numbers are written. */
let locale = "en-US";
let rules = new Intl.PluralRules(locale);
let numbers = new Intl.NumberFormat(locale);

export function speak(language: Language, within: string): void {
  spoken = language;
  locale = within;
  rules = new Intl.PluralRules(locale);
  numbers = new Intl.NumberFormat(locale);
}

export function localeNow(): string {
  return locale;
}

export function languageNow(): Language {
  return spoken;
}

/** The values of the places in a text. Numbers are written as the language does. */
type Values<K extends Key> = { readonly [Name in Places<K>]: string | number };
type Args<K extends Key> = [Places<K>] extends [never] ? [] : [values: Values<K>];

/** Returns a text of the catalogue. */
export function t<K extends PlainKey>(key: K, ...[values]: Args<K>): string {
  const given: Readonly<Record<string, string | number>> = values ?? {};
  return formOf(spoken.texts[key], given["count"]).replaceAll(PLACE, (_, name: string) => written(given[name] ?? ""));
}

export const PLACE = /\{(\w+)\}/g;

/** Returns the form of a text for the count. */
export function formOf(text: Text, count: unknown): string {
  if (typeof text === "string") return text;
  return text[rules.select(Number(count))] ?? text.other;
}

export function written(value: string | number): string {
  return typeof value === "number" ? numbers.format(value) : value;
}

/** Writes a number with so many digits after the point. */
export function fixed(value: number, digits: number): string {
  const form = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat(locale, form).format(value);
}

export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
