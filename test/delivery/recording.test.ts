import { expect, it } from "vitest";
import { WebhookdError } from "../../src/domain/errors.ts";
import { silentLog } from "../../src/log.ts";
import { around } from "../harness/store.ts";
import { addEndpoint, answered, draft, withoutCapacity, START } from "../store/fixtures.ts";
import { openSqlite } from "../store/stores.ts";
import { dispatcherOn } from "./house.ts";

it("a result that the disk refuses is retried each second, and logged once", async () => {
  const { store, clock } = await openSqlite();
  await addEndpoint(store);
  await store.events.publish([draft()], START, withoutCapacity);
  const told: string[] = [];
  let refusals = 0;
  const dispatcher = dispatcherOn({
    store: around(store, (verb, call) => {
      if (verb !== "deliveries.record" || refusals === 3) return call();
      refusals++;
      return Promise.reject(new WebhookdError("storage_full", "no space"));
    }),
    clock,
    log: { ...silentLog, info: (_, message) => told.push(message), isLevelEnabled: () => true },
    post: async () => answered(500),
  });
  await dispatcher.start();
  await expect.poll(() => refusals, { interval: 1 }).toBe(1);
  for (let second = 1; second <= 3; second++) {
    expect(dispatcher.halts.map(({ reason }) => reason)).toEqual(["unrecorded"]);
    dispatcher.tick();
    await expect.poll(() => refusals, { interval: 1 }).toBe(Math.min(3, second + 1));
  }
  await dispatcher.idle();
  expect(dispatcher.halts).toEqual([]);
  expect(told).toEqual(["delivery.attempted", "results can be recorded again"]);
  await dispatcher.stop();
});
