import { describe, expect, it } from "vitest";
import { addEndpoint, delivered, draft, publishOne, withCapacity, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

export function careful(openFresh: OpenFresh): void {
  describe("careful mode", () => {
    it("begins with the second death in the first minute of a life, and ends with a life that lasted", async () => {
      const harness = await openFresh();
      expect(harness.store.recovery.careful).toBe(false);
      expect((await harness.crash()).recovery.careful).toBe(false);
      expect((await harness.crash()).recovery.careful).toBe(true);
      await harness.store.recovery.outlived();
      expect((await harness.crash()).recovery.careful).toBe(false);
    });

    it("does not begin with stops, however many", async () => {
      const harness = await openFresh();
      for (let stop = 0; stop < 3; stop++) expect((await harness.reopen()).recovery.careful).toBe(false);
    });

    it("knows what was dialled at a death and not recorded, and at how many deaths", async () => {
      const harness = await openFresh();
      await addEndpoint(harness.store);
      const publications = await harness.store.events.publish([draft(), draft(), draft()], START, withCapacity);
      const [deadly, innocent, unsent] = publications.flatMap(({ fresh }) => fresh);
      await harness.store.recovery.markStarted([deadly!, innocent!]);
      let store = await harness.crash();
      let suspects = await store.recovery.suspects();
      expect(suspects.map(({ claim, interruptions }) => [claim.event, interruptions])).toEqual([
        [deadly!.event, 1],
        [innocent!.event, 1],
      ]);
      expect(suspects[0]!.claim).toMatchObject({ number: 1, retry: 0, fresh: true });
      expect(suspects.map(({ claim }) => claim.event)).not.toContain(unsent!.event);

      // Only deliveries that this process dialled are suspected of its death.
      await store.recovery.markStarted([suspects[0]!.claim]);
      store = await harness.crash();
      suspects = await store.recovery.suspects();
      expect(suspects.map(({ interruptions }) => interruptions)).toEqual([2, 1]);
    });

    it("forgets what was recorded since, or is owed no more", async () => {
      const harness = await openFresh();
      const endpoint = await addEndpoint(harness.store);
      const [first] = (await publishOne(harness.store)).fresh;
      const [second] = (await publishOne(harness.store)).fresh;
      await harness.store.recovery.markStarted([first!, second!]);
      await harness.store.deliveries.record([delivered(first!)]);
      let store = await harness.crash();
      expect((await store.recovery.suspects()).map(({ claim }) => claim.event)).toEqual([second!.event]);
      await store.endpoints.delete(null, endpoint, START);
      store = await harness.reopen();
      expect(await store.recovery.suspects()).toEqual([]);
    });
  });
}
