import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { explain, matches } from "../../src/domain/events/filter/evaluate.ts";
import { type Filter, type FilterDocument, isFilter, parseFilter } from "../../src/domain/events/filter/filter.ts";
import { asJson, asRows, faultAt, filterDraftOf, NO_FILTER, readingOf } from "../../src/portal/filter/draft.ts";
import { fieldsOf, pathOf } from "../../src/portal/filter/fields.ts";
import { operatorsFor, type Kind } from "../../src/portal/filter/operators.ts";
import { boundsOf } from "../../src/portal/filter/periods.ts";
import { filterText, reasonText } from "../../src/portal/filter/reasons.ts";
import { BLANK, read, write, type Row } from "../../src/portal/filter/rows.ts";

const row = (name: string, kind: Kind, operator: string, value = ""): Row => ({
  path: ["data", ...name.split(".")],
  kind,
  operator,
  value,
});
const AMOUNT = row("amount", "number", "gt", "1,000");
const EURO = row("currency", "text", "eq", "EUR");
const written = (...rows: Row[]) => write(rows, "all").document;

function filterOf(document: object): Filter {
  const filter = parseFilter(document);
  if (!isFilter(filter)) throw new Error(JSON.stringify(filter));
  return filter;
}

describe("conditions as rows", () => {
  it("are the filter that docs/filters.md begins with", () => {
    const rows = [row("spent.value", "amount", "gt", "400"), row("spent.currency", "text", "eq", "EUR")];
    expect(written(...rows)).toEqual({ data: { spent: { value: { $gt: 400 }, currency: "EUR" } } });
  });

  it.each<[Row[], "all" | "any", FilterDocument]>([
    [[AMOUNT, row("amount", "number", "lte", "2000")], "all", { data: { amount: { $gt: 1000, $lte: 2000 } } }],
    [[EURO, row("currency", "text", "neq", "USD")], "all", { data: { currency: { $eq: "EUR", $neq: "USD" } } }],
    [[row("spent", "amount", "gt", "1,000")], "all", { data: { spent: { $gt: 1000 } } }],
    [[row("spent", "amount", "eq", "512.40")], "all", { data: { spent: "512.40" } }],
    [[row("a.b", "text", "in", "x, y")], "all", { data: { a: { b: { $in: ["x", "y"] } } } }],
    [[row("n", "number", "nin", "1, 2.5")], "all", { data: { n: { $nin: [1, 2.5] } } }],
    [[row("note", "text", "contains", "late")], "all", { data: { note: { $in: "late" } } }],
    [
      [row("a", "text", "there"), row("a.b", "boolean", "eq", "true")],
      "all",
      { data: { a: { $exist: true, b: true } } },
    ],
    [[row("a", "text", "missing")], "all", { data: { a: { $exist: false } } }],
    [[row("at", "instant", "after", "2026-11-01")], "all", { data: { at: { $gt: "2026-11-01" } } }],
    [
      [row("a", "text", "neq", "x"), row("a", "text", "neq", "y")],
      "all",
      { data: { a: { $neq: "x" } }, $and: [{ data: { a: { $neq: "y" } } }] },
    ],
    [[AMOUNT, EURO], "any", { $or: [{ data: { amount: { $gt: 1000 } } }, { data: { currency: "EUR" } }] }],
    [[{ ...EURO, path: ["type"], value: "a.b" }], "all", { type: "a.b" }],
  ])("are written and read again: %#", (rows, join, document) => {
    expect(write(rows, join).document).toEqual(document);
    const again = read(document)!;
    expect(write(again.rows, again.join).document).toEqual(document);
  });

  it.each([
    { data: { x: null } },
    { data: { x: ["a"] } },
    { data: { x: { $not: { $gt: 5 } } } },
    { data: { x: { $or: [1, 2] } } },
    { data: { x: { $in: [1, "a"] } } },
    { data: { x: { $in: ["a, b"] } } },
    { data: { x: " a" } },
    { $not: { data: { x: 1 } } },
    { $or: [{ data: { x: 1, y: 2 } }, { data: { x: 3 } }] },
    { $or: [{ data: { x: 1 } }, { data: { x: 2 } }], data: { y: 1 } },
    { data: { x: { $and: [{ $gt: 1 }, { $lt: 3 }] } } },
  ])("do not pretend to say what they cannot: %o", (document) => {
    expect(isFilter(parseFilter(document))).toBe(true);
    expect(read(document)).toBeNull();
    expect(filterDraftOf(document).view).toBe("json");
    expect(readingOf(filterDraftOf(document)).filter!.text).toBe(JSON.stringify(document));
  });

  const names = fc.constantFrom("a", "b", "a.c", "a.c.d");
  const values = {
    number: ["0", "1", "1,000"],
    amount: ["0", "1.00", "1000"],
    text: ["x", "y", "xy"],
    instant: ["2026-01-01"],
    boolean: ["true"],
  };
  const rows: fc.Arbitrary<Row> = fc
    .tuple(names, fc.constantFrom<Kind>("number", "amount", "text", "instant", "boolean"), fc.nat(), fc.nat())
    .map(([name, kind, one, other]) => {
      const own = operatorsFor(kind);
      return row(name, kind, own[one % own.length]!.id, values[kind][other % values[kind].length]);
    });
  const scalars = fc.constantFrom<unknown>(0, 1, 1000, "1.00", "x", "y", "xy", "2026-01-01", "2026-06-01", true, null);
  const data = fc.record(
    { a: fc.oneof(scalars, fc.record({ c: fc.oneof(scalars, fc.record({ d: scalars })) })), b: scalars },
    { requiredKeys: [] },
  );

  it("hold together or one by one, as each alone does, and each decision leads back to its row", () => {
    fc.assert(
      fc.property(fc.array(rows, { minLength: 1, maxLength: 5 }), data, (all, one) => {
        const subject = { type: "t", data: one, tags: [] };
        const alone = all.map((single) => matches(filterOf(written(single)), subject));
        for (const join of ["all", "any"] as const) {
          const { document, pointers } = write(all, join);
          const { matches: isMatch, decided } = explain(filterOf(document), subject);
          expect(isMatch).toBe(join === "all" ? alone.every(Boolean) : alone.some(Boolean));
          expect(decided.every(({ pointer }) => pointers.includes(pointer))).toBe(true);
          for (const { pointer, holds } of decided) expect(holds).toBe(alone[pointers.indexOf(pointer)]);
          const again = read(document);
          expect(again && write(again.rows, again.join).document).toEqual(document);
        }
      }),
    );
  });

  it.each([
    ["1,000", 1000],
    ["-1,234,567.5", -1_234_567.5],
    ["1000.50", 1000.5],
    ["1e3", 1000],
    [" 5 ", 5],
  ])("take the number %s", (value, number) => {
    expect(written({ ...AMOUNT, value })).toEqual({ data: { amount: { $gt: number } } });
  });

  it.each(["1,00", "ten", "1.000,5", "0x10", "1 000"])("refuse %s as a number, at its row", (value) => {
    const { faults, filter } = readingOf({ ...NO_FILTER, view: "rows", rows: [EURO, { ...AMOUNT, value }] });
    expect(faults).toEqual([
      { row: 1, pointer: "", text: `“${value}” is not a number, such as 1000.`, isMissing: false },
    ]);
    // The others are tried anyway.
    expect(filter!.text).toBe('{"data":{"currency":"EUR"}}');
  });
});

