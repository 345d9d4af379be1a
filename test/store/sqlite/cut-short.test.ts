/** Methods with several commits, of which the first succeeds and the next fails. */
import { join } from "node:path";
import type { Statement } from "better-sqlite3";
import { expect, it } from "vitest";
import { ManualClock } from "../../harness/clock.ts";
import { onPrepare, sqliteError } from "../../harness/prepared.ts";
import { addEndpoint, publishOne, START } from "../fixtures.ts";
import { open, temporaryDirectory } from "../stores.ts";

async function openOnDisk() {
  const dir = temporaryDirectory();
  const clock = new ManualClock();
  const disk = { commitsLeft: Number.POSITIVE_INFINITY };
  const detach = onPrepare(join(dir, "webhookd.db"), (sql, make) => {
    const made = make() as Statement<[]>;
    if (sql !== "COMMIT") return made;
    const run = () => {
      if (disk.commitsLeft-- <= 0) throw sqliteError("SQLITE_FULL");
      made.run();
    };
    return { run } as never;
  });
  const store = await open({ dir, clock, maxPendingPerTenant: 1 });
  detach();
  return { store, clock, disk };
}

it("a deletion is done once its mark is committed, and what it was owed is cancelled when there is space", async () => {
  const { store, clock, disk } = await openOnDisk();
  const endpoint = await addEndpoint(store);
  await publishOne(store);
  await addEndpoint(store, { events: ["goal.achieved"] });
  disk.commitsLeft = 1;
  expect(await store.endpoints.delete(null, endpoint, START)).toBe(true);
  disk.commitsLeft = Number.POSITIVE_INFINITY;
  await store.upkeep.checkSpace();
  // Once its delivery is cancelled, the tenant is below its limit and may publish again.
  await expect
    .poll(async () => {
      clock.advance("10s");
      return publishOne(store, { type: "goal.achieved" }).then(
        () => "taken",
        () => "refused",
      );
    })
    .toBe("taken");
});

it.each(["cancel", "erase"] as const)(
  "a %s that is asked for again names what the first one had cancelled",
  async (verb) => {
    const { store, disk } = await openOnDisk();
    await addEndpoint(store);
    const { id, fresh } = await publishOne(store);
    const { delivery, endpoint } = fresh[0]!;
    if (verb === "erase") {
      disk.commitsLeft = 1;
      await expect(store.events.erase(null, id, START)).rejects.toMatchObject({ code: "storage_full" });
      disk.commitsLeft = Number.POSITIVE_INFINITY;
      await store.upkeep.checkSpace();
    } else await store.events.cancel(null, id, null);
    const again = verb === "erase" ? store.events.erase(null, id, START) : store.events.cancel(null, id, null);
    expect(await again).toMatchObject({
      result: "withdrawn",
      deliveries: [{ delivery, endpoint }],
      cancelled: 0,
    });
  },
);
