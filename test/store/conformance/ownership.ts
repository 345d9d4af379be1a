import { describe, expect, it } from "vitest";
import { addEndpoint, publishOne } from "../fixtures.ts";
import type { OpenFresh } from "../stores.ts";

/** The contract for a store that belongs to one process. */
export function ownership(openFresh: OpenFresh): void {
  describe("what a process owns", () => {
    it("is everything, for as long as it lives", async () => {
      const { store } = await openFresh();
      const all = { endpoints: "everything", holdsForMs: Number.POSITIVE_INFINITY };
      expect(await store.ownership.renew()).toEqual(all);
      await store.ownership.release();
      expect(await store.ownership.renew()).toEqual(all);
    });

    it("gets nothing from others", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      await publishOne(store);
      expect(await store.ownership.remoteChanges()).toEqual({ waiting: [], requested: [], withdrawn: [], changed: [] });
      expect(store.ownership.owns).toBeNull();
      expect([store.ownership.stream, store.ownership.alerts]).toEqual([null, null]);
      expect(await store.ownership.nodes()).toEqual([]);
      expect(await store.ownership.drain("host", true)).toBe(false);
    });
  });
}
