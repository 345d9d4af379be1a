import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBase32, decodeBytes, encodeBase32, encodeBytes, idPattern, isId, newId } from "../../src/domain/id.ts";

const MAX_MS = 2 ** 48 - 1;
const random = fc.uint8Array({ minLength: 10, maxLength: 10 });
const instant = fc.integer({ min: 0, max: MAX_MS });

describe("ids", () => {
  it("are the prefix, ten characters of time and sixteen of randomness", () => {
    expect(newId("ep", 0, new Uint8Array(10))).toBe(`ep_${"0".repeat(26)}`);
    expect(newId("key", MAX_MS, new Uint8Array(10).fill(255))).toBe(`key_7zzzzzzzzz${"z".repeat(16)}`);
  });

  it("are described by a pattern", () => {
    const id = newId("ep", 0, new Uint8Array(10));
    for (const text of [id, `x${id}`, `${id}0`, id.slice(0, -1), id.replace("0", "o"), id.replace("ep_", "key_")]) {
      expect(idPattern("ep").test(text), text).toBe(isId("ep", text));
    }
  });

  it("sort by the time they were made", () => {
    fc.assert(
      fc.property(instant, instant, random, random, (a, b, one, two) => {
        fc.pre(a < b);
        expect(newId("job", a, one) < newId("job", b, two)).toBe(true);
      }),
    );
  });

  it("are recognised, whatever they hold", () => {
    fc.assert(fc.property(instant, random, (now, bytes) => isId("req", newId("req", now, bytes))));
  });

  it.each([
    ["another prefix", `key_${"0".repeat(26)}`],
    ["a prefix that only begins alike", `epp_${"0".repeat(25)}`],
    ["a character too few", `ep_${"0".repeat(25)}`],
    ["a character too many", `ep_${"0".repeat(27)}`],
    ["upper case", `ep_${"A".repeat(26)}`],
    ["letters that Crockford leaves out", `ep_${"ilou".repeat(6)}00`],
    ["a line break at the end", `ep_${"0".repeat(25)}\n`],
    ["nothing", ""],
  ])("are not recognised with %s", (_, text) => {
    expect(isId("ep", text)).toBe(false);
  });

  it("refuse to be made from too little randomness, or from a time that does not fit", () => {
    expect(() => newId("ep", 0, new Uint8Array(9))).toThrow(RangeError);
    expect(() => newId("ep", 2 ** 50, new Uint8Array(10))).toThrow(RangeError);
    expect(() => newId("ep", -1, new Uint8Array(10))).toThrow(RangeError);
    expect(() => newId("ep", 0.5, new Uint8Array(10))).toThrow(RangeError);
  });
});

describe("base32", () => {
  it("brings every safe integer back", () => {
    fc.assert(fc.property(fc.maxSafeNat(), (value) => decodeBase32(encodeBase32(value, 11)) === value));
    expect(decodeBase32(encodeBase32(Number.MAX_SAFE_INTEGER, 11))).toBe(Number.MAX_SAFE_INTEGER);
  });

  it("orders texts of one length as the numbers are ordered", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), (a, b) => a < b === encodeBase32(a, 11) < encodeBase32(b, 11)),
    );
  });

  it.each(["", "A", "o", "-1", "é", "0 ", "8".repeat(11)])("does not read %j", (text) => {
    expect(decodeBase32(text)).toBeNull();
  });

  it("brings bytes back", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
        expect(decodeBytes(encodeBytes(bytes))).toEqual(bytes);
      }),
    );
  });

  it("has one spelling for given bytes", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(..."0123456789abcdefghjkmnpqrstvwxyz"), maxLength: 20 }),
        (text) => {
          const bytes = decodeBytes(text);
          expect(bytes === null || encodeBytes(bytes) === text).toBe(true);
        },
      ),
    );
  });
});
