/** Schemas that all routes share. Objects in answers are open, because answers may gain fields. */
import * as v from "valibot";
import { ATTEMPT_ERRORS } from "../../domain/deliveries/attempt.ts";
import { idPattern, TENANT } from "../../domain/id.ts";
import { unknownType } from "./body.ts";

export const id = (prefix: string) => v.pipe(v.string(), v.regex(idPattern(prefix)));

/** ISO 8601 UTC with milliseconds. */
export const Instant = v.pipe(v.string(), v.isoTimestamp());
export const Tenant = v.pipe(v.string(), v.regex(TENANT));
export const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** The name of an event type. Reads the catalogue each time, because it changes while the daemon runs. */
export function typeName(types: ReadonlyMap<string, unknown>) {
  return v.pipe(
    v.string(),
    v.check(
      (name) => types.has(name),
      ({ input }) => `unknown_event_type: ${unknownType(input, types)}`,
    ),
    v.metadata({
      get enum() {
        return [...types.keys()];
      },
    }),
  );
}

/** Any JSON object. `v.record` would drop keys such as `constructor`. */
export const AnyObject = v.looseObject({});

/** Accepts any object in a request. `v.record` would silently drop keys such as `constructor`. */
export function anObject() {
  const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  return v.pipe(
    v.custom<Record<string, unknown>>(isObject, "invalid_type: must be an object"),
    v.metadata({ type: "object" }),
  );
}

export function described<const S extends v.GenericSchema>(schema: S, description: string) {
  return v.pipe(schema, v.description(description));
}

/** Gives a schema a title, which makes it a component of that name. */
export function titled<const S extends v.GenericSchema>(title: string, schema: S) {
  return v.pipe(schema, v.title(title));
}

/** Marks a schema that is described where it is used, and holds the name of its component. */
export const NAME = "x-name";

/** Makes a schema a component of that name, without its description: each use of it can say something else. */
export function named<const S extends v.GenericSchema>(name: string, schema: S) {
  return v.pipe(schema, v.metadata({ [NAME]: name }));
}

/** The cause of an attempt that failed. */
export const AttemptError = named("AttemptError", v.picklist(ATTEMPT_ERRORS));

/** Marks the schema of an object that has all fields of another one. Holds that one. */
export const BASE = "x-base";

/** Describes an object by another one, and by the fields that only this one has. */
export function extending<const B extends v.ObjectEntries, const O extends v.ObjectEntries>(
  title: string,
  base: { readonly entries: B },
  own: O,
) {
  const object: v.ObjectSchema<Omit<B, keyof O> & O, undefined> = v.object({ ...base.entries, ...own });
  return titled(title, v.pipe(object, v.metadata({ [BASE]: base })));
}

export const aPageOf = (item: unknown) => ({ data: [item], next_cursor: null });

/** A field that a caller may send back as it read it. */
export function asRead(shape: v.GenericSchema, description = "Ignored."): v.GenericSchema {
  return v.optional(v.pipe(shape, v.metadata({ readOnly: true, description })));
}

/** Marks the schemas of pages, with the names of their own fields. */
export const IS_PAGE = "x-page";

/** Describes a page of a list. `own` has the fields that only this list has. */
export function pageSchema<const S extends v.GenericSchema, const O extends v.ObjectEntries = {}>(
  item: S,
  own: O = {} as O,
) {
  const page = v.object({
    ...own,
    data: v.array(item),
    next_cursor: described(
      v.nullable(v.string()),
      "Pass it as `cursor` to get the next page; null at the end of the list.",
    ),
    cut_short: v.optional(
      described(
        v.literal(true),
        "Finding these rows took too long, or what they say is too large for one page: the page is short, perhaps empty, and the list continues at `next_cursor`.",
      ),
    ),
    searched: v.optional(
      described(
        v.object({
          events: described(Count, "How many events this page searched."),
          until: described(
            v.nullable(Instant),
            "When the last event searched was received; null at the end of the list.",
          ),
        }),
        "With `data`: how far the search got. Nothing up to there is missing; the search continues at `next_cursor`.",
      ),
    ),
    total: v.optional(
      described(Count, "With `total=true`: the number of rows on all pages. Left out if counting takes too long."),
    ),
    total_is: v.optional(
      described(
        v.picklist(["exact", "at_least"]),
        "With `total`: `at_least` if there are more, because counting stops at 10,000.",
      ),
    ),
  });
  return v.pipe(page, v.metadata({ [IS_PAGE]: ["data", ...Object.keys(own)] }));
}

/**
 * Control characters, line separators and invisible characters, including bidi marks, because terminals show labels.
 */
const FORBIDDEN_TEXT = /[\p{Cc}\u2028\u2029]|(?!\p{Join_Control}|\ufe0e|\ufe0f)\p{Default_Ignorable_Code_Point}/u;
/** Joiners and emoji variation selectors are meaningful only after a non-ASCII character. */
const LOOSE_JOINER = /(?<![^\x00-\x7f\s])(?:\p{Join_Control}|\ufe0e|\ufe0f(?!\u20e3))/u;
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/u;

/** One line of text. */
export function line(maxLength: number) {
  return v.pipe(
    v.string(),
    v.check((text) => lengthOf(text) <= maxLength, `too_long: must be at most ${maxLength} characters`),
    v.check(isPlainText, "forbidden_char: must not contain control, bidi or invisible characters"),
    v.metadata({ maxLength }),
  );
}

/** True for one line of text that is safe to show. */
export function isPlainText(text: string): boolean {
  return !FORBIDDEN_TEXT.test(text) && !LOOSE_JOINER.test(text);
}

/** True for text without invisible characters, because names that look the same must be the same. */
export function isSeenWhole(text: string): boolean {
  return !INVISIBLE.test(text);
}

/** Returns the number of characters as people count them, not of UTF-16 units. */
export function lengthOf(text: string): number {
  return [...text].length;
}

const LEAST_RATE = 0.001;

/** Accepts a rate per second. Below the minimum, it would look as if nothing were sent at all. */
export function rate(maximum: number) {
  return v.pipe(
    v.number(),
    v.gtValue(0),
    v.check((value) => value <= 0 || value >= LEAST_RATE, `out_of_range: must be at least ${LEAST_RATE}`),
    v.maxValue(maximum),
  );
}
