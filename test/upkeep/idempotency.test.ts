import { expect, it } from "vitest";
import { silentLog } from "../../src/log.ts";
import { Retention } from "../../src/upkeep/retention.ts";
import { draft, withCapacity, START } from "../store/fixtures.ts";
import { openSqlite } from "../store/stores.ts";

const DAY = 86_400_000;

it("forgets every idempotency key that has expired, and no other", async () => {
  const { store, clock } = await openSqlite();
  const fingerprint = Buffer.alloc(32);
  const drafts = Array.from({ length: 1201 }, (_, at) => {
    return draft({ idempotency: { key: `k${at}`, fingerprint, expiresAt: START + (at === 0 ? 2 : 1) * DAY } });
  });
  await store.events.publish(drafts, START, withCapacity);
  clock.advance("24h");
  const kept = { delivered: 0, failed: 0, held: 0, responseBodies: 0, audit: 0, statistics: 0 };
  const { signal } = new AbortController();
  await new Retention({ store, clock, log: silentLog, rules: () => kept, signal }).forgetIdempotencyKeys();
  // Asks at a time when no key had expired, so that a key is missing only if it was removed.
  const known = await Promise.all(
    drafts.map(({ tenant, idempotency }) => store.idempotency.recall({ tenant, ...idempotency! }, START)),
  );
  expect(known.flatMap((answer, at) => (answer === null ? [] : at))).toEqual([0]);
});
