import { resolve } from "node:path";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DoesNotApply, planted } from "../../scripts/mutants/mutant.ts";
import { MUTANTS } from "../../scripts/mutants/mutants.ts";
import { SLOW_FILES } from "../slow-files.ts";

const ROOT = resolve(import.meta.dirname, "../..");

describe("bugs that the tests must notice", () => {
  it.each(MUTANTS)("can be planted: $name", (mutant) => {
    expect(planted(ROOT, mutant)).toContain(mutant.replace);
    for (const test of mutant.tests) expect(existsSync(resolve(ROOT, test)), test).toBe(true);
  });

  it("have a name each", () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });

  it("are refused where the lines have changed", () => {
    const mutant = { ...MUTANTS[0]!, find: "a line that nobody wrote" };
    expect(() => planted(ROOT, mutant)).toThrow(DoesNotApply);
  });

  it("are noticed by npm test alone, at least nine in ten", () => {
    const late = MUTANTS.filter(({ tests }) => tests.every((test) => SLOW_FILES.includes(test)));
    expect(late.length, late.map(({ name }) => name).join("\n")).toBeLessThanOrEqual(MUTANTS.length / 10);
  });
});
