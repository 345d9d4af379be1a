/** Bugs in what several nodes on one store promise each other. */
import type { Mutant } from "./mutant.ts";

const TESTS = ["test/store/postgres/nodes.test.ts"];

export const NODES: readonly Mutant[] = [
  {
    name: "a-node-commits-after-its-lease",
    file: "src/store/postgres/node.ts",
    find: 'FOR KEY SHARE", [id])).length > 0;',
    replace: 'FOR KEY SHARE", [id])).length >= 0;',
    tests: TESTS,
  },
  {
    name: "a-node-is-taken-for-dead-before-its-lease-has-run-out",
    file: "src/store/postgres/ownership.ts",
    find: "    const isDead = left !== null && left <= 0 && spared <= 0;\n    const wasRemoved = isDead && (await removeDead(this.#database!.lease)) > 0;\n",
    replace:
      '    const isDead = left !== null && left <= 4000;\n    const wasRemoved = isDead;\n    if (isDead) await this.#database!.lease.change("DELETE FROM node WHERE id <> $1", [this.#node.id]);\n',
    tests: TESTS,
  },
  {
    name: "the-first-node-that-comes-back-takes-the-others-for-dead",
    file: "src/store/postgres/ownership.ts",
    find: "left <= 0 && spared <= 0;",
    replace: "left <= 0;",
    tests: TESTS,
  },
  {
    name: "what-a-dead-node-was-to-send-at-once-is-left",
    file: "src/store/postgres/ownership.ts",
    find: "    await letWait(tx, taken, this.#store!.engine.clock.now());\n",
    replace: "",
    tests: TESTS,
  },
  {
    name: "an-endpoint-is-given-away-with-something-on-the-wire",
    file: "src/store/postgres/ownership.ts",
    find: "    const slots = [...this.#leaving].filter((slot) => !kept.has(slot));\n",
    replace: "    const slots = [...this.#leaving];\n",
    tests: TESTS,
  },
  {
    name: "nobody-hears-of-an-event-for-an-endpoint-of-another-node",
    file: "src/store/postgres/events/publish.ts",
    find: "      if (!mine) rows.foreign.waiting.push(",
    replace: "      if (!mine && isTest) rows.foreign.waiting.push(",
    tests: TESTS,
  },
  {
    name: "what-is-known-of-an-endpoint-is-forgotten-while-it-is-saved",
    file: "src/store/postgres/endpoints/health.ts",
    find: "    const isUnwritten = this.#news.has(endpoint) || this.#saving.has(endpoint);\n    if (!isUnwritten && this.#streaks.has(endpoint)) this.#stale.add(endpoint);\n",
    replace: "    if (!this.#news.has(endpoint)) this.#streaks.delete(endpoint);\n",
    tests: TESTS,
  },
  {
    name: "an-endpoint-that-comes-back-from-another-node-is-not-read",
    file: "src/delivery/core/disk.ts",
    find: "    window.nextDueAt = Number.POSITIVE_INFINITY;\n    return null;\n",
    replace: "    return null;\n",
    tests: ["test/delivery/withdrawal.test.ts"],
  },
  {
    name: "a-node-of-an-older-schema-goes-on-sending",
    file: "src/store/postgres/ownership.ts",
    find: "    if (shares.isOutdated) {\n",
    replace: "    if (shares.isOutdated && shares.live < 0) {\n",
    tests: TESTS,
  },
  {
    name: "one-of-an-older-schema-that-waited-is-let-in",
    file: "src/store/postgres/node.ts",
    find: "  requireKnown(found, schema);\n  const dead",
    replace: "  if (schema < 0) requireKnown(found, schema);\n  const dead",
    tests: TESTS,
  },
  {
    name: "what-was-prepared-before-a-migration-fails-for-good",
    file: "src/store/postgres/engine/prepared.ts",
    find: "    statements.clear();\n    migrations++;\n",
    replace: "",
    tests: ["test/process/nodes.test.ts"],
  },
];
