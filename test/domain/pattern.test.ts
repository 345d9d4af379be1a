import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BUILT_IN_TYPES } from "../../src/domain/events/event-type.ts";
import {
  chooses,
  chosenOf,
  isPattern,
  matches,
  namesThatMatch,
  patternFault,
} from "../../src/domain/events/pattern.ts";

const KNOWN = BUILT_IN_TYPES.map(({ name }) => name);
const word = fc.stringMatching(/^[a-z0-9_-]{1,3}$/);
const type = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join("."));

describe("a pattern", () => {
  it.each([
    ["*", "budget.exceeded", true],
    ["budget.*", "budget.exceeded", true],
    ["budget.*", "budget.limit.raised", true],
    ["budget.limit.*", "budget.limit.raised", true],
    ["budget.limit.*", "budget.exceeded", false],
    ["budget.*", "budget", false],
    ["budget.*", "budgets.exceeded", false],
    ["budget.*", "Budget.exceeded", false],
    ["budget.exceeded", "budget.exceeded", true],
    ["budget.exceeded", "budget.exceeded.twice", false],
  ])("%s takes in %s: %s", (name, one, takes) => {
    expect(matches(name, one)).toBe(takes);
    expect(namesThatMatch(one).includes(name)).toBe(takes);
  });

  it("matches exactly the types under whose names it is looked for", () => {
    const names = fc.oneof(
      type,
      type.map((one) => `${one}.*`),
      fc.constant("*"),
    );
    fc.assert(
      fc.property(names, type, (name, one) => matches(name, one) === namesThatMatch(one).includes(name)),
      { numRuns: 2000 },
    );
  });

  it("takes in what is added later, and an exact name does not", () => {
    expect(chosenOf(["budget.*", "goal.achieved"], KNOWN)).toEqual(["budget.exceeded", "goal.achieved"]);
    expect(chosenOf(["budget.*", "goal.achieved"], [...KNOWN, "budget.new", "goal.new"])).toEqual([
      "budget.exceeded",
      "goal.achieved",
      "budget.new",
    ]);
    expect(chooses(["goal.achieved"], "goal.new")).toBe(false);
    expect(["*", "budget.*", "budget", "a.b"].map(isPattern)).toEqual([true, true, false, false]);
  });

  it.each(["*", "budget.*", "nobody.publishes.this.*", "A-1_b.*"])("may be %s", (text) => {
    expect(patternFault(text, KNOWN)).toBeNull();
  });

  it.each([
    ["*.exceeded", "*"],
    ["budget*", "budget.*"],
    ["bud*", "budget.*"],
    ["zzz*", "*"],
    ["budget.ex*", "budget.*"],
    ["budget.*.raised", "budget.*"],
    ["a.b.*.*", "a.b.*"],
    ["**", "*"],
    [".*", "*"],
    ["*.*", "*"],
    ["a b.*", "*"],
    [`${"x".repeat(130)}.*`, "*"],
  ])("may not be %s, and %s is meant", (text, near) => {
    const fault = patternFault(text, KNOWN);
    expect(fault).toMatch(/^is not a pattern: \* stands alone, for every type, or as the whole last word/);
    expect(fault!.endsWith(`did you mean ${near}?`)).toBe(true);
    expect(patternFault(near, KNOWN)).toBeNull();
  });
});
