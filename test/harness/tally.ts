import type { Reporter, TestModule } from "vitest/node";

/** Ends the run with one line for CI: `N passed, N failed`, followed by `, N skipped` if tests were skipped. */
export default class Tally implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      // Counts a file or hook that failed. The tests that depend on it count as skipped.
      for (const group of [module, ...module.children.allSuites()]) if (group.errors().length > 0) count.failed++;
      for (const test of module.children.allTests()) count[test.result().state]++;
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : "";
    process.stdout.write(`${count.passed} passed, ${count.failed} failed${skipped}\n`);
  }
}