describe("a filter that is being filled in", () => {
  it("leaves out what is missing, and says so", () => {
    const reading = readingOf({ ...NO_FILTER, view: "rows", rows: [BLANK, { ...AMOUNT, value: "" }, EURO] });
    expect(reading.filter!.text).toBe('{"data":{"currency":"EUR"}}');
    expect(reading.faults.map(({ row: at, text, isMissing }) => [at, text, isMissing])).toEqual([
      [0, "Choose a field.", true],
      [1, "Type a value.", true],
    ]);
    expect(reading.pointers).toEqual([undefined, undefined, "/data/currency"]);
  });

  it("has the faults of the language at the rows that cause them, with the pointer", () => {
    const rows = [EURO, { ...AMOUNT, value: "9007199254740993" }, { ...EURO, path: ["data", "$ref"] }];
    const { faults, filter } = readingOf({ ...NO_FILTER, view: "rows", rows });
    expect(filter).toBeUndefined();
    expect(faults.map(({ row: at, pointer }) => [at, pointer])).toEqual([
      [1, "/data/amount/$gt"],
      [2, "/data/$ref"],
    ]);
    expect(faultAt("/data/amount", "is odd", ["/data/currency", "/data/amount/$gt"])).toMatchObject({ row: 1 });
    expect(faultAt("", "looks at tags", ["/data/amount"])).toMatchObject({
      row: null,
      text: "The filter looks at tags.",
    });
  });

  it("goes to JSON and back", () => {
    const draft = { ...NO_FILTER, view: "rows" as const, rows: [AMOUNT, EURO] };
    const json = asJson(draft);
    expect(JSON.parse(json.text)).toEqual(written(AMOUNT, EURO));
    expect(write(asRows(json)!.rows, "all").document).toEqual(written(AMOUNT, EURO));
    expect(asRows({ ...json, text: '{"data": {"x": null}}' })).toBeNull();
    expect(asRows({ ...json, text: "{" })).toBeNull();
    expect(asRows({ ...json, text: "" })!.rows).toEqual([BLANK]);
    expect(readingOf({ ...json, text: "{" }).faults[0]!.text).toContain("not JSON yet");
  });
});

