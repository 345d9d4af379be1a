/** Bugs in what is found again: after a death of the process, on a damaged page, by a clock that was set. */
import type { Mutant } from "./mutant.ts";

export const RECOVERY: readonly Mutant[] = [
  {
    name: "the-mark-passes-what-is-fresh",
    file: "src/store/sqlite/claims/fresh.ts",
    find: "    const to = fresh ?? free;\n",
    replace: "    const to = free;\n",
    tests: ["test/store/sqlite/claims/fresh.test.ts", "test/sim/sim.test.ts"],
  },
  {
    name: "the-mark-jumps-over-what-stays-fresh",
    file: "src/store/sqlite/claims/fresh.ts",
    find: "    const to = fresh ?? free;\n",
    replace: `    const late = fresh !== null && this.#steps.length === PATIENCE ? this.#steps[0]! : 0;
    const to = Math.max(fresh ?? free, late);
`,
    tests: ["test/store/sqlite/claims/fresh.test.ts"],
  },
  {
    name: "what-stays-fresh-keeps-a-due-time-that-the-clock-left",
    file: "src/store/sqlite/claims/fresh.ts",
    find: "due_at = min(due_at, ?)\n       WHERE event >= ?",
    replace: "due_at = coalesce(due_at, ?)\n       WHERE event >= ?",
    tests: ["test/store/sqlite/claims/fresh.test.ts"],
  },
  {
    name: "what-a-start-releases-keeps-a-due-time-that-the-clock-left",
    file: "src/store/sqlite/claims/fresh.ts",
    find: "due_at = min(due_at, ?) WHERE event = ? AND endpoint = ?",
    replace: "due_at = coalesce(due_at, ?) WHERE event = ? AND endpoint = ?",
    tests: ["test/store/sqlite/claims/fresh.test.ts"],
  },
  {
    name: "what-is-parked-keeps-a-due-time-that-the-clock-left",
    file: "src/store/sqlite/deliveries/delivery-store.ts",
    find: "due_at = min(due_at, ?)\n       WHERE event = ? AND endpoint = ? AND status = ${FRESH}",
    replace: "due_at = coalesce(due_at, ?)\n       WHERE event = ? AND endpoint = ? AND status = ${FRESH}",
    tests: ["test/store/sqlite/claims/fresh.test.ts"],
  },
  {
    name: "a-success-above-the-mark-is-not-noted",
    file: "src/store/sqlite/deliveries/delivery-store.ts",
    find: "      this.#fresh.settled(event, endpoint.number);\n",
    replace: "",
    tests: ["test/store/sqlite/claims/settled.test.ts", "test/process/damage.test.ts"],
  },
  {
    name: "a-cancel-above-the-mark-is-not-noted",
    file: "src/store/sqlite/endpoints/sweep.ts",
    find: "    this.#mark.settled(event, endpoint);\n",
    replace: "",
    tests: ["test/store/sqlite/claims/settled.test.ts"],
  },
  {
    name: "what-is-settled-is-forgotten-too-soon",
    file: "src/store/sqlite/claims/fresh.ts",
    find: "DELETE FROM settled WHERE event < ?",
    replace: "DELETE FROM settled WHERE ? > 0",
    tests: ["test/store/sqlite/claims/settled.test.ts"],
  },
  {
    name: "a-mended-database-has-lost-its-mark",
    file: "src/store/sqlite/damage/salvage.ts",
    find: '  to.exec("DELETE FROM meta");\n',
    replace: "",
    tests: ["test/store/opening/damage.test.ts"],
  },
  {
    name: "results-are-let-go-before-they-are-recorded",
    file: "src/store/opening/open.ts",
    find: "    if (unrecorded.length > 0) await store.deliveries.record(unrecorded);\n",
    replace: `    setAside.remove();
    if (unrecorded.length > 0) await store.deliveries.record(unrecorded);
`,
    tests: ["test/store/opening/damage.test.ts"],
  },
  {
    name: "results-that-meet-damage-again-are-let-go",
    file: "src/store/files/spare-files.ts",
    find: "    if ((statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0) > this.#read) return false;\n",
    replace: "",
    tests: ["test/store/opening/damage.test.ts"],
  },
  {
    name: "a-start-passes-the-rest-of-an-event-at-the-end-of-a-step",
    file: "src/store/sqlite/claims/fresh.ts",
    find: "this.#moveTo(rows.length < CHUNK ? last + 1 : last);",
    replace: "this.#moveTo(last + 1);",
    tests: ["test/store/sqlite/claims/fresh.test.ts"],
  },
  {
    name: "another-change-ends-the-cancelling-of-what-was-held",
    file: "src/store/sqlite/endpoints/endpoints.ts",
    find: 'held === "cancel" ? this.#lastEvent.get()! : row.cancel_to;',
    replace: 'held === "cancel" ? this.#lastEvent.get()! : null;',
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "a-start-moves-the-mark-past-an-event-at-the-end-of-a-step",
    file: "src/store/sqlite/claims/fresh.ts",
    find: "rows.length < CHUNK ? last + 1 : last",
    replace: "last + 1",
    tests: ["test/store/sqlite/claims/fresh.test.ts"],
  },
  {
    name: "a-cancelling-goes-on-from-where-an-older-one-was",
    file: "src/store/sqlite/endpoints/sweep.ts",
    find: "from?.upTo === upTo ? from :",
    replace: "from !== null ? { ...from, upTo } :",
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "a-cancelling-passes-what-is-fresh-after-a-step",
    file: "src/store/sqlite/endpoints/sweep.ts",
    find: "    if (fresh.length === CHUNK) return at;\n",
    replace: "    if (fresh.length === CHUNK) return { ...at, event: 0 };\n",
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "a-cancelling-ends-when-something-was-fresh",
    file: "src/store/sqlite/endpoints/sweep.ts",
    find: "    if (rows.length === limit) return",
    replace: "    if (rows.length === CHUNK) return",
    tests: ["test/store/sqlite.test.ts"],
  },
  {
    name: "a-clock-that-was-set-twice-puts-off-what-came-meanwhile",
    file: "src/domain/deliveries/due-time.ts",
    find: "retry === 0 ? Math.min(dueAt + by, at) : dueAt + by",
    replace: "dueAt + by",
    tests: ["test/domain/due-time.test.ts"],
  },
  {
    name: "a-lost-commit-is-taken-for-made",
    file: "src/store/postgres/engine/database.ts",
    find: "        return rows[0]!.isMade;\n",
    replace: "        return true;\n",
    tests: ["test/store/postgres/connections.test.ts"],
  },
  {
    name: "a-question-is-taken-for-a-commit",
    file: "src/store/postgres/engine/database.ts",
    find: "INSERT INTO last_commit AS c (id, at) VALUES ($1, 'infinity')",
    replace: "INSERT INTO last_commit AS c (id) VALUES ($1)",
    tests: ["test/store/postgres/connections.test.ts"],
  },
];
