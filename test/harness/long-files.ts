/**
 * Which test files start first: with the long ones last, one core would stand still while the other finishes them. A
 * file that computes and one that mostly waits (for a terminal, a timer, a process) take turns, so that all cores have
 * something to do. What is not named here is short.
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
