/** Bugs in the reading of outboxes. */
import type { Mutant } from "./mutant.ts";

const IN_EITHER = ["test/outbox/outbox.test.ts"];

export const OUTBOX: readonly Mutant[] = [
  {
    name: "row-deleted-before-its-event-is-stored",
    file: "src/outbox/postgres-table.ts",
    find: "        const outcomes = rows.length === 0 ? [] : await publish(rows.map(rowOf));\n",
    replace:
      "        await client.query(`DELETE FROM ${this.#name} WHERE id = ANY($1::text[]::${idType}[])`, [rows.map(({ id }) => id)]);\n        await commit(client);\n        const outcomes = rows.length === 0 ? [] : await publish(rows.map(rowOf));\n",
    tests: ["test/outbox/table.test.ts"],
  },
  {
    name: "row-without-a-key",
    file: "src/outbox/row-draft.ts",
    find: "trace: undefined }, key);",
    replace: "trace: undefined });",
    tests: IN_EITHER,
  },
  {
    name: "row-key-without-its-content",
    file: "src/outbox/row-draft.ts",
    find: "outboxKey(name, digestOf(row, owner), row.id)",
    replace: 'outboxKey(name, "-", row.id)',
    tests: IN_EITHER,
  },
  {
    name: "row-key-that-expires",
    file: "src/outbox/publisher.ts",
    find: "expiresAt: lastingFrom(now)",
    replace: "expiresAt: now + 60_000",
    tests: ["test/outbox/publisher.test.ts"],
  },
  {
    name: "key-forgotten-while-its-row-is-there",
    file: "src/outbox/outboxes.ts",
    find: "some.filter(({ row }) => !present.has(row))",
    replace: "some",
    tests: ["test/outbox/keys.test.ts"],
  },
  {
    name: "key-forgotten-of-an-outbox-that-is-away",
    file: "src/outbox/outboxes.ts",
    find: ".catch(() => null);",
    replace: ".catch(() => new Set<string>());",
    tests: ["test/outbox/keys.test.ts"],
  },
  {
    name: "bad-row-refuses-its-batch",
    file: "src/outbox/publisher.ts",
    find: "        if (draft instanceof RowProblem) outcomes[at] = { problem: draft.message };\n",
    replace: "        if (draft instanceof RowProblem) throw draft;\n",
    tests: IN_EITHER,
  },
  {
    name: "full-tenant-keeps-back-all-others",
    file: "src/outbox/publisher.ts",
    find: "      if (going.length > 1) {\n",
    replace: "      if (going.length > 1_000_000) {\n",
    tests: IN_EITHER,
  },
  {
    name: "data-that-closes-its-body",
    file: "src/outbox/row-draft.ts",
    find: 'checked("data", "object", data), Buffer',
    replace: "data, Buffer",
    tests: ["test/outbox/row-draft.test.ts"],
  },
  {
    name: "row-published-long-after-it-was-read",
    file: "src/store/postgres/callers/idempotency.ts",
    find: "OR k.expires_at > ${LASTING - CLAIM_MS} + extract",
    replace: "OR k.expires_at > 0 * extract",
    tests: ["test/outbox/postgres.test.ts"],
  },
  {
    name: "rows-not-locked",
    file: "src/outbox/postgres-table.ts",
    find: "ORDER BY o.id LIMIT $2 FOR UPDATE SKIP LOCKED)",
    replace: "ORDER BY o.id LIMIT $2)",
    tests: ["test/outbox/table.test.ts"],
  },
];
