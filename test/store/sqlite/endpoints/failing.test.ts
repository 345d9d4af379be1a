import { expect, it } from "vitest";
import { ManualClock } from "../../../harness/clock.ts";
import { addEndpoint, draft, failed, room, START } from "../../fixtures.ts";
import { open, temporaryDirectory } from "../../stores.ts";

it("endpoints that were failing are said to be after a restart, before another attempt is made", async () => {
  const clock = new ManualClock();
  const dir = temporaryDirectory();
  const before = await open({ dir, clock });
  const [endpoint, deleted] = [await addEndpoint(before), await addEndpoint(before, { tenant: "gone" })];
  for (const tenant of ["default", "gone"]) {
    const published = await before.events.publish(
      Array.from({ length: 20 }, () => draft({ tenant })),
      START,
      room,
    );
    await before.deliveries.record(published.map(({ fresh }) => failed(fresh[0]!)));
  }
  await before.endpoints.delete(null, deleted, START);
  await before.close();
  const store = await open({ dir, clock });
  expect(await store.statistics.failing(null, START, 9)).toEqual([{ endpoint, consecutiveFailures: 20 }]);
});
