import { describe, expect, it } from "vitest";
import { addEndpoint, EVERYTHING, publishOne, START } from "../fixtures.ts";
import type { OpenFresh } from "../stores.ts";

const PAUSE = { reason: "a flood", by: "socket", at: START };

export function operating(openFresh: OpenFresh): void {
  describe("the brake", () => {
    it("holds through a crash as it was put on first", async () => {
      const opened = await openFresh();
      expect(await opened.store.operations.getPause()).toBeNull();
      expect(await opened.store.operations.pause(PAUSE)).toEqual(PAUSE);
      expect(await opened.store.operations.pause({ ...PAUSE, reason: "another" })).toEqual(PAUSE);
      const store = await opened.crash();
      expect(await store.operations.getPause()).toEqual(PAUSE);
    });

    it("is off for good once it was taken off", async () => {
      const opened = await openFresh();
      await opened.store.operations.pause(PAUSE);
      expect(await opened.store.operations.resume()).toBe(true);
      expect(await opened.store.operations.resume()).toBe(false);
      const store = await opened.crash();
      expect(await store.operations.getPause()).toBeNull();
      expect(await store.operations.pause({ ...PAUSE, reason: "another" })).toMatchObject({ reason: "another" });
    });
  });

  describe("tenants", () => {
    it("are listed in pages, in the order of their first use, with the endpoints they have", async () => {
      const { store } = await openFresh();
      await addEndpoint(store, { tenant: "b" });
      const gone = await addEndpoint(store, { tenant: "a" });
      await addEndpoint(store, { tenant: "a" });
      await publishOne(store, { tenant: "c" });
      await store.endpoints.delete("a", gone, START);
      await store.statistics.save();
      const all = [
        { name: "b", endpoints: 1, published: 0 },
        { name: "a", endpoints: 1, published: 0 },
        { name: "c", endpoints: 0, published: 1 },
      ];
      const first = await store.reads.listTenants({ ...EVERYTHING, since: START, limit: 2 });
      expect(first.data).toEqual(all.slice(0, 2));
      const second = await store.reads.listTenants({
        ...EVERYTHING,
        since: START,
        limit: 2,
        cursor: first.nextCursor!,
      });
      expect(second).toEqual({ data: all.slice(2), nextCursor: null });
      const newest = await store.reads.listTenants({ ...EVERYTHING, since: START, order: "newest" });
      expect(newest.data).toEqual(all.toReversed());
      expect((await store.reads.listTenants({ ...EVERYTHING, since: START, tenant: "a" })).data).toEqual([all[1]]);
    });
  });
}
