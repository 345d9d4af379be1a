import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BUILT_IN_TYPES } from "../../src/domain/events/event-type.ts";
import { containing } from "../../src/domain/events/filter/containing.ts";
import { explain, matches, type Subject } from "../../src/domain/events/filter/evaluate.ts";
import { FILTER_LIMITS, type FilterFault, isFilter, parseFilter } from "../../src/domain/events/filter/filter.ts";
import { MAX_LOOKS } from "../../src/domain/events/filter/looks.ts";
import { Random } from "../sim/random.ts";
import { DrawnFilters } from "./drawn-filters.ts";
import { referenceTakes } from "./filter-reference.ts";

function filterOf(document: unknown) {
  const read = parseFilter(document);
  if (!isFilter(read)) throw new Error(JSON.stringify(read));
  return read;
}

function event(data: unknown, more: Partial<Subject> = {}): Subject {
  return { type: "budget.exceeded", tags: [], data, ...more };
}

const ROW = /^\| `(?<filter>\{.*\})` \| `(?<data>\{.*\})` \| (?<matches>yes|no) \|$/gm;
const page = readFileSync(new URL("../../docs/filters.md", import.meta.url), "utf8");
const cases = [...page.matchAll(ROW)].map(({ groups }) => groups as Record<"filter" | "data" | "matches", string>);

