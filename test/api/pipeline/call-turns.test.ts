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
  // No key is read until all requests have arrived, as on a busy daemon.
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
  // Some calls begin at once, and the same number in the turn itself.
  expect(Math.max(...turns)).toBeLessThanOrEqual(8);
});
