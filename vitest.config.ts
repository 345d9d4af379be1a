import { defineConfig } from "vitest/config";

// Called by hand, vitest would run on whatever `node` is first in PATH, and the SQLite addon crashes on an old one.
if (Number(process.versions.node.split(".")[0]) < 24) {
  throw new Error(`the tests need the pinned Node, this is ${process.version}: use npm test`);
}

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // A slow machine is no failure: only what hangs runs into these.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    restoreMocks: true,
    setupFiles: ["./test/harness/properties.ts"],
    reporters: ["default", "./test/harness/tally.ts"],
  },
});
