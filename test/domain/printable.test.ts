import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printable } from "../../src/domain/printable.ts";

const FORBIDDEN =
  /[\0-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\p{Cs}\u{e0000}-\u{e007f}]|\p{M}{9}/u;

/** Ordinary text mixed with characters that must not get through. Single units make lone surrogates. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\x1b[2J", "\r\n", "\n", "\t", "\u202e", "\ufeff", "\u{e0041}", "e\u0301", "\u0301".repeat(12)),
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(""));
const options = fc.record({ max: fc.nat(60), keepNewlines: fc.boolean() }, { requiredKeys: [] });

describe("printable", () => {
  it("leaves nothing that steers a terminal or reorders a line", () => {
    fc.assert(
      fc.property(hostile, options, (text, given) => {
        const shown = printable(text, given);
        expect(given.keepNewlines ? shown.replaceAll("\n", " ") : shown).not.toMatch(FORBIDDEN);
      }),
      { numRuns: 1000 },
    );
  });

  it("is idempotent", () => {
    fc.assert(
      fc.property(hostile, options, (text, given) => {
        const shown = printable(text, given);
        expect(printable(shown, given)).toBe(shown);
      }),
      { numRuns: 1000 },
    );
  });

  it("is never longer than its bound", () => {
    fc.assert(fc.property(hostile, fc.nat(60), (text, max) => printable(text, { max }).length <= max));
  });

  it("leaves ASCII text as it is", () => {
    fc.assert(fc.property(fc.string({ unit: "grapheme-ascii" }), (text) => printable(text) === text));
  });

  it.each([
    ["an escape sequence", "\x1b[2J", "<U+001B>[2J"],
    ["a C1 control", "\x9b31m", "<U+009B>31m"],
    ["a bidi override", "\u202egpj.exe", "<U+202E>gpj.exe"],
    ["a zero-width space", "pay\u200bpal", "pay<U+200B>pal"],
    ["a tag character", "\u{e0041}", "<U+E0041>"],
    ["a lone surrogate", "a\ud800b", "a<U+D800>b"],
    ["a line break", "a\r\nb", "a<U+000D><U+000A>b"],
    ["a tab as spaces", "a\tb", "a  b"],
    ["ordinary text of any script", "Zoë 日本語 🦊", "Zoë 日本語 🦊"],
  ])("shows %s", (_, text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  it("keeps line breaks where they are wanted, but no lone carriage return", () => {
    expect(printable("a\r\nb\nc\rd", { keepNewlines: true })).toBe("a\nb\nc<U+000D>d");
  });

  it("keeps eight marks on a character", () => {
    expect(printable(`e${"\u0301".repeat(9)}x`)).toBe(`e${"\u0301".repeat(8)}<U+0301>x`);
  });

  it("says that something was cut, and cuts no character in two", () => {
    expect(printable("abcdef", { max: 6 })).toBe("abcdef");
    expect(printable("abcdefg", { max: 6 })).toBe("abcde…");
    expect(printable("abcd🦊🦊", { max: 6 })).toBe("abcd…");
    expect(printable("abc", { max: 0 })).toBe("");
  });

  it("does no more work than its bound asks for", () => {
    expect(printable("\x1b".repeat(50_000_000), { max: 100 })).toHaveLength(100);
  });
});
