import { describe, expect, it } from "vitest";
import { LinearPattern, OutOfSteps } from "../../src/domain/json/linear-pattern.ts";
import { Random } from "../sim/random.ts";

const MANY = 1_000_000;
const ATOMS = ["a", "b", ".", "\\d", "\\w", "[ab]", "[^a]", "\\p{L}", "\\b", "^", "$", "\\u{1f600}", "é", "\\."];
const MORE_ATOMS = ["[\\]a-]", "\\n", "\\x61", "\\u0062", "\\ud83d\\ude00", "[\u{1f600}x]", "(?:)", "\\cJ"];
const TIMES = ["", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?", "+?", "??", "{1,2}?"];
const LETTERS = ["a", "b", "1", "_", " ", "\n", "é", "\u{1f600}", "x", "]", "-", "."];

function drawn(random: Random, levels: number): string {
  const kind = levels === 0 ? 0 : random.next();
  const inner = () => drawn(random, levels - 1);
  if (kind < 0.35) return random.pick([...ATOMS, ...MORE_ATOMS]);
  if (kind < 0.55) return inner() + inner();
  if (kind < 0.65) return `${inner()}|${inner()}`;
  const group = random.pick(["(?:", "(", `(?<n${random.between(0, 1e9)}>`]);
  return `${group}${inner()})${random.pick(TIMES)}`;
}

describe("a pattern in linear time", () => {
  it("matches as a regular expression does", () => {
    const random = new Random(1);
    const counts = { yes: 0, no: 0 };
    for (let pattern = 0; pattern < 3000; pattern++) {
      const source = drawn(random, 4);
      const linear = new LinearPattern(source, { left: MANY });
      const native = RegExp(source, "u");
      for (let text = 0; text < 3; text++) {
        const value = Array.from({ length: random.between(0, 6) }, () => random.pick(LETTERS)).join("");
        const expected = native.test(value);
        counts[expected ? "yes" : "no"]++;
        if (linear.test(value) !== expected) expect.fail(JSON.stringify({ source, value, expected }));
      }
    }
    expect(Math.min(counts.yes, counts.no)).toBeGreaterThan(2000);
  });

  it("takes as many steps as the text is long, where others go back for minutes", () => {
    const steps = { left: MANY };
    expect(new LinearPattern("^(a+)+$", steps).test(`${"a".repeat(40)}b`)).toBe(false);
    expect(steps.left).toBeGreaterThan(MANY - 1000);
  });

  it("ends when it may take no more steps", () => {
    const pattern = new LinearPattern("x{1,200}y", { left: 1000 });
    expect(() => pattern.test("x".repeat(5000))).toThrow(OutOfSteps);
  });

  it.each([
    ["(?=a)", /looks ahead or behind/],
    ["(?<!a)b", /looks ahead or behind/],
    ["(?i:a)", /has flags/],
    ["(a)\\1", /reference back/],
    ["(?<x>a)\\k<x>", /reference back/],
    ["a{6000}", /repeats too many/],
    ["((((a{9}){9}){9}){9}){9}", /repeats too many/],
    ["[", /Invalid regular expression/],
  ])("refuses %s", (source, message) => {
    expect(() => new LinearPattern(source, { left: MANY })).toThrow(message);
  });

  it("writes out nothing however often", () => {
    expect(new LinearPattern("(?:){1000000000}a", { left: MANY }).test("a")).toBe(true);
  });
});
