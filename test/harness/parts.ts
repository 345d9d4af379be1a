/**
 * The projects of vitest.config.ts. `npm test` runs `alone`, `processes` and `shared`. `npm run test:all` runs `slow`,
 * which is every other test: the files that test/slow-files.ts lists.
 */
import { SLOW_FILES } from "../slow-files.ts";

/** These wait for processes, terminals and servers, which wait for their turn on a busy machine. */
const PROCESSES = [
  ...["crash", "docs", "e2e", "outbox", "package", "portal", "power", "process", "store/postgres", "tui"].map(
    (folder) => `test/${folder}/**/*.test.{ts,tsx}`,
  ),
  "test/store/postgres.test.ts",
  "test/store/conformance/differential/differential.test.ts",
  "test/store/why-histories.test.ts",
];
/** These replace a module, or change something that belongs to the process. Each file has a separate process. */
const ALONE = [
  "test/api/endpoints/shown-secret.test.ts",
  "test/cli/config.test.ts",
  "test/cli/receiver/public-key.test.ts",
  "test/daemon/chores.test.ts",
  "test/delivery/http/egress-guard.test.ts",
  "test/store/restore/restore-crash.test.ts",
  "test/store/sqlite/secrets/key-change.test.ts",
];

interface Part {
  readonly name: string;
  readonly isolate: boolean;
  readonly include: string[];
  readonly exclude: string[];
  readonly testTimeout: number;
  readonly hookTimeout: number;
  readonly expect: { readonly poll: { readonly timeout: number } };
}

/** Only a test that hangs reaches a limit. */
const limits = (seconds: number) => ({
  testTimeout: seconds * 1000,
  hookTimeout: seconds * 1000,
  expect: { poll: { timeout: (seconds * 1000) / 2 } },
});

/**
 * Files that are not isolated share a process, because loading each of them anew would take a fifth of the CPU time of
 * `npm test`.
 */
export const PARTS: readonly Part[] = [
  { name: "alone", isolate: true, include: ALONE, exclude: [], ...limits(60) },
  { name: "processes", isolate: false, include: PROCESSES, exclude: [...SLOW_FILES], ...limits(120) },
  {
    name: "shared",
    isolate: false,
    include: ["test/**/*.test.{ts,tsx}"],
    exclude: [...ALONE, ...PROCESSES, ...SLOW_FILES],
    ...limits(60),
  },
  { name: "slow", isolate: true, include: [...SLOW_FILES], exclude: [], ...limits(300) },
];
