import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { LONG } from "./test/harness/long-files.ts";
import { memoryDirectory } from "./test/harness/scratch.ts";

// Called by hand, vitest would run on whatever `node` is first in PATH, and the SQLite addon crashes on an old one.
if (Number(process.versions.node.split(".")[0]) < 24) {
  throw new Error(`the tests need the pinned Node, this is ${process.version}: use npm test`);
}

const scratch = process.env.TMPDIR ?? memoryDirectory();

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = LONG.indexOf(relative(import.meta.dirname, moduleId));
      return at === -1 ? LONG.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "test/**/*.test.tsx"],
    ...(scratch !== undefined && { env: { TMPDIR: scratch } }),
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
