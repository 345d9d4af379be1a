import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonLines } from "../../src/domain/json/json-token.ts";
import { parseJson, parseSpan, scanJson, scanObject } from "../../src/domain/json/json.ts";

describe("spans", () => {
  it("of members hold their text, byte for byte", () => {
    const values = fc.dictionary(fc.string({ unit: "grapheme" }), fc.json());
    fc.assert(
      fc.property(values, fc.constantFrom("", " ", "\n\t "), (members, space) => {
        const list = Object.entries(members).map(
          ([key, value]) => `${space}${JSON.stringify(key)}${space}:${space}${value}`,
        );
        const bytes = Buffer.from(`${space}{${list.join(`${space},`)}${space}}${space}`);
        const spans = scanObject(bytes);
        expect([...spans.keys()]).toEqual(Object.keys(members));
        for (const [key, { start, end }] of spans)
          expect(bytes.toString("utf8", start, end)).toBe(members[key]!.trim());
      }),
    );
  });

  it("parse to the value that the whole text has there", () => {
    fc.assert(
      fc.property(fc.object(), (data) => {
        const bytes = Buffer.from(JSON.stringify({ type: "t", data }));
        const span = scanObject(bytes).get("data")!;
        expect(parseSpan(bytes, span)).toEqual((JSON.parse(bytes.toString()) as { data: unknown }).data);
      }),
    );
  });

  it("keep digits, key order, escapes and white space of data", () => {
    const data = '{ "b" : 9007199254740993, "2":1.10,"1":1e400,\n"n":-0,"s":"\\u00e9\\/é" }';
    const bytes = Buffer.from(`{"type":"t" , "data" :  ${data}  }`);
    const { start, end, kind } = scanObject(bytes).get("data")!;
    expect(bytes.toString("utf8", start, end)).toBe(data);
    expect(kind).toBe("object");
  });

  it("of a batch reach to the members of each event", () => {
    const bytes = Buffer.from('{"events":[{"type":"a","data":{"x":[1]}},null,{"data":2}]}');
    const events = scanJson(bytes, { outline: 3 }).members?.get("events");
    expect(events?.items?.map(({ kind }) => kind)).toEqual(["object", "null", "object"]);
    const [first, , third] = events?.items ?? [];
    expect(parseSpan(bytes, first!.members!.get("data")!)).toEqual({ x: [1] });
    expect(first!.members!.get("data")!.members).toBeNull();
    expect(third!.members!.get("data")!.kind).toBe("number");
  });

  it("count from the start of the given bytes, wherever these lie in memory", () => {
    const all = Buffer.from('xxxx{"a":"b"}yyyy');
    const bytes = new Uint8Array(all.buffer, all.byteOffset + 4, 9);
    expect(scanObject(bytes).get("a")).toMatchObject({ start: 5, end: 8, kind: "string" });
  });

  it("know keys as they are meant", () => {
    const spans = scanObject(Buffer.from('{"\\u0064ata":1,"__proto__":2}'));
    expect([...spans.keys()]).toEqual(["data", "__proto__"]);
  });
});

describe("parsing", () => {
  it("makes __proto__ an own key and changes no prototype", () => {
    const value = parseJson(Buffer.from('{"__proto__":{"admin":true}}')) as object;
    expect(Object.keys(value)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it("gives what JSON.parse gives", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(Buffer.from(text))).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe("lines", () => {
  it("are those that are not blank, whatever ends them", () => {
    const bytes = Buffer.from('\n{"a":1}\r\n\n  \n {"b":"é"}\n{"c":3}');
    const texts = jsonLines(bytes).map(({ start, end }) => bytes.toString("utf8", start, end).trim());
    expect(texts).toEqual(['{"a":1}', '{"b":"é"}', '{"c":3}']);
  });

  it("are none in an empty or blank text", () => {
    expect(jsonLines(Buffer.from(""))).toEqual([]);
    expect(jsonLines(Buffer.from("\n".repeat(4_000_000)))).toEqual([]);
  });
});
