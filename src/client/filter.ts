/**
 * Reads filters for deliveries as people type them: `status:failed status_code:5xx endpoint:ep_… since:2h`. The keys
 * are the parameters of the API's lists, so a filter that is shown in one place can be typed in any other. Conditions
 * on the events' data are one parameter, but each is typed as its own word: `data.customer_id:cus_123`.
 */
import { nearest } from "../domain/nearest.ts";
import { parseDuration } from "../config/units.ts";
import { ATTEMPT_ERRORS } from "../domain/deliveries/attempt.ts";
import { EVENT_STATUSES } from "../domain/deliveries/delivery.ts";
import { parseDataFilter } from "../domain/events/data-filter.ts";
import { isId } from "../domain/id.ts";
import { type Filter as ListFilter, LISTS } from "../domain/lists.ts";
import { isDay } from "../domain/time/instant.ts";

/** The filters of the lists of events and deliveries. An event has a status more, `unmatched`. */
const { label: _label, ...LISTED } = {
  ...LISTS.deliveries.filters,
  status: LISTS.events.filters.status,
} satisfies Record<string, ListFilter>;

/** Every list takes a tenant. A bare word is a `match`, which the commands turn into an endpoint or a label. */
export const FILTERS = {
  ...LISTED,
  tenant: { form: { takes: "name" }, says: "Only this tenant", example: "acme" },
  match: { form: { takes: "name" }, says: "Only what this word finds", example: "acme" },
} satisfies Record<string, ListFilter>;
export type FilterWord = keyof typeof FILTERS;
export const FILTER_WORDS = Object.keys(FILTERS) as readonly FilterWord[];
/** The words that a job accepts, and the commands that follow deliveries. */
export const DELIVERY_WORDS = [
  "status",
  "type",
  "endpoint",
  "event",
  "error",
  "status_code",
  "since",
  "until",
  "tenant",
  "test",
] as const satisfies readonly FilterWord[];

/** Values as they were typed: `since` may be `2h`. */
export type Filter = { readonly [W in FilterWord]?: string };

export interface FilterMistake {
  /** The index in the text where the word begins. */
  readonly at: number;
  readonly what: string;
  readonly hint: string;
}

export interface ReadFilter {
  readonly filter: Filter;
  readonly mistakes: readonly FilterMistake[];
}

/** Words contain no spaces, except in a quoted value of the data. */
const WORDS = /data\.[^\s:]+:"(?:[^"\\]|\\.)*"(?!\S)|\S+/g;
const CONDITIONS = /[^\s:]+:"(?:[^"\\]|\\.)*"(?!\S)|\S+/g;

export function readFilter(text: string): ReadFilter {
  const filter: { [W in FilterWord]?: string } = {};
  const mistakes: FilterMistake[] = [];
  for (const { 0: typed, index: at } of text.matchAll(WORDS)) {
    const colon = typed.indexOf(":");
    const name = colon < 0 ? typed : typed.slice(0, colon);
    const value = colon < 0 ? "" : typed.slice(colon + 1);
    // A word without a colon is searched for, unless it is the name or the value of a filter.
    const isBare = colon < 0 && alone(name) === null && filter.match === undefined;
    const word = isBare ? "match" : FILTER_WORDS.find((known) => known === name);
    const ofData = typed.startsWith("data.") ? typed.slice("data.".length) : null;
    const add = (what: string, hint: string) => mistakes.push({ at, what, hint });
    if (ofData !== null) {
      const all = filter.data === undefined ? ofData : `${filter.data} ${ofData}`;
      const fault = faultOf("data", all);
      if (fault === null) filter.data = all;
      else add(`"${typed}" does not say what to look for`, fault);
    } else if (word === undefined && colon < 0 && alone(name) === null)
      add(
        `"${filter.match}" and "${typed}" cannot be searched for together`,
        `Leave one of them out, or name a filter: tenant:${typed}.`,
      );
    else if (word === undefined) add(`"${typed}" is not a filter`, alone(name) ?? strange(typed));
    else if (isBare) filter.match = typed;
    else if (value === "") add(`${word}: needs a value`, `For example ${exampleOf(word)}.`);
    else if (filter[word] !== undefined) add(`${word}: is given twice`, "Give it once.");
    else {
      const fault = faultOf(word, value);
      if (fault === null) filter[word] = value;
      else add(`${word}: does not take "${value}"`, fault);
    }
  }
  return { filter, mistakes };
}

export function printFilter(filter: Filter): string {
  const printed = (word: FilterWord, value: string) =>
    word === "data" ? value.match(CONDITIONS)!.map((condition) => `data.${condition}`) : [`${word}:${value}`];
  return FILTER_WORDS.flatMap((word) => (filter[word] === undefined ? [] : printed(word, filter[word]))).join(" ");
}

