/** Event types as callers see them. */
import * as v from "valibot";
import { BUILT_IN_TYPES } from "../../domain/built-in-types.ts";
import { AnyObject, described, pageOf, titled } from "./wire.ts";

export const EventType = titled(
  "EventType",
  v.object({
    name: v.string(),
    description: v.string(),
    schema: described(
      AnyObject,
      "JSON Schema 2020-12 of `data`. With `[events] validate` publishes are held against it.",
    ),
    sample: described(AnyObject, "The `data` of a test event."),
    source: described(
      v.picklist(["specified", "example"]),
      "Whether the data is specified, or no more than an example of what it may be.",
    ),
  }),
);

export const EventTypePage = pageOf(EventType);

export const anEventType = BUILT_IN_TYPES[0]!;
