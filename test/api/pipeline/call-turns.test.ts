import { expect, it } from "vitest";
import { ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const CONNECTIONS = 80;

it("works on a few calls in a turn of the event loop, however many one tenant has sent", async () => {
  const store = await aStore();
  const api = await ApiServer.start(store);
  const { list } = store.endpoints;
  const turns: number[] = [];
  let begun = 0;
  Object.assign(store.endpoints, {
    list: (...asked: Parameters<typeof list>) => {
      if (begun++ === 0) setImmediate(() => (turns.push(begun), (begun = 0)));
      return list.apply(store.endpoints, asked);
    },
  });
  const key = await api.addKey(["read"], "greedy");
  // All of them are in before the first is looked at, as a busy daemon finds them.
  const authenticated = Promise.withResolvers<void>();
  const { get } = store.keys;
  let asked = 0;
  Object.assign(store.keys, {
    get: async (id: string) => {
      if (++asked === CONNECTIONS) authenticated.resolve();
      await authenticated.promise;
      return get.call(store.keys, id);
    },
  });
  const calls = Array.from({ length: CONNECTIONS }, () => api.get("/v1/webhooks", { key }));
  expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]));
  await expect.poll(() => turns.reduce((sum, count) => sum + count, 0)).toBe(CONNECTIONS);
  // What begins at once, and what the turn itself begins.
  expect(Math.max(...turns)).toBeLessThanOrEqual(8);
});
