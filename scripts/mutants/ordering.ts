/** Bugs of order by key. */
import type { Mutant } from "./mutant.ts";

const RULE = "src/domain/deliveries/ordering.ts";
const SQLITE = "src/store/sqlite/ordering/lines.ts";
const BY_RULE = ["test/domain/ordering.test.ts"];
const BY_STORE = ["test/store/sqlite.test.ts"];

export const ORDERING: readonly Mutant[] = [
  {
    name: "what-comes-later-is-due-at-once",
    file: RULE,
    find: "if (isAhead(first, place)) return { isBehind: true, overtakes: null };",
    replace: "if (isAhead(first, place)) return { isBehind: false, overtakes: null };",
    tests: BY_RULE,
  },
  {
    name: "a-replay-leaves-the-other-one-due",
    file: RULE,
    find: "overtakes: first.isBehind ? null : first }",
    replace: "overtakes: null }",
    tests: BY_RULE,
  },
  {
    name: "a-publish-passes-a-held-key",
    file: RULE,
    find: "if (holder !== null && isAhead(holder, place)) return",
    replace: "if (holder !== null && first !== null && isAhead(holder, place)) return",
    tests: BY_RULE,
  },
  {
    name: "a-held-key-lets-the-next-one-go",
    file: RULE,
    find: "return holder !== null && isAhead(holder, first) ? null : first;",
    replace: "return first;",
    tests: BY_RULE,
  },
  {
    name: "a-replay-before-the-holder-waits-for-it",
    file: RULE,
    find: "return holder !== null && isAhead(holder, first) ? null : first;",
    replace: "return holder !== null ? null : first;",
    tests: BY_RULE,
  },
  {
    name: "what-is-being-cancelled-is-sent-in-its-turn",
    file: RULE,
    find: "if (first === null || !first.isBehind || first.isBeingCancelled) return null;",
    replace: "if (first === null || !first.isBehind) return null;",
    tests: BY_RULE,
  },
  {
    name: "an-overtaken-retry-is-early",
    file: RULE,
    find: "return enabled ? Math.max(notBefore, now) : notBefore;",
    replace: "return enabled ? now : notBefore;",
    tests: BY_RULE,
  },
  {
    name: "a-line-expires-one-by-one",
    file: RULE,
    find: "return enabled ? Math.max(notBefore, now) : notBefore;",
    replace: "return enabled || now > 0 ? Math.max(notBefore, now) : notBefore;",
    tests: BY_RULE,
  },
  {
    name: "a-cancel-holds-the-key",
    file: RULE,
    find: 'return status === "failed" && ordering',
    replace: 'return status !== "delivered" && ordering',
    tests: BY_RULE,
  },
  {
    name: "every-failure-holds-the-key",
    file: RULE,
    find: ' && afterFailure === "hold";',
    replace: ";",
    tests: BY_RULE,
  },
  {
    name: "two-of-a-batch-are-due",
    file: SQLITE,
    find: "const behind = isLater || enter(",
    replace: "const behind = enter(",
    tests: BY_STORE,
  },
  {
    name: "a-delivery-lets-nothing-follow",
    file: "src/store/sqlite/deliveries/delivery-store.ts",
    find: '      this.#moveUp(claim, endpoint, "waiting", "delivered");\n',
    replace: "",
    tests: BY_STORE,
  },
  {
    name: "a-cancel-lets-nothing-follow",
    file: "src/store/sqlite/events/event-changes.ts",
    find: "        lines.cancelled(key, index.byNumber(endpoint), now);\n",
    replace: "",
    tests: BY_STORE,
  },
  {
    name: "an-attempt-of-what-was-overtaken-makes-it-due",
    file: "src/domain/deliveries/record.ts",
    find: 'moved.status === "waiting" ? { ...moved, isBehind: true } : moved',
    replace: "moved",
    tests: BY_STORE,
  },
  {
    name: "what-memory-gives-back-is-due-although-it-was-overtaken",
    file: "src/store/sqlite/deliveries/delivery-store.ts",
    find: "current?.status !== WAITING || isBehind(current.due_at)",
    replace: "current?.status !== WAITING",
    tests: BY_STORE,
  },
  {
    name: "a-failure-is-recorded-and-holds-nothing",
    file: SQLITE,
    find: "if (isOpen(before) && holdsKey(endpoint, status)) {",
    replace: "if (!isOpen(before) && holdsKey(endpoint, status)) {",
    tests: BY_STORE,
  },
  {
    name: "the-line-of-what-a-job-adds-is-over-too-early",
    file: SQLITE,
    find: "seen = max(seen, excluded.seen)",
    replace: "seen = iif(excluded.last = 0, seen, max(seen, excluded.seen))",
    tests: BY_STORE,
  },
  {
    name: "lines-are-locked-in-the-order-of-their-numbers",
    file: "src/store/postgres/ordering/lines.ts",
    find: "ORDER BY endpoint, key FOR UPDATE",
    replace: "ORDER BY num FOR UPDATE",
    tests: ["test/store/postgres/lines.test.ts"],
  },
  {
    name: "a-publish-and-a-record-lock-lines-in-one-transaction",
    file: "src/store/postgres/engine/engine.ts",
    find: "if (work.size.locksLines && (locking ??= work.shared) !== work.shared) continue;",
    replace: "locking ??= work.shared;",
    tests: ["test/store/postgres/lines.test.ts"],
  },
  {
    name: "two-of-a-key-are-on-the-wire",
    file: "src/delivery/memory/lines.ts",
    find: "return false;",
    replace: "return true;",
    tests: ["test/e2e/ordering.test.ts"],
  },
  {
    name: "the-number-of-a-key-is-not-sent",
    file: "src/delivery/send/signer.ts",
    find: "headers.push(SEQUENCE_HEADER, String(send.ordered.sequence));",
    replace: "headers.push(SEQUENCE_HEADER, String(send.number));",
    tests: ["test/e2e/ordering.test.ts"],
  },
];
