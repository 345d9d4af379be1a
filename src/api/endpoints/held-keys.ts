/** The held keys of an endpoint as callers see them. */
import * as v from "valibot";
import { HELD_KEYS_LIMIT, type HeldKeys as HeldKeysNow } from "../../domain/deliveries/ordering.ts";
import { formatInstant } from "../../domain/time/instant.ts";
import { Count, described, id, Instant, titled } from "../pipeline/shapes.ts";

export const HeldKeys = titled(
  "HeldKeys",
  v.object({
    count: described(
      v.pipe(Count, v.maxValue(HELD_KEYS_LIMIT)),
      "How many are held, counted up to the maximum. In a list of more than ten endpoints, each is counted up to its share of 100,000.",
    ),
    since: described(Instant, "Since when the one that has been held for longest is held."),
    ordering_key: described(v.string(), "That key."),
    event: described(
      id("evt"),
      "The failed event that holds it. To go on, replay it, or cancel it to leave it out: the next event of the key is sent then.",
    ),
  }),
);

export function presentHeldKeys({ count, since, orderingKey, event }: HeldKeysNow) {
  return { count, since: formatInstant(since), ordering_key: orderingKey, event };
}
