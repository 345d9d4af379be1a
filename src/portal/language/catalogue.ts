/** The types of the page's texts. English decides which texts there are, and what is filled into each. */
import type { ErrorCode, FieldCode } from "../../domain/errors.ts";
import type { Reason } from "../../domain/events/why.ts";
import type { english } from "./english.ts";

/** The forms of a text with a `{count}`, by the categories of `Intl.PluralRules`. */
type Forms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };

/** In a text, `{name}` stands for what is filled in, and `<name>…</name>` is around what becomes an element. */
export type Text = string | Forms;

type English = typeof english;
export type Key = keyof English;

/** A language lacks no text, and counts where English does. */
export type Texts = { readonly [K in Key]: English[K] extends string ? string : Forms };

/** The codes whose refusal the page says in its own words. Others have details that only the API's message has. */
export const KNOWN_FAULTS = [
  "unauthorized",
  "forbidden",
  "not_found",
  "request_timeout",
  "event_not_failed",
  "delivery_behind",
  "delivery_settled",
  "endpoint_disabled",
  "endpoint_damaged",
  "endpoint_limit",
  "rotation_in_progress",
  "not_rotating",
  "canary_failed",
  "job_ended",
  "plan_changed",
  "payload_too_large",
  "rate_limited",
  "internal",
  "overloaded",
  "shutting_down",
  "storage_unavailable",
  "storage_full",
  "missing_field",
  "invalid_type",
  "invalid_syntax",
  "out_of_range",
  "too_long",
  "too_few",
  "forbidden_char",
  "invalid_secret",
  "invalid_header",
  "url_invalid",
  "url_too_long",
  "url_scheme",
  "url_userinfo",
  "url_fragment",
  "url_forbidden_char",
  "host_invalid",
  "host_single_label",
  "host_special_use",
  "host_metadata",
  "host_is_ip",
  "port_not_allowed",
  "address_not_public",
  "address_metadata",
  "address_denied",
  "address_self",
  "unknown_event",
] as const satisfies readonly (ErrorCode | FieldCode)[];

/** The page's own words for what the API says in English: refusals, and why an event did not arrive. */
export interface ApiTexts {
  readonly faults: Readonly<Record<(typeof KNOWN_FAULTS)[number], string>>;
  readonly reasons: Readonly<Record<Reason["code"], string>>;
}

export const TAGS = ["en", "de", "fr", "es", "ja"] as const;
export type Tag = (typeof TAGS)[number];

export interface Language {
  readonly tag: Tag;
  readonly texts: Texts;
  /** Null for English, in which the API speaks. */
  readonly api: ApiTexts | null;
}

type Written<T> = T extends string ? T : T[keyof T];
type PlacesIn<T> = T extends `${string}{${infer Name}}${infer Rest}` ? Name | PlacesIn<Rest> : never;
type MarksIn<T> = T extends `${string}</${infer Name}>${infer Rest}` ? Name | MarksIn<Rest> : never;

/** The names of what is filled into a text. */
export type Places<K extends Key> = PlacesIn<Written<English[K]>>;
/** The names of the elements in a text. */
export type Marks<K extends Key> = MarksIn<Written<English[K]>>;
/** The texts into which nothing is filled. */
export type WordKey = { [K in Key]: [Places<K> | Marks<K>] extends [never] ? K : never }[Key];
/** The texts without elements. */
export type PlainKey = { [K in Key]: [Marks<K>] extends [never] ? K : never }[Key];
