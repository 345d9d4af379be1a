import * as v from "valibot";
import { expect, it } from "vitest";
import { checked } from "../../../src/api/pipeline/body.ts";

const SCHEMA = v.strictObject({
  events: v.array(v.string()),
  headers: v.record(v.string(), v.string()),
  enabled: v.boolean(),
  rate: v.nullable(v.pipe(v.number(), v.gtValue(0), v.maxValue(5))),
  when: v.picklist(["hold", "skip", "drop"]),
  either: v.union([v.string(), v.number()]),
});
const GOOD = { events: ["a"], headers: {}, enabled: true, rate: 1, when: "hold", either: "x" };

it.each([
  ["events", 1, "must be a list"],
  ["headers", 1, "must be an object"],
  ["enabled", "yes", "must be true or false"],
  ["rate", "fast", "must be a number"],
  ["rate", 0, "must be more than 0", "out_of_range"],
  ["rate", 6, "must be at most 5", "out_of_range"],
  ["when", "wait", 'must be "hold", "skip", or "drop"'],
  ["either", null, "must be a string or a number"],
])("a fault of %s speaks plainly, not as the schema does", (name, value, detail, code = "invalid_type") => {
  const errors = [{ pointer: `/${name}`, code, detail }];
  expect(() => checked(SCHEMA, { ...GOOD, [name]: value })).toThrow(expect.objectContaining({ errors }));
});

it("a fault inside a list is named as one", () => {
  expect(() => checked(SCHEMA, { ...GOOD, events: ["a", 1] })).toThrow(
    expect.objectContaining({ detail: "/events/1 must be a string" }),
  );
});
