import { expect, it } from "vitest";
import { around } from "../harness/store.ts";
import { addEndpoint, answered, draft, noRoom, START } from "../store/fixtures.ts";
import { openSqlite } from "../store/stores.ts";
import { dispatcherOn } from "./house.ts";

it("a renewal that is answered after its lease has run out starts nothing", async () => {
  const { store, clock } = await openSqlite();
  await addEndpoint(store);
  await store.events.publish([draft()], START, noRoom);
  const lease = { endpoints: "everything", holdsForMs: 60_000 } as const;
  let answer = Promise.resolve(lease);
  let requests = 0;
  const dispatcher = dispatcherOn({
    store: around(store, (verb, call) => (verb === "ownership.renew" ? answer : call())),
    clock,
    post: async () => {
      requests++;
      return answered(503);
    },
  });
  await dispatcher.start();
  await expect.poll(() => requests, { interval: 1 }).toBe(1);
  await dispatcher.idle();
  const late = Promise.withResolvers<typeof lease>();
  answer = late.promise;
  const renewing = dispatcher.lease.renew();
  clock.advance("2m");
  expect(dispatcher.halts.map(({ reason }) => reason)).toEqual(["lease"]);
  late.resolve(lease);
  await renewing;
  expect(dispatcher.halts.map(({ reason }) => reason)).toEqual(["lease"]);
  answer = Promise.resolve(lease);
  await dispatcher.lease.renew();
  expect(dispatcher.halts).toEqual([]);
  dispatcher.tick();
  await expect.poll(() => requests, { interval: 1 }).toBe(2);
  await dispatcher.stop();
});
