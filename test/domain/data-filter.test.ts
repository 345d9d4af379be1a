import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { meets, parseDataFilter, tracesOf } from "../../src/domain/events/data-filter.ts";

/** Searches as the store does: for the bytes first, and then in the parsed data. */
function finds(filter: string, json: string): boolean {
  const conditions = parseDataFilter(filter)!;
  const data = Buffer.from(json);
  return conditions.every((one) => tracesOf(one).some((trace) => data.includes(trace))) && meets(data, conditions);
}

describe("a filter of data", () => {
  it.each([
    ["id:cus_1", '{"id":"cus_1"}', true],
    ["id:cus_1", '{"id":"cus_12"}', false],
    ["id:cus_1", '{"other":"cus_1"}', false],
    ["customer.id:cus_1", '{"customer": {"id" : "cus_1"}}', true],
    ["customer.id:cus_1", '{"customer.id":"cus_1"}', true],
    ["customer:cus_1", '{"customer":{"id":"cus_1"}}', false],
    ["items.sku:b", '{"items":[{"sku":"a"},{"sku":"b"}]}', true],
    ["items.1.sku:b", '{"items":[{"sku":"a"},{"sku":"b"}]}', true],
    ["items.0.sku:b", '{"items":[{"sku":"a"},{"sku":"b"}]}', false],
    ["tags:b", '{"tags":["a",["b"]]}', true],
    ["__proto__:1", '{"__proto__":1}', true],
    ["constructor:1", "{}", false],
    // Numbers are equal if all their digits are, except for zeros at the end.
    ["n:1.1", '{"n":1.10}', true],
    ["n:1.10", '{"n":1.1}', true],
    ["n:1.10", '{"n":"1.10"}', true],
    ["n:1.10", '{"n":"1.1"}', false],
    ["n:10", '{"n":10.0}', true],
    ["n:1", '{"n":10}', false],
    // The exponent must be written in the same way, because a search looks for the bytes first.
    ["n:1e3", '{"n":1e3}', true],
    ["n:1e3", '{"n":1000}', false],
    ["n:1000", '{"n":1E3}', false],
    ["n:0", '{"n":-0}', true],
    ["n:-5", '{"n":5}', false],
    ["n:12345678901234567890", '{"n":12345678901234567891}', false],
    ["n:12345678901234567890", '{"n":12345678901234567890}', true],
    ['n:"1"', '{"n":1}', false],
    ['n:"1"', '{"n":"1"}', true],
    ["n:007", '{"n":"007"}', true],
    ["n:007", '{"n":7}', false],
    ["ok:true", '{"ok":true}', true],
    ["ok:true", '{"ok":"true"}', true],
    ['ok:"true"', '{"ok":true}', false],
    ["ok:null", '{"ok":null}', true],
    ["ok:false", '{"ok":null}', false],
    // Escapes do not matter.
    ["id:cus_1", '{"id":"cus\\u005f1"}', true],
    ["id:cus_1", '{"i\\u0064":"cus_1"}', true],
    ["url:a/b", '{"url":"a\\/b"}', true],
    ["name:Zoë", '{"name":"Zo\\u00eb"}', true],
    ["name:Zoë", '{"name":"Zoë"}', true],
    ["name:日本", '{"name":"\\u65e5本"}', true],
    ['name:"a\\nb"', '{"name":"a\\u000ab"}', true],
    ['name:"say \\"hi\\""', '{"name":"say \\"hi\\""}', true],
    ["id:cus_1 n:2", '{"id":"cus_1","n":2}', true],
    ["id:cus_1 n:2", '{"id":"cus_1","n":3}', false],
  ])("%s in %s: %j", (filter, json, found) => {
    expect(finds(filter, json)).toBe(found);
  });

  it.each([
    "",
    "id",
    "id:",
    ":x",
    "a..b:1",
    ".a:1",
    'id:"open',
    'id:"a"b',
    "id:a b",
    "a:1 b:2 c:3 d:4 e:5 f:6",
    'a:""',
  ])("cannot be %j", (text) => {
    expect(parseDataFilter(text)).toBeNull();
  });

  it("finds any text at any path, however it is written", () => {
    const escaped = (text: string, every: number) =>
      [...text]
        .map((char, at) =>
          at % every === 0
            ? [...char]
                .flatMap((one) => one.split(""))
                .map(unicode)
                .join("")
            : JSON.stringify(char).slice(1, -1),
        )
        .join("");
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }),
        fc.stringMatching(/^[a-z]{1,5}(\.[a-z]{1,5}){0,3}$/),
        fc.integer({ min: 1, max: 5 }),
        (value, path, every) => {
          const nested = path
            .split(".")
            .reduceRight((inner, key) => `{"X":1,"${key}":${inner}}`, `"${escaped(value, every)}"`);
          expect(finds(`${path}:${JSON.stringify(value)}`, nested)).toBe(true);
        },
      ),
    );
  });
});

function unicode(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
