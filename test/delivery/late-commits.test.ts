/**
 * Commits that succeeded although their callers had been told that they failed, so that memory does not know of them.
 */
import { expect, it } from "vitest";
import { silentLog } from "../../src/log.ts";
import { addEndpoint, answered, draft, publishOne, withCapacity, START } from "../store/fixtures.ts";
import { openSqlite } from "../store/stores.ts";
import { dispatcherOn } from "./house.ts";

const SECOND = 1000;

it("deliveries that were committed after all are sent, to the endpoint as it is by then, without reporting a bug", async () => {
  const { store, clock } = await openSqlite();
  const endpoint = await addEndpoint(store);
  let madeLate = 0;
  Object.defineProperty(store.recovery, "doubt", { get: () => ({ isOpen: false, madeLate }) });
  const posted: string[] = [];
  const warned: object[] = [];
  const dispatcher = dispatcherOn({
    store,
    clock,
    log: { ...silentLog, warn: (fields) => warned.push(fields) },
    post: async (url) => {
      posted.push(url);
      return answered(200);
    },
  });
  await dispatcher.start();
  const first = await publishOne(store, {}, clock.now());
  dispatcher.accept(first);
  await dispatcher.idle();
  expect(posted).toEqual(["https://receiver.example/hook"]);

  const moved = "https://receiver.example/moved";
  await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, url: moved }), START);
  await store.events.replay(null, first.id, { force: true }, clock.now());
  const second = await store.events.publish([draft()], clock.now(), withCapacity);
  const inOneSecond = async () => {
    dispatcher.tick();
    for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
    clock.advance(SECOND);
    for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
  };
  await inOneSecond();
  expect(posted).toHaveLength(1);

  madeLate++;
  await inOneSecond();
  await inOneSecond();
  expect(posted.slice(1)).toEqual([moved, moved]);
  expect(warned).toEqual([{ deliveries: 1, fresh: 1, endpoints: 1, first: second[0]!.fresh[0]!.delivery }]);
  expect(dispatcher.lost).toBe(0);

  // No commit is in doubt any more, so a delivery that is missing from memory counts as lost.
  await publishOne(store, {}, clock.now());
  const sweeping = dispatcher.sweep();
  await inOneSecond();
  await sweeping;
  expect(dispatcher.lost).toBe(1);
  await dispatcher.stop();
  await store.close();
});
