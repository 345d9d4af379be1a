import { expect, it } from "vitest";
import { addEndpoint, failed, newEndpoint, publishOne, START } from "../../fixtures.ts";
import { openSqlite } from "../../stores.ts";

it("a tenant's deliveries are counted by an index, however many endpoints it has, and no other tenant's", async () => {
  const { store } = await openSqlite();
  // The list itself merges no more than a thousand endpoints.
  const many = Array.from({ length: 1001 }, () => store.endpoints.add(newEndpoint(), 2000, START));
  await Promise.all(many);
  await addEndpoint(store, { tenant: "acme" });
  const count = async (tenant: string, more: object = {}) =>
    (await store.reads.listDeliveries({ tenant, limit: 1, order: "newest", total: true, ...more })).total;
  for (const tenant of ["default", "default", "acme"]) {
    const { fresh } = await publishOne(store, { tenant }, START);
    await store.deliveries.record(fresh.slice(0, 700).map(failed));
  }
  expect(await count("default")).toEqual({ count: 2002 });
  expect(await count("default", { status: "failed" })).toEqual({ count: 1400 });
  expect(await count("acme", { status: "failed" })).toEqual({ count: 1 });
  const events = { tenant: "default", limit: 1, order: "newest", status: "failed", total: true } as const;
  expect((await store.reads.listEvents(events)).total).toEqual({ count: 2 });
});