describe("a filter", () => {
  it("has a table of all its cases", () => {
    expect(cases.length).toBeGreaterThan(75);
    expect(page.match(/\| (?:yes|no) \|$/gm)).toHaveLength(cases.length);
  });

  it("has an example that takes the sample of its type", () => {
    const [, name, example] = /This one for `([\w.]+)`[^]*?```json shown\n([^]*?)```/.exec(page)!;
    const { sample } = BUILT_IN_TYPES.find((type) => type.name === name)!;
    expect(matches(filterOf(JSON.parse(example!)), event(sample, { type: name! }))).toBe(true);
  });

  it.each(cases)("$filter matches $data: $matches", ({ filter, data, matches: expected }) => {
    const below = JSON.parse(filter) as Record<string, unknown>;
    const read = filterOf({ data: below });
    expect(matches(read, event(JSON.parse(data)))).toBe(expected === "yes");
    expect(explain(read, event(JSON.parse(data))).matches).toBe(expected === "yes");
    expect(referenceTakes({ data: below }, event(JSON.parse(data)))).toBe(expected === "yes");
  });

  it.each([
    [{ type: "budget.exceeded" }, true],
    [{ type: { $startsWith: "budget." } }, true],
    [{ type: "goal.achieved" }, false],
    [{ tags: "vip" }, true],
    [{ tags: ["vip", "eu"] }, true],
    [{ tags: { $nin: ["vip"] } }, false],
    [{ type: { $in: ["budget.exceeded"] }, data: { x: 1 } }, true],
    [{ $or: [{ type: "goal.achieved" }, { tags: "eu" }] }, true],
    [{ $not: { tags: "eu" } }, false],
    [{ $and: [{ type: "budget.exceeded" }, { data: { x: 2 } }] }, false],
    [{ data: { $eq: { x: 1 } } }, true],
  ])("looks at the parts of an event: %j is %s", (document, expected) => {
    expect(matches(filterOf(document), event({ x: 1 }, { tags: ["vip", "eu"] }))).toBe(expected);
  });

  // The examples of other products' documentation, with our own values.
  it.each([
    ["a field", { kind: "order/created" }, { kind: "order/created", order: { number: 7 } }, true],
    ["a nested field", { item: { stock: 0 } }, { item: { name: "Lamp", stock: 0 } }, true],
    ["an array of objects", { order: { lines: { id: 456 } } }, { order: { lines: [{ id: 456, name: "Lamp" }] } }, true],
    ["an item", { item: { labels: "gift" } }, { item: { labels: ["gift", "new"] } }, true],
    ["items", { item: { labels: ["gift", "new"] } }, { item: { labels: ["gift", "new", "more"] } }, true],
    ["items, not all there", { labels: ["gift", "old"] }, { labels: ["gift", "new", "more"] }, false],
    ["a limit", { item: { stock: { $lte: 10 } } }, { item: { stock: 5 } }, true],
    ["a limit of items", { lines: { stock: { $lte: 10 } } }, { lines: [{ stock: 9 }, { stock: 11 }] }, true],
    ["a limit of no item", { lines: { stock: { $lte: 10 } } }, { lines: [{ stock: 12 }, { stock: 11 }] }, false],
    ["a range", { amount: { $gte: 100, $lt: 500 } }, { amount: 499 }, true],
    ["a range's end", { amount: { $gte: 100, $lt: 500 } }, { amount: 500 }, false],
    ["one of several", { stock: { $or: [1, 5] } }, { stock: 5 }, true],
    ["one of several filters", { $or: [{ name: "Ann" }, { name: "Bob" }] }, { name: "Eve" }, false],
    ["a status of two", { status: { $in: ["open", "late"] } }, { status: "late" }, true],
    ["a part of a text", { note: { $in: "cheap" } }, { note: "very cheap" }, true],
    ["no part of a text", { note: { $nin: "cheap" } }, { note: "very cheap" }, false],
    ["an end", { mail: { $endsWith: "@example.com" } }, { mail: "ann@example.com" }, true],
    ["a beginning", { code: { $startsWith: "A-" } }, { code: "B-1" }, false],
    ["something deleted", { deleted_at: { $exist: false } }, { deleted_at: "2026-01-01" }, false],
    ["two filters", { $and: [{ status: "on" }, { amount: { $gte: 100 } }] }, { status: "on", amount: 100 }, true],
    ["a negation", { status: { $not: { $in: ["gone", "back"] } } }, { status: "gone" }, false],
    ["a whole array", { labels: { $eq: ["a", "b"] } }, { labels: ["a", "b", "c"] }, false],
  ])("takes the documented examples of Hookdeck and Outpost: %s", (_, below, data, expected) => {
    expect(matches(filterOf({ data: below }), event(data))).toBe(expected);
    expect(matches(filterOf({ data: { deeper: below } }), event({ deeper: data }))).toBe(expected);
  });

  it.each([
    [5, "", /^must be an object/],
    [null, "", /^must be an object/],
    [[], "", /^must be an object/],
    [{}, "", /^is empty/],
    [{ data: {} }, "/data", /^is empty/],
    [{ amount: 5 }, "/amount", /^is not a part of an event, which has type, data, tags; its fields are below data$/],
    [{ date: { a: 5 } }, "/date", /did you mean data\?$/],
    [{ metadata: { a: 5 } }, "/metadata", /^is not a part of an event/],
    [{ $gt: 5 }, "/$gt", /^looks at a value/],
    [{ data: { a: { $gte2: 5 } } }, "/data/a/$gte2", /^is not an operator; did you mean \$gte\?$/],
    [{ data: { a: { $ne: 5 } } }, "/data/a/$ne", /did you mean \$neq\?$/],
    [{ data: { a: { $exists: true } } }, "/data/a/$exists", /did you mean \$exist\?$/],
    [{ data: { a: { $regex: "x" } } }, "/data/a/$regex", /did you mean \$startsWith, \$endsWith or \$in\?$/],
    [{ data: { a: { $zzzzzz: "x" } } }, "/data/a/$zzzzzz", /^is not an operator; the operators are \$eq, \$neq, /],
    [{ data: { a: { $constructor: 1 } } }, "/data/a/$constructor", /^is not an operator/],
    [{ data: { a: { $gt: true } } }, "/data/a/$gt", /^takes a number or a text$/],
    [{ data: { a: { $in: 5 } } }, "/data/a/$in", /^takes a list of plain values, or a text$/],
    [{ data: { a: { $nin: [{}] } } }, "/data/a/$nin", /^takes a list of plain values, or a text$/],
    [{ data: { a: { $startsWith: 1 } } }, "/data/a/$startsWith", /^takes a text$/],
    [{ data: { a: { $exist: 1 } } }, "/data/a/$exist", /^takes true or false$/],
    [{ data: { a: { $or: {} } } }, "/data/a/$or", /^must be a list of at least one condition$/],
    [{ data: { "a/b": { "~c": [] } } }, "/data/a~1b/~0c", /^must be a list of at least one condition$/],
    [{ $or: [{ type: "a" }, { kind: "b" }] }, "/$or/1/kind", /^is not a part of an event/],
    [{ data: { a: 2 ** 53 } }, "/data/a", /beyond 2\^53 - 1/],
    [{ data: { a: { $eq: [{ b: -1e300 }] } } }, "/data/a/$eq", /beyond 2\^53 - 1/],
    [{ data: { a: "x".repeat(5000) } }, "", /^is longer than 4096 characters of JSON$/],
  ])("%j is refused at %s", (document, pointer, detail) => {
    const read = parseFilter(document);
    expect(read).toEqual([{ pointer, detail: expect.stringMatching(detail) }]);
  });

  it("has limits on depth and conditions, and names at most ten faults", () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });
    expect(isFilter(parseFilter({ data: nested(FILTER_LIMITS.depth - 2) }))).toBe(true);
    const [fault] = parseFilter({ data: nested(FILTER_LIMITS.depth) }) as readonly FilterFault[];
    expect(fault).toMatchObject({ detail: `is nested more than ${FILTER_LIMITS.depth} deep` });
    const several = (count: number) => ({ data: { a: { $or: Array.from({ length: count }, (_, at) => at) } } });
    expect(isFilter(parseFilter(several(FILTER_LIMITS.conditions)))).toBe(true);
    expect(parseFilter(several(FILTER_LIMITS.conditions + 1))).toMatchObject([{ pointer: "/data/a/$or/50" }]);
    const wrong = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, { $no: 1 }]));
    expect(parseFilter({ data: wrong })).toHaveLength(10);
  });

  it("lets an event through when it would have to look at too many values", () => {
    const never = filterOf({ data: { x: "nothing" } });
    const items = (count: number) => event({ x: Array.from({ length: count }, () => 1) });
    expect(matches(never, items(MAX_LOOKS / 2))).toBe(false);
    expect(matches(never, items(MAX_LOOKS * 2))).toBe(true);
    expect(explain(never, items(MAX_LOOKS * 2))).toEqual({ matches: true, isTooLarge: true, decided: [] });
    const long = event({ x: "a".repeat(200 * MAX_LOOKS) });
    expect(explain(filterOf({ data: { x: { $in: "b" } } }), long).isTooLarge).toBe(true);
  });

  it("counts what it costs to compare whole arrays, so that many conditions on them end too", () => {
    const rows = Array.from({ length: 100 }, () => [...Array.from({ length: 400 }, () => 1), 2]);
    const list = { $eq: [...Array.from({ length: 400 }, () => 1), 3] };
    expect(explain(filterOf({ data: { x: list } }), event({ x: rows })).isTooLarge).toBe(true);
    expect(matches(filterOf({ data: { x: list } }), event({ x: rows.slice(0, 9) }))).toBe(false);
  });

  it("counts the keys of a wide object once, however many conditions ask", () => {
    let counts = 0;
    const wide = new Proxy({ a: 1, b: 2 }, { ownKeys: (keys) => (counts++, Reflect.ownKeys(keys)) });
    const some = Array.from({ length: 50 }, () => ({ $eq: { a: 1 } }));
    expect(matches(filterOf({ data: { x: { $or: some } } }), event({ x: wide }))).toBe(false);
    expect(counts).toBe(1);
  });

  it("searches a text in linear time", () => {
    const wanted = `${"a".repeat(1000)}b${"a".repeat(1000)}`;
    const slow = event({ x: "a".repeat(300_000) });
    const before = process.cpuUsage();
    for (let turn = 0; turn < 4; turn++) expect(matches(filterOf({ data: { x: { $in: wanted } } }), slow)).toBe(false);
    // A search that goes back in the text needs more than a second.
    expect(process.cpuUsage(before).user).toBeLessThan(400_000);
  });

  it("finds a text as String.includes does", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "\u{1f600}", "\ud83d"), maxLength: 20 });
    const short = fc.string({ unit: fc.constantFrom("a", "b", "\ude00"), maxLength: 5 });
    fc.assert(
      fc.property(text, fc.oneof(short, text), (value, wanted) => {
        expect(containing(wanted)(value, { left: MAX_LOOKS })).toBe(value.includes(wanted));
      }),
    );
  });
});

