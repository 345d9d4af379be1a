import fc from "fast-check";
import { expect, it } from "vitest";
import { excerptOf } from "../../src/domain/json/excerpt.ts";

it("is the beginning of the JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(40), (value, most) => {
      const whole = JSON.stringify(value);
      const expected = whole.length <= most ? whole : `${whole.slice(0, most).toWellFormed()}…`;
      expect(excerptOf(value, most)).toBe(expected);
    }),
  );
});

it("does not read what it does not show", () => {
  const unread = {
    get x(): never {
      throw new Error("was read");
    },
  };
  expect(excerptOf(["a".repeat(100_000), unread], 10)).toBe('["aaaaaaaa…');
  expect(excerptOf({ a: [1, 2, 3, 4, 5], b: unread }, 5)).toBe('{"a":…');
});
