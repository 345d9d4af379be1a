import { expect, it } from "vitest";
import type { DuePage } from "../../src/store/store.ts";
import { addEndpoint, answered, draft, withoutCapacity, START } from "../store/fixtures.ts";
import { openSqlite } from "../store/stores.ts";
import { dispatcherOn } from "./house.ts";
import { around } from "../harness/store.ts";

const [ENDPOINTS, EVENTS, BODY_BYTES] = [40, 30, 10_000];
const HELD_BYTES = 1024 * 1024;
/** One read may exceed the memory that was left, and each endpoint may read a little when none is left. */
const OVER_BYTES = (EVENTS + 2 * ENDPOINTS) * (BODY_BYTES + 500);

it("the deliveries of many endpoints are read only as far as memory allows, a little of each, and all are sent", async () => {
  const { store, clock } = await openSqlite();
  await Promise.all(Array.from({ length: ENDPOINTS }, () => addEndpoint(store)));
  const data = Buffer.from(JSON.stringify({ filling: "x".repeat(BODY_BYTES) }));
  await store.events.publish(
    Array.from({ length: EVENTS }, () => draft({ data })),
    START,
    withoutCapacity,
  );

  const { promise: open, resolve: answer } = Promise.withResolvers<void>();
  const sent: string[] = [];
  const read = new Map<string, number>();
  const note = (endpoint: string, page: DuePage) => {
    const bytes = page.claims.reduce((sum, { body }) => sum + body.byteLength, 0);
    read.set(endpoint, (read.get(endpoint) ?? 0) + bytes);
    return page;
  };
  const dispatcher = dispatcherOn({
    store: around(store, (verb, call, [endpoint]) =>
      verb === "deliveries.due" ? (call() as Promise<DuePage>).then((page) => note(endpoint, page)) : call(),
    ),
    clock,
    loadedBytes: HELD_BYTES,
    post: async (_url, { headers }) => {
      sent.push(JSON.stringify(headers));
      await open;
      return answered(200, { durationMs: 1 });
    },
  });
  await dispatcher.start();
  await expect.poll(() => read.size, { interval: 1 }).toBe(ENDPOINTS);
  expect([...read.values()].every((bytes) => bytes > 0)).toBe(true);
  expect([...read.values()].reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(HELD_BYTES + OVER_BYTES);

  answer();
  await dispatcher.idle();
  expect(sent).toHaveLength(ENDPOINTS * EVENTS);
  expect(new Set(sent).size).toBe(ENDPOINTS * EVENTS);
  await dispatcher.sweep();
  expect(dispatcher.lost).toBe(0);
  await dispatcher.stop();
});
