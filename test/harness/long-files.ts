/**
 * The longest files of `npm test`, which start first. If one of them started last, one core would stand idle until it
 * ends. Files that are not listed here are short.
 */
export const LONG: readonly string[] = [
  "test/store/postgres.test.ts",
  "test/store/sqlite.test.ts",
  "test/outbox/postgres.test.ts",
  "test/store/sqlite/secrets/key-change.test.ts",
  "test/store/postgres/nodes.test.ts",
  "test/store/postgres/clocks.test.ts",
  "test/store/postgres/uncertain.test.ts",
  "test/crash/crash.test.ts",
  "test/sim/sim.test.ts",
  "test/power/power.test.ts",
  "test/store/opening/damage.test.ts",
  "test/tui/real-daemon.test.ts",
  "test/sim/nodes.test.ts",
  "test/e2e/faults.test.ts",
  "test/store/postgres/migrate.test.ts",
];
