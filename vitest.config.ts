import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { memoryDirectory } from "./test/harness/scratch.ts";

// Called by hand, vitest would run on whatever `node` is first in PATH, and the SQLite addon crashes on an old one.
if (Number(process.versions.node.split(".")[0]) < 24) {
  throw new Error(`the tests need the pinned Node, this is ${process.version}: use npm test`);
}

const scratch = process.env.TMPDIR ?? memoryDirectory();

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "test/**/*.test.tsx"],
    ...(scratch !== undefined && { env: { TMPDIR: scratch } }),
    // A slow machine is no failure: only what hangs runs into these.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    // Vitest would leave a core to itself, which on two of them is half of the machine.
    maxWorkers: availableParallelism(),
    restoreMocks: true,
    setupFiles: ["./test/harness/properties.ts"],
    reporters: ["default", "./test/harness/tally.ts"],
  },
});
