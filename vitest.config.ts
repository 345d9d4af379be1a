import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { V8_CODE_FLAG } from "./scripts/package/node-flags.ts";
import { LONG } from "./test/harness/long-files.ts";
import { scratchOfRun } from "./test/harness/scratch.ts";

// Called by hand, vitest would run on whatever `node` is first in PATH, and the SQLite addon crashes on an old one.
if (Number(process.versions.node.split(".")[0]) < 24) {
  throw new Error(`the tests need the pinned Node, this is ${process.version}: use npm test`);
}

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = LONG.indexOf(relative(import.meta.dirname, moduleId));
      return at === -1 ? LONG.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

/** Tests that leave nothing behind in their process: several files share one, because to load each anew costs a minute. */
const SHARED = "alerts|api|cli|client|config|delivery|domain|jobs";
/** These replace a module, or change what belongs to the process. */
const ALONE = [
  "test/api/endpoints/shown-secret.test.ts",
  "test/cli/config.test.ts",
  "test/cli/receiver/public-key.test.ts",
  "test/delivery/http/egress-guard.test.ts",
];
const project = (name: string, isolate: boolean, include: string[], exclude: string[]) => ({
  extends: true as const,
  test: { name, isolate, include, exclude },
});

export default defineConfig({
  test: {
    projects: [
      project("alone", true, [`test/!(${SHARED})/**/*.test.{ts,tsx}`, "test/*.test.ts", ...ALONE], []),
      project("shared", false, [`test/@(${SHARED})/**/*.test.ts`], ALONE),
    ],
    execArgv: [V8_CODE_FLAG],
    env: { TMPDIR: scratchOfRun() },
    // A slow machine is no failure: only what hangs runs into these.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    // Vitest would leave a core to itself, and a third of the time a test waits for something else than a core.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongFirst },
    restoreMocks: true,
    setupFiles: ["./test/harness/properties.ts"],
    reporters: ["default", "./test/harness/tally.ts"],
  },
});
