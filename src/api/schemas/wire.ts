/** What every shape on the wire is made of: `interface.md` §1. Answers may gain fields, so their objects are open. */
import * as v from "valibot";
import { idPattern } from "../../domain/id.ts";
import { TENANT } from "../../domain/tenant.ts";
import { unknownType } from "../expectation.ts";

export const id = (prefix: string) => v.pipe(v.string(), v.regex(idPattern(prefix)));

/** ISO 8601 UTC with milliseconds. */
export const Instant = v.pipe(v.string(), v.isoTimestamp());

export const Tenant = v.pipe(v.string(), v.regex(TENANT));

export const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** The name of an event type. The catalogue is asked each time, because it changes while the daemon runs. */
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

export function described<const S extends v.GenericSchema>(schema: S, description: string) {
  return v.pipe(schema, v.description(description));
}

/** A schema with a title becomes a component of that name. */
export function titled<const S extends v.GenericSchema>(title: string, schema: S) {
  return v.pipe(schema, v.title(title));
}

export const aPageOf = (item: unknown) => ({ data: [item], next_cursor: null });

/** A page of a list. */
export function pageOf<const S extends v.GenericSchema>(item: S) {
  return v.object({
    data: v.array(item),
    next_cursor: described(
      v.nullable(v.string()),
      "Where the next page begins; null at the end of the list. A page may be short, even empty, while it is set.",
    ),
  });
}
