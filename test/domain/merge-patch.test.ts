import { describe, expect, it } from "vitest";
import { type JsonRecord as JsonObject, mergePatch } from "../../src/domain/json/merge-patch.ts";

/** The objects of RFC 7396, Appendix A. */
const CASES: [JsonObject, JsonObject, JsonObject][] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

describe("a merge-patch", () => {
  it.each(CASES)("of %j by %j gives %j", (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  it("takes __proto__ for the key it is", () => {
    const merged = mergePatch({}, JSON.parse('{"__proto__":{"x":1}}') as JsonObject);
    expect(JSON.stringify(merged)).toBe('{"__proto__":{"x":1}}');
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });
});
