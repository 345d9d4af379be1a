import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatInstant, parseInstant } from "../../src/domain/time/instant.ts";

describe("instants", () => {
  it("come back as they went out", () => {
    fc.assert(
      fc.property(fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }), (instant) => {
        expect(parseInstant(formatInstant(instant))).toBe(instant);
      }),
      { numRuns: 500 },
    );
  });

  it("are read with any offset, fraction and case", () => {
    expect(parseInstant("2026-11-20t10:55:00.1z")).toBe(Date.parse("2026-11-20T10:55:00.100Z"));
    expect(parseInstant("2026-11-20T10:55:00.123456789+05:30")).toBe(Date.parse("2026-11-20T05:25:00.123Z"));
    expect(parseInstant("2024-02-29T23:59:59-12:00")).toBe(Date.parse("2024-03-01T11:59:59Z"));
  });

  it.each([
    "2026-11-20",
    "2026-11-20 10:55:00Z",
    "2026-11-20T10:55Z",
    "2026-11-20T10:55:00",
    "2026-02-29T00:00:00Z",
    "2026-13-45T00:00:00Z",
    "2026-11-20T24:00:00Z",
    "2026-11-20T10:55:60Z",
    "2026-11-20T10:55:00+24:00",
    "+012026-11-20T10:55:00Z",
    "0000-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "1763632500",
    "",
  ])("that do not exist or are spelled otherwise are refused: %s", (text) => {
    expect(parseInstant(text)).toBeNull();
  });
});
