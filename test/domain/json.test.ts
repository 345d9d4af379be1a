import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WebhookdError } from "../../src/domain/errors.ts";
import { parseJson, scanJson, scanObject, type JsonOptions } from "../../src/domain/json/json.ts";
import { jsonText, mutated, obeysTheExtraRules } from "./json-text.ts";

function faultOf(run: () => unknown): { code: string; field: string | undefined; pointer: string | undefined } | null {
  try {
    run();
    return null;
  } catch (error) {
    if (!(error instanceof WebhookdError)) throw error;
    return { code: error.code, field: error.errors[0]?.code, pointer: error.errors[0]?.pointer };
  }
}

const scanText = (text: string, options?: JsonOptions) => scanJson(Buffer.from(text), options);
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const listOf = (count: number) => `[${Array(count).fill("0").join()}]`;
const body = (depth: number, count: number) => `{"type":"t","data":{"a":${nested(depth - 1)},"b":${listOf(count)}}}`;
const scanSmall = (text: string) =>
  faultOf(() => scanObject(Buffer.from(text), { maxDepth: 10, maxValues: 100 }))?.field;
const fieldOf = (text: string, options?: JsonOptions) => faultOf(() => scanText(text, options))?.field;

function accepts(text: string): boolean {
  return faultOf(() => scanText(text, { maxDepth: 5, maxValues: 20 })) === null;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("the scanner", () => {
  it("accepts what JSON.parse accepts and the extra rules allow, and nothing else", () => {
    fc.assert(
      fc.property(fc.oneof(jsonText, mutated(jsonText)), (text) => {
        expect(accepts(text)).toBe(parses(text) && obeysTheExtraRules(text, { maxDepth: 5, maxValues: 20 }));
      }),
      { numRuns: 2000 },
    );
  });

  it("accepts only UTF-8 without a byte-order mark", () => {
    const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const quoted = fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from([0x22, ...bytes, 0x22]));
    fc.assert(
      fc.property(quoted, (bytes) => {
        let text: string | null = null;
        try {
          text = strict.decode(bytes);
        } catch {}
        expect(faultOf(() => scanJson(bytes)) === null).toBe(
          text !== null && parses(text) && obeysTheExtraRules(text, { maxDepth: 64, maxValues: 50_000 }),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["an overlong slash", [0xc0, 0xaf]],
    ["an encoded surrogate", [0xed, 0xa0, 0x80]],
    ["a code point beyond U+10FFFF", [0xf4, 0x90, 0x80, 0x80]],
    ["a byte that is never used", [0xff]],
    ["a sequence that ends too early", [0xe2, 0x82]],
  ])("refuses %s as invalid_utf8", (_, bytes) => {
    const quoted = Buffer.from([0x22, ...bytes, 0x22]);
    expect(faultOf(() => scanJson(quoted))).toEqual({ code: "invalid_json", field: "invalid_utf8", pointer: "" });
  });

  it("refuses a byte-order mark", () => {
    expect(fieldOf("\ufeff{}")).toBe("invalid_utf8");
  });

  it.each([
    "",
    " ",
    "{",
    "[1,]",
    '{"a":1,}',
    "{,}",
    "[,1]",
    '{"a"}',
    '{"a":}',
    "{a:1}",
    "'a'",
    "nul",
    "truex",
    "NaN",
    "01",
  ])("refuses %j", (text) => {
    expect(faultOf(() => scanText(text))?.code).toBe("invalid_json");
  });

  it.each([
    "+1",
    "-",
    "1.",
    ".5",
    "1e",
    "1e+",
    "0x1",
    "--1",
    "1 2",
    "[1}",
    '{"a":1]',
    "{}}",
    "// c\n{}",
    '"\t"',
    '"\\x41"',
  ])("refuses %j too", (text) => {
    expect(faultOf(() => scanText(text))?.code).toBe("invalid_json");
  });

  it.each(["0", "-0", "1e400", "1E+2", "123456789012345678901234567890", ' \t\r\n"\\u0000" ', '"\u2028"', "[[],{}]"])(
    "accepts %j",
    (text) => {
      expect(scanText(text).end).toBe(text.trimEnd().length + (text.includes("\u2028") ? 2 : 0));
    },
  );

  it.each(['"\\ud800"', '"\\udc00"', '"\\ud800\\ud800"', '"\\ud83dx"', '"\\udc00\\ud800"', '{"\\uD83D":1}'])(
    "refuses the lone surrogate in %s",
    (text) => {
      expect(fieldOf(text)).toBe("invalid_utf8");
    },
  );

  it("accepts an escaped pair", () => {
    expect(parseJson(Buffer.from('"\\ud83e\\uDD8A"'))).toBe("🦊");
  });
});

describe("keys", () => {
  const many = Array.from({ length: 20 }, (_, index) => `"k${index}":0`).join();

  it.each([
    ["as written", '{"a":1,"a":2}'],
    ["one of them escaped", '{"a":1,"\\u0061":2}'],
    ["escaped in two ways", '{"\\u00e9":1,"\\u00E9":2}'],
    ["the escaped one first", '{"\\u0061":1,"b":2,"a":3}'],
    ["an escaped pair and its character", '{"🦊":1,"\\ud83e\\udd8a":2}'],
    ["empty", '{"":1,"":2}'],
    ["far apart among many", `{${many},"k0":1}`],
    ["last among many", `{${many},"k19":1}`],
    ["not of this object alone", '{"x":{"a":1},"a":1,"b":[{"c":1,"c":1}]}'],
    ["__proto__", '{"__proto__":1,"__proto__":2}'],
  ])("are refused when repeated: %s", (_, text) => {
    expect(fieldOf(text)).toBe("duplicate_key");
  });

  it.each(['{"a":1,"A":2}', '{"a":{"a":{"a":1}}}', '[{"a":1},{"a":1}]', '{"é":1,"e\u0301":2}', '{"constructor":1}'])(
    "may be alike in %s",
    (text) => {
      expect(fieldOf(text)).toBeUndefined();
    },
  );
});

describe("limits", () => {
  it("allow 64 levels and 50,000 values", () => {
    expect(fieldOf(nested(64))).toBeUndefined();
    expect(fieldOf(nested(65))).toBe("too_deep");
    expect(fieldOf("[".repeat(1_000_000))).toBe("too_deep");
    expect(fieldOf(listOf(49_999))).toBeUndefined();
    expect(fieldOf(listOf(50_000))).toBe("too_many_values");
  });

  it("count anew within each member of an outlined object", () => {
    expect(scanSmall(body(10, 80))).toBeUndefined();
    expect(scanSmall(body(11, 80))).toBe("too_deep");
    expect(scanSmall(body(2, 97))).toBeUndefined();
    expect(scanSmall(body(2, 98))).toBe("too_many_values");
  });

  it("count anew within each event of a batch", () => {
    const event = `{"type":"t","data":{"a":${listOf(90)}}}`;
    const options = { outline: 3, maxValues: 100 };
    expect(fieldOf(`{"events":[${Array(20).fill(event).join()}]}`, options)).toBeUndefined();
    const large = `{"type":"t","data":{"a":${listOf(99)}}}`;
    expect(faultOf(() => scanText(`{"events":[${event},${large}]}`, options))).toEqual({
      code: "invalid_json",
      field: "too_many_values",
      pointer: "/events/1/data/a/98",
    });
  });

  it("hold for what is outlined as well", () => {
    expect(fieldOf(`{"events":[${Array(200).fill("{}").join()}]}`, { outline: 3, maxValues: 100 })).toBe(
      "too_many_values",
    );
  });
});

describe("a body that is no object", () => {
  it.each(["[]", "null", "1", '"a"', "true"])("is %s: valid JSON, but not a valid body", (text) => {
    expect(faultOf(() => scanObject(Buffer.from(text)))).toEqual({
      code: "validation_failed",
      field: "invalid_body",
      pointer: "",
    });
  });
});

describe("the pointer of a fault", () => {
  it.each([
    ['{"a":[0,{"b":"\\ud800"}]}', "/a/1/b"],
    ['{"a/b":{"c~d":{"x":1,"x":1}}}', "/a~1b/c~0d/x"],
    ['{"\\u0061":{"x":1,"x":1}}', "/a/x"],
    ['[[],[],["\\ud800"]]', "/2/0"],
    ['{"o":{"a":1,"\\ud800":2}}', "/o"],
    ['{"\\ud800":2}', ""],
  ])("in %s is %s", (text, pointer) => {
    expect(faultOf(() => scanText(text))?.pointer).toBe(pointer);
  });

  it("begins where the caller says the text stands", () => {
    expect(faultOf(() => scanObject(Buffer.from('{"a":{"x":1,"x":1}}'), { pointer: "/3" }))?.pointer).toBe("/3/a/x");
    expect(faultOf(() => scanObject(Buffer.from("1"), { pointer: "/3" }))?.pointer).toBe("/3");
  });

  it("ends before a key that is too long to repeat", () => {
    const long = "k".repeat(5000);
    expect(faultOf(() => scanText(`{"a":{"${long}":1,"${long}":1}}`))?.pointer).toBe("/a");
  });
});
