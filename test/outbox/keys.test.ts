/** The idempotency keys of rows, which last until the rows are gone. */
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { KEPT_MS, lastingFrom, outboxKey, rowOfKey } from "../../src/domain/outbox/key.ts";
import { isIdempotencyKey } from "../../src/domain/events/idempotency.ts";
import { silentLog } from "../../src/log.ts";
import { Outboxes } from "../../src/outbox/outboxes.ts";
import type { LastingKey, Store } from "../../src/store/store.ts";
import { onSqlite } from "./outbox.ts";

it("cannot be used by a caller of the API, and names its row whatever the id", () => {
  for (const row of ["1", "a b", "outbox x y z", "é\n"]) {
    const key = outboxKey("shop", "digest", row);
    expect(isIdempotencyKey(key)).toBe(false);
    expect(rowOfKey(key)).toEqual({ outbox: "shop", row });
  }
  expect(rowOfKey("order-17")).toBeNull();
});

it("is forgotten once its row is gone, and not before", async () => {
  const application = await onSqlite();
  await application.insert({}, {});
  await application.sql("DELETE FROM webhookd_outbox WHERE id = 2");
  const key = (name: string, row: string): LastingKey => ({
    tenant: "default",
    key: outboxKey(name, "digest", row),
    usedAt: 1,
  });
  const forgotten: string[] = [];
  const asked: number[] = [];
  const idempotency = {
    lasting: async (_after: number, until: number) => {
      asked.push(until);
      return [key("shop", "1"), key("shop", "2"), key("other", "3")];
    },
    forget: async (keys: readonly LastingKey[]) => void forgotten.push(...keys.map((one) => one.key)),
  };
  const parts = { store: { idempotency } as unknown as Store, clock: systemClock, log: silentLog };
  const outboxes = new Outboxes([application.outbox], { ...parts } as ConstructorParameters<typeof Outboxes>[1]);
  onTestFinished(() => outboxes.stop());
  await outboxes.forgetKeys();
  expect(forgotten).toEqual([outboxKey("shop", "digest", "2")]);
  expect(asked[0]).toBeLessThanOrEqual(Date.now() - KEPT_MS);
  await application.sql("DROP TABLE webhookd_outbox");
  forgotten.length = 0;
  await outboxes.forgetKeys();
  expect(forgotten, "of a table that cannot be read").toEqual([]);
});

it("never expires with time", () => {
  expect(lastingFrom(Date.now())).toBeGreaterThan(Date.parse("9999-12-31T23:59:59Z"));
  expect(Number.isSafeInteger(lastingFrom(Date.now()))).toBe(true);
});
