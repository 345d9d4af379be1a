/** Plants each known bug in a copy of this checkout, and prints the test that caught it. */
import { resolve } from "node:path";
import { memoryDirectory } from "../../test/harness/scratch.ts";
import { scriptArguments } from "../arguments.ts";
import { DoesNotApply } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";
import { Copy } from "./run.ts";

const USAGE = `npm run mutants -- [--only NAME]… [--quick]

Plants each known bug in a copy of this checkout and says which test saw it. With --quick only the tests run that are
expected to see it.

Bugs:
  ${MUTANTS.map(({ name }) => name).join("\n  ")}`;

const { values, refuse } = scriptArguments(USAGE, {
  only: { type: "string", multiple: true },
  quick: { type: "boolean", default: false },
});
const scratch = process.env.TMPDIR ?? memoryDirectory();
if (scratch !== undefined) process.env.TMPDIR = scratch;
const wanted = MUTANTS.filter(({ name }) => values.only === undefined || values.only.includes(name));
if (wanted.length === 0) refuse("There is no such bug.");

const copy = new Copy(resolve(import.meta.dirname, "../.."));
let caught = 0;
try {
  for (const mutant of wanted) {
    try {
      const { caughtBy, seconds } = copy.judge(mutant, !values.quick);
      if (caughtBy !== null) caught++;
      console.log(`${mutant.name}: ${caughtBy ?? "SURVIVED"} (${seconds.toFixed(1)} s)`);
    } catch (error) {
      if (!(error instanceof DoesNotApply)) throw error;
      console.error(`DOES NOT APPLY ${error.message}`);
    }
  }
} finally {
  copy.remove();
}
console.log(`${caught} of ${wanted.length} were caught`);
process.exitCode = caught === wanted.length ? 0 : 1;
