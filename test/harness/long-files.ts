/**
 * The order in which test files start. If a long file started last, one core would stand idle while the other finishes
 * it. Files that compute alternate with files that mostly wait for a terminal, a timer or a process, so that all cores
 * are busy. Files that are not listed here are short.
 */
const COMPUTES = [
  "test/store/sqlite.test.ts",
  "test/crash/crash.test.ts",
  "test/process/disk-faults.test.ts",
  "test/sim/sim.test.ts",
  "test/power/power.test.ts",
  "test/sim/sim-2.test.ts",
  "test/process/first-start.test.ts",
  "test/sim/sim-3.test.ts",
  "test/docs/pages.test.ts",
  "test/sim/sim-4.test.ts",
  "test/sim/plants.test.ts",
  "test/process/restart.test.ts",
  "test/process/full-disk.test.ts",
  "test/process/commands.test.ts",
  "test/process/refusals.test.ts",
  "test/process/outage.test.ts",
  "test/cli/secrets.test.ts",
];
const WAITS = [
  "test/store/postgres.test.ts",
  "test/process/nodes.test.ts",
  "test/process/standby.test.ts",
  "test/tui/keymap.test.ts",
  "test/e2e/outage.test.ts",
  "test/tui/budgets.test.ts",
  "test/tui/keymap-lists.test.ts",
  "test/tui/terminal.test.ts",
  "test/soak/soak.test.ts",
  "test/e2e/damage.test.ts",
  "test/tui/drill.test.ts",
  "test/tui/hostile.test.ts",
  "test/process/descriptors.test.ts",
  "test/tui/outage.test.ts",
  "test/store/opening/damage.test.ts",
  "test/tui/live.test.tsx",
  "test/process/stop.test.ts",
  "test/delivery/hold.test.ts",
  "test/e2e/faults.test.ts",
];

/** All long files, in the order in which they start. */
export const LONG = COMPUTES.flatMap((file, at) => [file, WAITS[at]]).filter((file) => file !== undefined);