describe("the fields to choose from", () => {
  const type = (name: string, sample: object, schema: object = {}) => ({
    name,
    sample: { ...sample },
    schema: { ...schema },
  });

  it("are those of recent events first, then those of samples and schemas, with their kinds", () => {
    const events = [
      { data: { amount: 1200, currency: "EUR", at: "2026-11-20T09:55:00Z", lines: [{ sku: "a" }, { sku: "b" }] } },
    ];
    const schema = {
      properties: { paid: { type: "boolean" }, due: { type: "string", format: "date" }, count: { type: "integer" } },
    };
    const fields = fieldsOf([type("budget.exceeded", { amount: 5, limit: { value: "400.00" } }, schema)], events);
    expect(fields.map(({ name, kind, examples }) => [name, kind, examples])).toEqual([
      ["amount", "number", ["1200", "5"]],
      ["currency", "text", ["EUR"]],
      ["at", "instant", ["2026-11-20T09:55:00Z"]],
      ["lines.sku", "text", ["a", "b"]],
      ["limit.value", "amount", ["400.00"]],
      ["paid", "boolean", []],
      ["due", "instant", []],
      ["count", "number", []],
    ]);
  });

  it("have the type where there are several", () => {
    const fields = fieldsOf([type("a.b", { x: 1 }), type("a.c", { x: 2 })], []);
    expect(fields.at(-1)).toMatchObject({ path: ["type"], examples: ["a.b", "a.c"] });
  });

  it("are at most two hundred, and none that a filter cannot reach", () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`f${at}`, at]));
    expect(fieldsOf([type("a", { $id: 1, ...many })], [])).toHaveLength(200);
  });

  it("can be typed", () => {
    expect(pathOf(" customer.country ")).toEqual(["data", "customer", "country"]);
    expect(pathOf("data.x")).toEqual(["data", "x"]);
    expect(pathOf("type")).toEqual(["type"]);
    expect(pathOf("")).toEqual([]);
  });
});

describe("a reason", () => {
  const rows = [AMOUNT, EURO];
  const { document, pointers } = write(rows, "all");
  const why = (data: object) =>
    explain(filterOf(document), { type: "t", data, tags: [] }).decided.map((one) => reasonText(one, rows, pointers));

  it("names the value, and what it must be", () => {
    expect(why({ amount: 250, currency: "EUR" })).toEqual(["amount is 250, but must be more than 1,000"]);
    expect(why({ amount: 1200, currency: "USD" })).toEqual(['currency is "USD", but must be EUR']);
    expect(why({ currency: "EUR" })).toEqual(["amount is missing, but must be more than 1,000"]);
    expect(why({ amount: 1200, currency: "EUR" })).toEqual(["amount is 1200", 'currency is "EUR"']);
  });

  it("is given of a filter as a whole, in words", () => {
    expect(filterText(document)).toBe("amount is more than 1000, and currency is EUR");
    const either = write([row("a.b", "text", "missing"), { ...EURO, path: ["type"], operator: "starts" }], "any");
    expect(filterText(either.document)).toBe("a.b is missing, or the event type begins with EUR");
    expect(filterText({ data: { x: null } })).toBeNull();
  });

  it("names the place in the filter if there are no rows", () => {
    const [decision] = explain(filterOf(document), { type: "t", data: { amount: 1 }, tags: [] }).decided;
    expect(reasonText(decision!, [], [])).toBe("amount is 1, at /data/amount/$gt");
  });
});

describe("yesterday", () => {
  it("is the day before by the reader's calendar", () => {
    const now = new Date(2026, 10, 20, 15, 30).getTime();
    const { since, until } = boundsOf("yesterday", now);
    expect([Date.parse(since!), Date.parse(until!)]).toEqual([
      new Date(2026, 10, 19).getTime(),
      new Date(2026, 10, 20).getTime(),
    ]);
    expect(boundsOf("newest", now)).toEqual({});
    expect(boundsOf("today", now)).toEqual({ since: until });
  });
});
