import fc from "fast-check";
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { firstLines, fit, shown, tailOf, wrap } from "../../tui/draw/text.ts";
import { HOSTILE } from "./hostile.ts";

const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: "binary" }),
  fc.constantFrom(...HOSTILE),
  fc
    .array(fc.constantFrom("東", "👍🏽", "हि", "é", "a", "\u202e", "\x1b[8m", "1️⃣", "🇩🇪", "👨‍👩‍👧"))
    .map((parts) => parts.join("")),
);
/** Control and bidirectional characters, except for the line feed. */
const UNSAFE = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

describe("fit", () => {
  it("is exactly as wide as it is told, whatever the text", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 200 }), fc.boolean(), (text, width, ascii) => {
        expect(stringWidth(fit(text, width, { ascii }))).toBe(width);
      }),
    );
  });

  it("lets nothing through that could steer a terminal", () => {
    fc.assert(fc.property(text, (text) => void expect(fit(text, 80)).not.toMatch(UNSAFE)));
  });

  it("gives ASCII alone where it is asked to", () => {
    fc.assert(fc.property(text, (text) => void expect(fit(text, 40, { ascii: true })).toMatch(/^[\x20-\x7e]*$/)));
  });

  it("marks what was cut, and cuts nothing that has room", () => {
    expect(fit("abcdef", 4)).toBe("abc…");
    expect(fit("abcd", 4)).toBe("abcd");
    expect(fit("東京都", 5)).toBe("東京…");
    expect(fit("東京都", 4)).toBe("東… ");
    expect(fit("abcdef", 4, { ascii: true })).toBe("abc~");
    expect(fit("7", 3, { align: "right" })).toBe("  7");
  });

  it("shows emoji whose width terminals disagree on by their base", () => {
    expect(fit("👍🏽!", 4)).toBe("👍! ");
    expect(fit("1️⃣.", 3)).toBe("1. ");
    expect(fit("🇩🇪", 2)).toBe("? ");
  });
});

describe("firstLines", () => {
  it("marks what it leaves out, in no more columns than there are", () => {
    expect(firstLines(["one", "two"], 2, 5)).toEqual(["one", "two"]);
    expect(firstLines(["one", "two", "three"], 2, 5)).toEqual(["one", "two…"]);
    expect(firstLines(["one", "three", "two"], 2, 5)).toEqual(["one", "thre…"]);
    expect(firstLines(["one", "two"], 1, 5, { ascii: true })).toEqual(["one~"]);
  });
});

describe("tailOf", () => {
  it("is never wider than it is told, and ends as the text does", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 60 }), fc.boolean(), (text, width, ascii) => {
        expect(stringWidth(shown(tailOf(text, width, { ascii }), { ascii }))).toBeLessThanOrEqual(width);
      }),
    );
    expect(tailOf("abcdef", 4)).toBe("…def");
    expect(tailOf("abcd", 4)).toBe("abcd");
    expect(tailOf("東京都", 5)).toBe("…京都");
    expect(tailOf("x".repeat(100_000) + "end", 6, { ascii: true })).toBe("~xxend");
  });
});

describe("wrap", () => {
  it("loses nothing and makes no line too wide", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii" }), fc.integer({ min: 2, max: 60 }), (text, width) => {
        const lines = wrap(text, width);
        expect(lines.join("")).toBe(text);
        for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(width);
      }),
    );
  });
});