describe("an explanation", () => {
  it("costs little more than the answer, and leaves out reasons that would cost much more", () => {
    const ones = { x: Array.from({ length: 15_000 }, () => 1) };
    const many = Array.from({ length: 49 }, () => ({ $eq: 2 }));
    const quick = explain(filterOf({ data: { x: { $or: [1, ...many] } } }), event(ones));
    expect(quick.decided.map(({ pointer }) => pointer)).toEqual(["/data/x/$or/0"]);
    const deep = Array.from({ length: 30 }).reduce<unknown>((inner) => [inner], ones.x.toSpliced(-1, 1, 2));
    const { matches: isMatch, isTooLarge, decided } = explain(filterOf({ data: { y: 2 } }), event({ y: deep }));
    expect([isMatch, isTooLarge, decided]).toEqual([true, false, []]);
  });

  it.each([
    ["the condition that fails", { a: 1, b: { $gt: 5 } }, { a: 1, b: 3 }, [["/data/b/$gt", "/data/b", 3, false]]],
    [
      "all conditions of a match",
      { a: 1, b: { $gt: 5 } },
      { a: 1, b: 6 },
      [
        ["/data/a", "/data/a", 1, true],
        ["/data/b/$gt", "/data/b", 6, true],
      ],
    ],
    ["a missing value", { a: { b: 1 } }, {}, [["/data/a/b", "/data/a/b", undefined, false]]],
    ["the alternative that holds", { a: { $or: [1, 2] } }, { a: 2 }, [["/data/a/$or/1", "/data/a", 2, true]]],
    [
      "every alternative that fails",
      { a: { $or: [1, 2] } },
      { a: 3 },
      [
        ["/data/a/$or/0", "/data/a", 3, false],
        ["/data/a/$or/1", "/data/a", 3, false],
      ],
    ],
    ["what must not be", { a: { $not: { $in: [1, 2] } } }, { a: 2 }, [["/data/a/$not/$in", "/data/a", 2, true]]],
    ["what may not equal", { a: { $neq: 1 } }, { a: [1] }, [["/data/a/$neq", "/data/a", [1], false]]],
    ["the item that holds", { a: { b: 2 } }, { a: [{ b: 1 }, { b: 2 }] }, [["/data/a/b", "/data/a/1/b", 2, true]]],
    ["the only item", { a: { b: 2 } }, { a: [{ b: 1 }] }, [["/data/a/b", "/data/a/0/b", 1, false]]],
    [
      "an array without such an item",
      { a: { b: 2 } },
      { a: [{ b: 1 }, { b: 3 }] },
      [["/data/a", "/data/a", [{ b: 1 }, { b: 3 }], false]],
    ],
    ["the item that is not there", { a: ["x", "y"] }, { a: ["x"] }, [["/data/a/1", "/data/a", ["x"], false]]],
  ])("names %s", (_, below, data, expected) => {
    const { decided } = explain(filterOf({ data: below }), event(data));
    expect(decided.map(({ pointer, path, found, holds }) => [pointer, path, found, holds])).toEqual(expected);
  });
});

