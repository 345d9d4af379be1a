import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { responseText } from "../../src/domain/deliveries/response-text.ts";

const bytes = (hex: string) => Buffer.from(hex.replaceAll(" ", ""), "hex");
const typed = (type: string, body: Uint8Array) => responseText(body, { "content-type": type }, false);

describe("a response's text", () => {
  it.each([
    ["text/plain", "63 61 66 c3 a9", "café"],
    ["", "63 61 66 c3 a9", "café"],
    ["text/plain; charset=utf-8", "ef bb bf 61", "\ufeffa"],
    ["text/plain; charset=ISO-8859-1", "63 61 66 e9", "café"],
    ["text/plain;Charset = latin1", "63 61 66 e9", "café"],
    ['text/html; x=y; charset="windows-1251"', "cf f0 e8 e2 e5 f2", "Привет"],
    ["text/plain; charset=Shift_JIS", "83 47 83 89 81 5b", "エラー"],
    ["text/plain; charset=euc-jp", "a5 a8 a5 e9 a1 bc", "エラー"],
    ["text/plain; charset=GBK", "b4 ed ce f3", "错误"],
    ["text/plain; charset=utf-16le", "61 00 e9 00", "aé"],
    ["text/plain; charset=no-such-thing", "63 61 66 c3 a9", "café"],
    ["text/plain; charset=", "63 61 66 c3 a9", "café"],
    ["text/plain", "63 61 66 e9", "caf\ufffd"],
    ["text/plain; charset=shift_jis", "83", "\ufffd"],
  ])("of %j and %s is %j", (type, hex, text) => {
    expect(typed(type, bytes(hex))).toBe(text);
  });

  it("goes by its own charset, whatever came before", () => {
    for (const charset of ["latin1", "utf-8", "latin1", "koi8-r", "utf-8"])
      expect(typed(`text/plain; charset=${charset}`, Buffer.from("ok"))).toBe("ok");
    expect(typed("text/plain", bytes("c3 a9"))).toBe("é");
  });

  it("is its size, if it is compressed", () => {
    const body = gzipSync("try again later");
    const of = (coding: string, isTruncated: boolean) =>
      responseText(body, { "content-type": "text/plain", "content-encoding": coding }, isTruncated);
    expect(of("gzip", false)).toBe(`(compressed: gzip, ${body.length} bytes)`);
    expect(of("br", true)).toBe(`(compressed: br, more than ${body.length} bytes)`);
    for (const none of ["identity", " ", ""])
      expect(responseText(Buffer.from("ok"), { "content-encoding": none }, false)).toBe("ok");
    expect(responseText(Buffer.alloc(0), { "content-encoding": "gzip" }, false)).toBe("");
  });
});
