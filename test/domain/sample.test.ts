import { describe, expect, it } from "vitest";
import { openDataCheck } from "../../src/api/event-types/data-check.ts";
import { BUILT_IN_TYPES, type JsonSchema } from "../../src/domain/events/event-type.ts";
import { textMatching } from "../../src/domain/events/pattern-text.ts";
import { sampleOf } from "../../src/domain/events/sample.ts";

const text = { type: "string" };

/** The sample of data whose only member has this schema. */
const memberOf = (schema: JsonSchema) =>
  (sampleOf({ type: "object", properties: { a: schema } }) as { readonly a: unknown }).a;

describe("a sample made from a schema", () => {
  it.each<[JsonSchema, unknown]>([
    [text, "text"],
    [{ type: "string", format: "date-time" }, "2026-01-31T12:00:00Z"],
    [{ type: "string", minLength: 6 }, "textxx"],
    [{ type: "string", maxLength: 2 }, "te"],
    [{ type: "string", pattern: "^ord_[a-z0-9]{4}$" }, "ord_aaaa"],
    [{ type: "integer" }, 1],
    [{ type: "integer", exclusiveMinimum: 4 }, 5],
    [{ type: "number", maximum: -3 }, -3],
    [{ type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
    [{ type: "integer", minimum: 7, multipleOf: 5 }, 10],
    [{ type: "boolean" }, true],
    [{ type: ["null", "integer"] }, 1],
    [{ type: "null" }, null],
    [{ const: "paid" }, "paid"],
    [{ type: "string", enum: ["b", "a"] }, "b"],
    [{ type: "string", default: "d" }, "d"],
    [{ type: "string", examples: ["e", "f"], default: "d" }, "e"],
    [{ type: "array", items: { type: "integer" } }, [1]],
    [{ type: "array", items: text, minItems: 2 }, ["text", "text"]],
    [{ type: "array", prefixItems: [text, { type: "integer" }], items: false }, ["text", 1]],
    [{ type: "array", maxItems: 0, items: text }, []],
    [{ oneOf: [{ type: "null" }, { type: "integer" }] }, 1],
    [{ allOf: [{ properties: { b: { type: "string" } } }, { properties: { b: { minLength: 6 } } }] }, { b: "textxx" }],
    [
      { required: ["z"], properties: { y: text } },
      { y: "text", z: "text" },
    ],
    [{ type: "object", additionalProperties: { type: "integer" }, required: ["n"] }, { n: 1 }],
  ])("of %j is %j", (schema, sample) => {
    expect(memberOf(schema)).toEqual(sample);
  });

  it("is an empty object if anything goes", () => {
    expect(sampleOf({})).toEqual({});
    expect(sampleOf({ type: "object" })).toEqual({});
  });

  it("follows references, and ends where they lead in a circle", () => {
    const node = { type: "object", required: ["id"], properties: { id: text, next: { $ref: "#/$defs/a~1node" } } };
    const schema = { $ref: "#/$defs/a~1node", $defs: { "a/node": node } };
    expect(sampleOf(schema)).toEqual({ id: "text" });
    expect(sampleOf({ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } })).toEqual({});
    expect(sampleOf({ $ref: "#/nowhere" })).toEqual({});
  });

  it("has a bounded size, whatever the schema", () => {
    const doubling = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => {
        const next = { $ref: `#/$defs/l${at + 1}` };
        return [`l${at}`, { type: "object", required: ["a", "b"], properties: { a: next, b: next } }];
      }),
    );
    expect(JSON.stringify(sampleOf({ $ref: "#/$defs/l0", $defs: doubling })).length).toBeLessThan(20_000);
    expect(JSON.stringify(sampleOf({ type: "array", items: text, minItems: 1e9 })).length).toBeLessThan(1000);
    const deep = Array.from({ length: 5000 }).reduce<JsonSchema>((inner) => ({ allOf: [inner] }), text);
    expect(() => sampleOf(deep)).not.toThrow();
  });

  it("matches the schemas of the specification", () => {
    const made = BUILT_IN_TYPES.map((type) => ({ ...type, sample: sampleOf(type.schema) as object as JsonSchema }));
    expect(() => openDataCheck(made)).not.toThrow();
  });
});

describe("a text for a regular expression", () => {
  it.each([
    String.raw`^[A-Z]{3}$`,
    String.raw`^txn_[0-9a-f]+$`,
    String.raw`^\d{4}-\d{2}-\d{2}$`,
    String.raw`^(?:in|out)bound(\.v\d+)?$`,
    String.raw`^[^.\s]+$`,
    String.raw`^\+?[1-9]\d{1,14}$`,
    String.raw`^[\w.-]+@[\w-]+\.[a-z]{2,}$`,
  ])("%s matches it, or there is none", (pattern) => {
    const made = textMatching(pattern);
    if (pattern.includes("[^")) expect(made).toBeNull();
    else expect(made).toMatch(new RegExp(pattern, "u"));
  });

  it.each(["(?=a)b", "(?<year>a)", String.raw`(a)\1`, "a{2", "(a", "a)", "[^a]", "x{9999}", "*"])(
    "there is none for %s",
    (pattern) => {
      expect(textMatching(pattern)).toBeNull();
    },
  );
});
