import { resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { MUTANTS } from "../../scripts/mutants/mutants.ts";
import { Copy } from "../../scripts/mutants/run.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** The worst bug, and one that is cheap to run. */
const SAMPLE = ["ack-before-commit", "ladder-off-by-one"];

it("a sample of the mutants is noticed, and a change without a bug is not", () => {
  const copy = new Copy(ROOT);
  onTestFinished(() => copy.remove());
  for (const name of SAMPLE) {
    const mutant = MUTANTS.find((one) => one.name === name)!;
    expect(copy.judge(mutant, false).caughtBy, name).toContain(mutant.tests[0]);
  }
  const sound = MUTANTS.find(({ name }) => name === "ladder-off-by-one")!;
  expect(copy.judge({ ...sound, replace: sound.find }, false).caughtBy).toBeNull();
});
