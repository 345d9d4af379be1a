import { resolve } from "node:path";
import { existsSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { DoesNotApply, planted } from "../../scripts/mutants/mutant.ts";
import { MUTANTS } from "../../scripts/mutants/mutants.ts";
import { Copy } from "../../scripts/mutants/run.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** The worst bug, and one that is cheap to run. */
const SAMPLE = ["ack-before-commit", "ladder-off-by-one"];

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

  it("are noticed, a sample of them, and a change without a bug is not", () => {
    const copy = new Copy(ROOT);
    onTestFinished(() => copy.remove());
    for (const name of SAMPLE) {
      const mutant = MUTANTS.find((one) => one.name === name)!;
      expect(copy.judge(mutant, false).caughtBy, name).toContain(mutant.tests[0]);
    }
    const sound = MUTANTS.find(({ name }) => name === "ladder-off-by-one")!;
    expect(copy.judge({ ...sound, replace: sound.find }, false).caughtBy).toBeNull();
  });
});
