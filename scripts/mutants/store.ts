/** Bugs in what is kept. */
import type { Mutant } from "./mutant.ts";

export const STORE: readonly Mutant[] = [
  {
    name: "ack-before-commit",
    file: "src/store/sqlite/engine/group-commit.ts",
    find: "      this.#commit.run();\n",
    replace: "      batch.forEach((work, index) => work.resolve(results[index]));\n      this.#commit.run();\n",
    tests: ["test/api/publishing/commit.test.ts"],
  },
  {
    name: "synchronous-normal-after-opening",
    file: "src/store/sqlite/store.ts",
    find: "    this.#onClosed = onClosed;\n",
    replace: '    this.#onClosed = onClosed;\n    db.pragma("synchronous = NORMAL");\n',
    tests: ["test/sim/sim.test.ts"],
  },
  {
    name: "synchronous-left-at-its-default",
    file: "src/store/sqlite/engine/open-database.ts",
    find: '  db.pragma("synchronous = FULL");\n',
    replace: "",
    tests: ["test/store/sqlite/engine/durability.test.ts"],
  },
  {
    name: "no-directory-fsync",
    file: "src/store/files/durable-file.ts",
    find: '  const directory = openSync(path, "r");\n  try {\n    fsyncSync(directory);',
    replace: '  const directory = openSync(path, "r");\n  try {',
    tests: ["test/process/durable-names.test.ts"],
  },
  {
    name: "new-directory-not-synced",
    file: "src/store/files/durable-file.ts",
    find: "  syncDirectory(parent);\n",
    replace: "",
    tests: ["test/process/durable-names.test.ts"],
  },
  {
    name: "names-survive-a-rollback",
    file: "src/store/sqlite/store.ts",
    find: "for (const memory of Object.values(names)) engine.mirror(memory);",
    replace: "for (const memory of Object.values(names)) if (memory !== names.tenants) engine.mirror(memory);",
    tests: ["test/store/sqlite/engine/rollback.test.ts"],
  },
  {
    name: "nothing-is-forgotten-at-a-rollback",
    file: "src/store/sqlite/engine/group-commit.ts",
    find: "    this.#options.onRollback();\n",
    replace: "",
    tests: ["test/store/sqlite/engine/group-commit.test.ts"],
  },
  {
    name: "nothing-is-rolled-back",
    file: "src/store/sqlite/engine/group-commit.ts",
    find: "      this.#rollback.run();\n",
    replace: "",
    tests: ["test/store/sqlite/engine/group-commit.test.ts"],
  },
  {
    name: "a-failed-fsync-is-tried-again",
    file: "src/store/sqlite/engine/condition.ts",
    find: '(code === "SQLITE_FULL") return "full"',
    replace: '(code === "SQLITE_FULL" || code.startsWith("SQLITE_IOERR_FSYNC")) return "full"',
    tests: ["test/store/sqlite/engine/group-commit.test.ts"],
  },
  {
    name: "rung-lost-at-a-restart",
    file: "src/store/sqlite/claims/due.ts",
    find: "    retry: row.retry,\n",
    replace: "    retry: 0,\n",
    tests: ["test/store/sqlite.test.ts", "test/sim/sim.test.ts"],
  },
  {
    name: "equal-due-times-lost-at-a-page-end",
    file: "src/store/sqlite/claims/due.ts",
    find: "AND (d.due_at, d.event) > (?, ?) AND d.due_at <= ?",
    replace: "AND d.due_at > ? AND d.event <> ? AND d.due_at <= ?",
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "bytes-change-on-a-retry",
    file: "src/store/sqlite/claims/due.ts",
    find: "  const body = row.body ?? Buffer.alloc(0);\n",
    replace: '  const body = Buffer.from(row.body === null ? "" : JSON.stringify(JSON.parse(row.body.toString())));\n',
    tests: ["test/store/sqlite.test.ts", "test/sim/sim.test.ts"],
  },
  {
    name: "prune-takes-what-is-fresh",
    file: "src/store/sqlite/events/prune.ts",
    find: "max(status <= ${WAITING}) AS open",
    replace: "max(status = ${WAITING}) AS open",
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "claim-check-dropped",
    file: "src/store/sqlite/deliveries/delivery-store.ts",
    find: "AND attempts = ? AND status <= ${WAITING}`",
    replace: "AND ? >= 0 AND status <= ${WAITING}`",
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "a-late-failure-undoes-a-success",
    file: "src/store/sqlite/deliveries/delivery-store.ts",
    find: "AND attempts = ? AND status <= ${WAITING}`",
    replace: "AND attempts = ?`",
    tests: ["test/store/sqlite.test.ts", "test/sim/sim.test.ts"],
  },
  {
    name: "a-retry-loses-its-due-time",
    file: "src/store/sqlite/deliveries/delivery-store.ts",
    find: "retry: verdict.retry, trigger: triggerCode(trigger), dueAt: Math.ceil(verdict.dueAt)",
    replace: "retry: verdict.retry, trigger: triggerCode(trigger), dueAt: 0",
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "a-key-is-not-remembered",
    file: "src/store/sqlite/events/event-store.ts",
    find: "        this.#idempotency.published(draft, publication);\n",
    replace: "",
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "a-repeated-publish-is-sent-again",
    file: "src/store/sqlite/events/event-store.ts",
    find: "{ ...publications[repeated]!, fresh: [], waiting: [], duplicate: true }",
    replace: "{ ...publications[repeated]!, duplicate: true }",
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "a-replay-keeps-its-rung",
    file: "src/store/sqlite/events/event-changes.ts",
    find: "round = round + 1, retry = 0, trigger",
    replace: "round = round + 1, trigger",
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "a-jobs-replay-keeps-its-rung",
    file: "src/store/sqlite/jobs/job-steps.ts",
    find: "round = round + 1, retry = 0, trigger",
    replace: "round = round + 1, trigger",
    tests: ["test/store/sqlite.test.ts", "test/sim/sim.test.ts"],
  },
  {
    name: "a-cancel-takes-what-came-after-it",
    file: "src/store/sqlite/endpoints/sweep.ts",
    find: "for (const { event } of rows) if (event <= upTo) this.#cancel",
    replace: "for (const { event } of rows) this.#cancel",
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "a-rotation-is-lost-to-a-new-key",
    file: "src/store/sqlite/secrets/sealed-rows.ts",
    find: "one.secret === other.secret && one.next_secret === other.next_secret && one.headers",
    replace: "one.secret === other.secret && one.headers",
    tests: ["test/store/sqlite/secrets/key-change.test.ts"],
  },
  {
    name: "an-old-key-counts-for-ever",
    file: "src/store/sqlite/callers/idempotency.ts",
    find: 'AND expires_at > ?"',
    replace: 'AND ? >= 0"',
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "a-batch-is-entered-twice",
    file: "src/store/sqlite/engine/group-commit.ts",
    find: "const results = batch.map((run) => run());",
    replace: "const results = batch.map((run) => (run(), run()));",
    tests: ["test/store/sqlite/engine/group-commit.test.ts"],
  },
  {
    name: "a-due-time-is-a-transaction-of-its-own",
    file: "src/store/sqlite/deliveries/delivery-store.ts",
    find: "    const moved = this.#move.run(status, claim.number, retry, trigger, dueAt, event, endpoint.number, before);\n",
    replace: `    const later = dueAt === null ? null : dueAt + 86_400_000;
    const moved = this.#move.run(status, claim.number, retry, trigger, later, event, endpoint.number, before);
    setImmediate(() => {
      try {
        this.#move.run(status, claim.number, retry, trigger, dueAt, event, endpoint.number, claim.number);
      } catch {}
    });
`,
    tests: ["test/sim/sim.test.ts"],
  },
];
