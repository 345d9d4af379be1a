import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NotUtf8, utf8Of } from "../../src/domain/utf8.ts";

const bytes = (...parts: (string | readonly number[])[]) => Buffer.concat(parts.map((part) => Buffer.from(part)));

function lineOf(given: Uint8Array): number | null {
  try {
    utf8Of(given);
    return null;
  } catch (error) {
    return (error as NotUtf8).line;
  }
}

describe("bytes from outside", () => {
  it("become the text that they are, a byte-order mark, CRLF and U+FFFD itself included", () => {
    for (const text of ["", "a\r\nb", "\ufeffx", "caf\u00e9 \u{1f600}", "\ufffd"])
      expect(utf8Of(Buffer.from(text))).toBe(text);
  });

  it.each([
    ["Latin-1", bytes("one\ncaf", [0xe9], '"\n'), 2],
    ["a character that a line end cuts short", bytes([0xc3], "\n", [0xa9]), 1],
    ["one that the end cuts short", bytes("a\nb\n", [0xe2, 0x82]), 3],
    ["half of a surrogate pair", bytes([0xed, 0xa0, 0x80]), 1],
    ["an overlong form", bytes("\n", [0xc0, 0xaf]), 2],
    ["UTF-16", bytes([0xff, 0xfe, 0x61, 0]), 1],
  ])("are refused by line: %s", (_, given, line) => {
    expect(lineOf(given)).toBe(line);
  });

  it("are never two different ones with the same text", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 8 }), (given) => {
        if (lineOf(given) === null) expect(Buffer.from(utf8Of(given))).toEqual(Buffer.from(given));
      }),
    );
  });
});
