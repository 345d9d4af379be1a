import { expect, it } from "vitest";
import { WebhookdError } from "../../src/domain/errors.ts";
import { around } from "../harness/store.ts";
import { addEndpoint, answered, draft, withCapacity, START, timedOut } from "../store/fixtures.ts";
import { openSqlite } from "../store/stores.ts";
import { dispatcherOn } from "./house.ts";

const [HUNG, HEALTHY] = ["https://hung.example/hook", "https://healthy.example/hook"];
/** Six of them are tried in the first minute. */
const SUSPECTS = 10;

it("suspects of a receiver that hangs keep others waiting for a minute at most, and go on beside them", async () => {
  const { store: before, clock, crash } = await openSqlite();
  await addEndpoint(before, { url: HUNG, events: ["budget.exceeded"] });
  await addEndpoint(before, { url: HEALTHY, events: ["goal.achieved"] });
  const drafts = [...Array.from({ length: SUSPECTS }, () => draft()), draft({ type: "goal.achieved" })];
  const fresh = (await before.events.publish(drafts, START, withCapacity)).flatMap((one) => one.fresh);
  await before.recovery.markStarted(fresh.slice(0, SUSPECTS));
  const store = await crash();
  const began = clock.monotonic();

  const dials: { url: string; delivery: string; attempt: string; after: number }[] = [];
  let atOnce = 0;
  let mostAtOnce = 0;
  const dispatcher = dispatcherOn({
    store,
    clock,
    post: async (url, { headers }) => {
      const valueOf = (name: string) => headers[headers.indexOf(name) + 1]!;
      const after = clock.monotonic() - began;
      dials.push({ url, delivery: valueOf("x-webhookd-delivery"), attempt: valueOf("x-webhookd-attempt"), after });
      if (url === HEALTHY) return answered(200);
      atOnce++;
      if (after < 60_000) mostAtOnce = Math.max(mostAtOnce, atOnce);
      await new Promise<void>((resolve) => void clock.after(10_000, resolve));
      atOnce--;
      return timedOut();
    },
  });
  await dispatcher.start();
  const tried = () => new Set(dials.filter(({ url }) => url === HUNG).map(({ delivery }) => delivery)).size;
  for (let second = 0; second < 3600 && tried() < SUSPECTS; second++) {
    clock.advance("1s");
    dispatcher.tick();
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  }
  expect(mostAtOnce).toBe(1);
  expect(dials.find(({ url }) => url === HEALTHY)?.after).toBeLessThanOrEqual(62_000);
  expect(tried()).toBe(SUSPECTS);
  // A delivery that is on trial when the minute ends is not attempted a second time.
  expect(new Set(dials.map(({ delivery, attempt }) => `${delivery} ${attempt}`)).size).toBe(dials.length);
  const stopped = dispatcher.stop();
  clock.advance("10s");
  await stopped;
});

it("a suspect whose mark had no room on the disk is sent by a later tick, though nothing else comes", async () => {
  const { store: before, clock, crash } = await openSqlite();
  await addEndpoint(before);
  const fresh = (await before.events.publish([draft()], START, withCapacity)).flatMap((one) => one.fresh);
  await before.recovery.markStarted(fresh);
  await crash();
  const store = await crash();
  expect(store.recovery.careful).toBe(true);

  let refused = 0;
  const sent: string[] = [];
  const dispatcher = dispatcherOn({
    store: around(store, (verb, call) => {
      if (verb !== "recovery.markStarted" || refused > 0) return call();
      refused++;
      return Promise.reject(new WebhookdError("storage_full", "no space"));
    }),
    clock,
    post: async (url) => {
      sent.push(url);
      return answered(200);
    },
  });
  await dispatcher.start();
  await expect.poll(() => refused, { interval: 1 }).toBe(1);
  expect(sent).toEqual([]);
  clock.advance("1s");
  dispatcher.tick();
  await expect.poll(() => sent.length, { interval: 1 }).toBe(1);
  await dispatcher.stop();
});
