import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { V8_CODE_FLAG } from "./scripts/package/node-flags.ts";
import { LONG } from "./test/harness/long-files.ts";
import { PARTS } from "./test/harness/parts.ts";
import { scratchOfRun } from "./test/harness/scratch.ts";
import { SLOW_FILES } from "./test/slow-files.ts";

// Called by hand, vitest would run on whatever `node` is first in PATH, and the SQLite addon crashes on an old one.
if (Number(process.versions.node.split(".")[0]) < 24) {
  throw new Error(`the tests need the pinned Node, this is ${process.version}: use npm test`);
}

// Processes of tests, and their threads, would spend a third of their CPU time compiling the same modules again.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, ".cache/compile");

const ORDER = [...LONG, ...SLOW_FILES];

/** Keeps the files of a project together, because a process that changes to another project loads everything anew. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const project = ({ project: { name } }: TestSpecification) => PARTS.findIndex((part) => part.name === name);
    const place = ({ moduleId }: TestSpecification) => {
      const at = ORDER.indexOf(relative(import.meta.dirname, moduleId));
      return at === -1 ? ORDER.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => project(a) - project(b) || place(a) - place(b));
  }
}

export default defineConfig({
  test: {
    projects: PARTS.map((part) => ({ extends: true as const, test: part })),
    execArgv: [V8_CODE_FLAG],
    env: { TMPDIR: scratchOfRun() },
    // Vitest would leave a core to itself, and a third of the time a test waits for something else than a core.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongFirst },
    restoreMocks: true,
    setupFiles: ["./test/harness/properties.ts", "./test/harness/hooks.ts"],
    reporters: ["default", "./test/harness/tally.ts"],
  },
});
