import Database, { type Statement } from "better-sqlite3";
import { expect, it, vi } from "vitest";
import { addEndpoint, draft, ended, room, START } from "../../fixtures.ts";
import { openSqlite } from "../../stores.ts";

const query = { tenant: null, since: START, stepMs: 1000, parts: 5, limit: 100 };

it("is asked of the file a few hundred deliveries at a time, and not one by one", async () => {
  const { store } = await openSqlite();
  for (let count = 0; count < 3; count++) await addEndpoint(store);
  const published = await store.events.publish(Array(400).fill(draft()), START, room);
  const claims = published.flatMap(({ fresh }) => fresh);
  await store.deliveries.record(claims.map((claim) => ended(claim, { status: "failed" })));
  const asked = askedOfFile();
  const report = await store.statistics.failures(query);
  expect(report!.groups.map(({ failed }) => failed)).toEqual([400, 400, 400]);
  expect(asked()).toBeLessThan(claims.length / 100);
  expect(asked()).toBeGreaterThan(1);
});

/** How many times statements have been run since. */
function askedOfFile(): () => number {
  const db = new Database(":memory:");
  const prototype = Object.getPrototypeOf(db.prepare("SELECT 1")) as Statement;
  db.close();
  const spies = (["get", "all", "iterate", "run"] as const).map((name) => vi.spyOn(prototype, name));
  return () => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
}
