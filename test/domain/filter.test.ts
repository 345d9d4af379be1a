import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { explain, matches, MAX_LOOKS, type Subject } from "../../src/domain/events/filter/evaluate.ts";
import { FILTER_LIMITS, type FilterFault, isFilter, parseFilter } from "../../src/domain/events/filter/filter.ts";

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

  it.each(cases)("$filter matches $data: $matches", ({ filter, data, matches: expected }) => {
    const below = JSON.parse(filter) as Record<string, unknown>;
    const read = filterOf({ data: below });
    expect(matches(read, event(JSON.parse(data)))).toBe(expected === "yes");
    expect(explain(read, event(JSON.parse(data))).matches).toBe(expected === "yes");
    expect(referenceMatches(below, JSON.parse(data))).toBe(expected === "yes");
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

  // The examples of other products' pages, with values of our own.
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
});

describe("an explanation", () => {
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

/** The table of the page as plainly as it can be written, without compiling anything. */
function referenceMatches(condition: unknown, value: unknown): boolean {
  if (Array.isArray(condition)) {
    return Array.isArray(value) && condition.every((one) => value.some((item) => referenceMatches(one, item)));
  }
  if (typeof condition !== "object" || condition === null) return withItems(value).some((one) => one === condition);
  const members = Object.entries(condition);
  const isWhole = ([name, operand]: [string, unknown]) =>
    ["$neq", "$nin", "$not", "$or", "$and", "$exist"].includes(name) || (name === "$in" && typeof operand === "string");
  const items = members.filter((member) => !isWhole(member));
  return (
    members.filter(isWhole).every(([name, operand]) => referenceWhole(name, operand, value)) &&
    (items.length === 0 || withItems(value).some((one) => items.every((member) => referenceItem(member, one))))
  );
}

function referenceWhole(name: string, operand: any, value: any): boolean {
  if (name === "$neq") return !referenceMatches({ $eq: operand }, value);
  if (name === "$nin") return !referenceMatches({ $in: operand }, value);
  if (name === "$not") return !referenceMatches(operand, value);
  if (name === "$or") return operand.some((one: unknown) => referenceMatches(one, value));
  if (name === "$and") return operand.every((one: unknown) => referenceMatches(one, value));
  if (name === "$exist") return operand ? value !== undefined : value === undefined;
  if (typeof value === "string") return value.split(operand).length > 1 || operand === "";
  return Array.isArray(value) && value.some((item) => item === operand);
}

function referenceItem([name, operand]: [string, any], value: any): boolean {
  const isBoth = typeof value === typeof operand && (typeof value === "number" || typeof value === "string");
  if (name === "$eq") return sorted(value) === sorted(operand);
  if (name === "$gt") return isBoth && value > operand;
  if (name === "$gte") return isBoth && value >= operand;
  if (name === "$lt") return isBoth && value < operand;
  if (name === "$lte") return isBoth && value <= operand;
  if (name === "$in") return operand.some((one: unknown) => one === value);
  if (name === "$startsWith") return typeof value === "string" && value.slice(0, operand.length) === operand;
  if (name === "$endsWith")
    return (
      typeof value === "string" &&
      value.length >= operand.length &&
      (operand === "" || value.slice(-operand.length) === operand)
    );
  if (Array.isArray(value)) return false;
  const own = typeof value === "object" && value !== null && Object.keys(value).includes(name);
  return referenceMatches(operand, own ? value[name] : undefined);
}

function withItems(value: unknown): unknown[] {
  return [value, ...(Array.isArray(value) ? value.flatMap(withItems) : [])];
}

/** The same text for the same value, whatever the order of its keys. */
function sorted(value: any): string | undefined {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.keys(value)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${sorted(value[key])}`)
    .join()}}`;
}

describe("10,000 random filters and events", () => {
  const scalar = fc.constantFrom<unknown>(0, 1, 2, -1, 1.5, "", "a", "ab", "b", true, false, null);
  const name = fc.constantFrom("x", "y", "constructor", "__proto__");
  const { data } = fc.letrec((tie) => ({
    data: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      scalar,
      fc.array(tie("data"), { maxLength: 3 }),
      fc.dictionary(name, tie("data"), { maxKeys: 3 }),
    ),
  }));
  const ordered = fc.constantFrom<unknown>(0, 1, 1.5, "a", "b");
  const text = fc.constantFrom("", "a", "b", "ab");
  const listOrText = fc.oneof(fc.array(scalar, { minLength: 1, maxLength: 3 }), text);
  const { condition } = fc.letrec((tie) => {
    const several = fc.array(tie("condition"), { minLength: 1, maxLength: 3 });
    const one = { $eq: data, $neq: data, $gt: ordered, $gte: ordered, $lt: ordered, $lte: ordered, $in: listOrText };
    const two = { $nin: listOrText, $startsWith: text, $endsWith: text, $exist: fc.boolean() };
    const tree = { $or: several, $and: several, $not: tie("condition"), x: tie("condition"), y: tie("condition") };
    const members = fc.record({ ...one, ...two, ...tree, constructor: tie("condition") }, { requiredKeys: [] });
    const few = fc
      .tuple(members, fc.shuffledSubarray([...Object.keys(one), ...Object.keys(two), ...Object.keys(tree)]))
      .map(([all, names]) => Object.fromEntries(Object.entries(all).filter(([key]) => names.slice(0, 2).includes(key))))
      .filter((some) => Object.keys(some).length > 0);
    return { condition: fc.oneof({ depthSize: "small", withCrossShrink: true }, scalar, few, several, few, few) };
  });

  it("differ in nothing from a plain evaluator, and their explanations agree", () => {
    let [compared, matched] = [0, 0];
    fc.assert(
      fc.property(condition, fc.array(data, { minLength: 5, maxLength: 5 }), (below, some) => {
        const read = parseFilter({ data: below });
        if (!isFilter(read)) return;
        for (const one of some) {
          const subject = event(one);
          const expected = referenceMatches(below, one);
          const { matches: explained, decided } = explain(read, subject);
          compared++;
          matched += Number(expected);
          const isFound = decided.length > 0 && decided.every(({ path, found }) => found === valueAt(subject, path));
          const answers = [matches(read, subject), explained, isFound];
          if (answers.join() !== [expected, expected, true].join()) expect(answers).toEqual([expected, expected, true]);
        }
      }),
      { numRuns: 2500 },
    );
    expect(compared).toBeGreaterThan(10_000);
    expect(matched).toBeGreaterThan(1000);
    expect(matched).toBeLessThan(compared - 1000);
  });
});

function valueAt(root: unknown, path: string): unknown {
  const names = path.split("/").slice(1);
  return names.reduce<any>((value, name) => {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? value[key] : undefined;
  }, root);
}