describe("10,000 random filters and events", () => {
  it("differ in nothing from a plain evaluator, and their explanations agree", () => {
    const counts = { taken: 0, left: 0 };
    for (let seed = 1; counts.taken + counts.left < 10_000; seed++) {
      const draw = new DrawnFilters(new Random(seed));
      const filter = draw.filter(2);
      const read = parseFilter(filter);
      // A few have too many levels.
      if (!isFilter(read)) continue;
      for (let event = 0; event < 5; event++) {
        const subject = draw.event();
        const expected = referenceTakes(filter, subject);
        const { matches: explained, decided } = explain(read, subject);
        const isFound = decided.length > 0 && decided.every(({ path, found }) => found === valueAt(subject, path));
        const answers: readonly boolean[] = [matches(read, subject), explained, isFound];
        counts[expected ? "taken" : "left"]++;
        if (answers.join() === [expected, expected, true].join()) continue;
        expect.fail(`seed ${seed}: ${JSON.stringify({ filter, subject, expected, answers })}`);
      }
    }
    expect(Math.min(counts.taken, counts.left)).toBeGreaterThan(1500);
  });
});

function valueAt(root: unknown, path: string): unknown {
  const names = path.split("/").slice(1);
  return names.reduce<any>((value, name) => {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? value[key] : undefined;
  }, root);
}