/** Returns parameters for the API. `now`, in epoch milliseconds, resolves durations such as `2h`. */
export function queryOf(filter: Filter, now: number): { [W in FilterWord]?: string } {
  const settled = Object.entries(filter).map(([word, text]) => {
    const { form }: ListFilter = FILTERS[word as FilterWord];
    return [word, form.takes === "instant" ? readInstant(text, now)!.instant : text];
  });
  return Object.fromEntries(settled) as { [W in FilterWord]?: string };
}

/** Returns a hint that corrects an invalid value, or null if the value is valid. */
export function faultOf(word: FilterWord, value: string): string | null {
  const { form }: ListFilter = FILTERS[word];
  switch (form.takes) {
    case "one of":
      return oneOf(value, form.values);
    case "some of":
      return someOf(value, form.values);
    case "name":
    case "names": {
      const { like } = form;
      const all = form.takes === "names" ? value.split(",") : [value];
      return like === undefined || all.every((one) => like.pattern.test(one)) ? null : like.fault;
    }
    case "id":
      return isId(form.prefix, value)
        ? null
        : `It must be the id of an ${form.prefix === "ep" ? "endpoint" : "event"}: ${form.prefix}_ followed by 26 characters.`;
    case "status code":
      return /^[1-9](?:\d\d|xx)$/.test(value) ? null : "It must be a status such as 503, or 5xx for 500 to 599.";
    case "instant":
      return readInstant(value, 0) === null
        ? "It must be a time such as 2h (ago), 12:00 (UTC) or 2026-11-20T09:00Z."
        : null;
    case "data":
      return parseDataFilter(value) === null ? "For example data.customer.id:cus_123; at most 5 of them." : null;
    case "flag":
      return oneOf(value, ["true", "false"]);
  }
}

const DAY_MS = 86_400_000;

/**
 * Reads a duration (that long ago), a time of day (its most recent occurrence) or an instant. Without an offset, times
 * are UTC. Returns null for any other text.
 */
export function readInstant(text: string, now: number): { readonly instant: string } | null {
  const duration = parseDuration(text);
  if (duration !== null) return { instant: new Date(now - duration).toISOString() };
  if (/^\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?$/.test(text)) {
    const today = readInstant(`${new Date(now).toISOString().slice(0, 10)}T${text}`, now);
    if (today === null) return null;
    // With an offset, the time may be on the UTC day before or after this one.
    const since = (((now - Date.parse(today.instant)) % DAY_MS) + DAY_MS) % DAY_MS;
    return { instant: new Date(now - since).toISOString() };
  }
  const match = /^(\d{4})-(\d\d)-(\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/.exec(text);
  if (match === null || !isDay(Number(match[1]), Number(match[2]), Number(match[3]))) return null;
  const zoned = /T/.test(text) && !/(Z|[+-]\d\d:\d\d)$/.test(text) ? `${text}Z` : text;
  const time = Date.parse(zoned);
  return Number.isNaN(time) ? null : { instant: new Date(time).toISOString() };
}

/** Returns a filter as it is typed. */
function exampleOf(word: FilterWord): string {
  return `${word}${word === "data" ? "." : ":"}${FILTERS[word].example}`;
}

function oneOf(value: string, known: readonly string[]): string | null {
  return known.includes(value) ? null : guess(value, known, `It must be one of ${list(known)}.`);
}

/**
 * Returns a suggestion for a value without its filter's name, or for a name without a value. Null for any other word.
 */
function alone(word: string): string | null {
  if (EVENT_STATUSES.some((status) => status === word)) return `Did you mean status:${word}?`;
  if (ATTEMPT_ERRORS.some((error) => error === word)) return `Did you mean error:${word}?`;
  const near = nearest(word, FILTER_WORDS);
  return near === null ? null : `Did you mean ${near}?`;
}

/** Returns the hint for a word that resembles no filter. */
function strange(typed: string): string {
  return `The filters are ${list(FILTER_WORDS)}. For what an event's data says: data.${typed}.`;
}

/** Checks several values, separated by commas. */
function someOf(value: string, known: readonly string[]): string | null {
  return value.split(",").reduce<string | null>((fault, part) => fault ?? oneOf(part, known), null);
}

function guess(typed: string, known: readonly string[], otherwise: string): string {
  const near = nearest(typed, known);
  return near === null ? otherwise : `Did you mean ${near}?`;
}

function list(words: readonly string[]): string {
  return words.join(", ");
}
