import { describe, expect, it } from "vitest";
import { lastingFrom } from "../../../../src/domain/outbox/key.ts";
import type { EventDraft } from "../../../../src/domain/events/event.ts";
import type { Publication } from "../../../../src/store/store.ts";
import { addEndpoint, draft, ended, EVERYTHING, newEndpoint, publishOne, withCapacity, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const HOUR = 3_600_000;
const EXPIRES = START + 24 * HOUR;
const A = Buffer.alloc(32, 1);
const B = Buffer.alloc(32, 2);

function keyed(key: string, fingerprint = A, more: Partial<EventDraft> = {}): EventDraft {
  return draft({ idempotency: { key, fingerprint, expiresAt: EXPIRES }, ...more });
}

function request(key: string, fingerprint = A, tenant = "default") {
  return { tenant, key, fingerprint, expiresAt: EXPIRES };
}

const MISMATCH = { code: "idempotency_mismatch" };

export function idempotency(openFresh: OpenFresh): void {
  it("keeps a key that lasts, whatever the time, until it is forgotten", async () => {
    const { store } = await openFresh();
    const now = Date.now();
    const lasting = (key: string, usedAt: number) =>
      draft({ idempotency: { key, fingerprint: A, expiresAt: lastingFrom(usedAt) } });
    await store.events.publish([lasting("a", now), lasting("b", now + 1), keyed("c")], START, withCapacity);
    await store.idempotency.prune(Date.parse("9999-01-01T00:00:00Z"));
    const [one, two] = [
      { tenant: "default", key: "a", usedAt: now },
      { tenant: "default", key: "b", usedAt: now + 1 },
    ];
    expect(await store.idempotency.lasting(0, now + 1, 10)).toEqual([one, two]);
    expect(await store.idempotency.lasting(0, now + 1, 1)).toEqual([one]);
    expect(await store.idempotency.lasting(now, now + 1, 10)).toEqual([two]);
    expect(await store.idempotency.lasting(0, now, 10)).toEqual([one]);
    await store.idempotency.forget([one]);
    expect(await store.idempotency.lasting(0, now + 1, 10)).toEqual([two]);
    const again = await store.events.publish(
      [lasting("a", now), lasting("b", now)],
      now + 10 * 365 * 24 * HOUR,
      withCapacity,
    );
    expect(again.map(({ duplicate }) => duplicate)).toEqual([false, true]);
  });

  describe("publishing under an idempotency key", () => {
    it("makes one event of callers at the same time, and answers all of them with it", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const callers = Array.from({ length: 50 }, () => store.events.publish([keyed("k")], START, withCapacity));
      const publications = (await Promise.all(callers)).flat();
      expect(new Set(publications.map(({ id }) => id)).size).toBe(1);
      expect(publications.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
      expect(publications.flatMap(({ fresh }) => fresh)).toHaveLength(1);
      expect((await store.reads.listEvents(EVERYTHING)).data).toHaveLength(1);
    });

    it("answers as the first time, whatever happened since, also after a crash", async () => {
      const harness = await openFresh();
      await addEndpoint(harness.store);
      const [first] = await harness.store.events.publish(
        [keyed("k", A, { createdAt: START - 5 })],
        START,
        withCapacity,
      );
      const store = await harness.crash();
      await addEndpoint(store);
      const [again] = await store.events.publish(
        [keyed("k", A, { createdAt: START + HOUR })],
        START + HOUR,
        withCapacity,
      );
      expect(again).toEqual({ ...first, fresh: [], waiting: [], duplicate: true });
    });

    it("refuses the key for another event, and keeps it per tenant", async () => {
      const { store } = await openFresh();
      await store.events.publish([keyed("k")], START, withCapacity);
      await expect(store.events.publish([keyed("k", B)], START, withCapacity)).rejects.toMatchObject({
        ...MISMATCH,
        index: 0,
      });
      const [other] = await store.events.publish([keyed("k", B, { tenant: "other" })], START, withCapacity);
      expect(other!.duplicate).toBe(false);
    });

    it("takes the same key twice in one request as one event", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const drafts = [draft(), keyed("a"), keyed("b", B), keyed("a"), draft()];
      const publications = await store.events.publish(drafts, START, withCapacity);
      expect(publications.map(({ duplicate }) => duplicate)).toEqual([false, false, false, true, false]);
      expect(publications[3]).toEqual({ ...publications[1], fresh: [], waiting: [], duplicate: true });
      expect((await store.reads.listEvents(EVERYTHING)).data).toHaveLength(4);
    });

    it("takes the same key of two tenants in one request as two events", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      await addEndpoint(store, { tenant: "other" });
      const drafts = [keyed("k"), keyed("k", A, { tenant: "other" }), keyed("k", B, { tenant: "third" })];
      const publications = await store.events.publish(drafts, START, withCapacity);
      expect(publications.map(({ duplicate, deliveries }) => [duplicate, deliveries])).toEqual([
        [false, 1],
        [false, 1],
        [false, 0],
      ]);
      expect((await store.reads.listEvents({ ...EVERYTHING, tenant: "other" })).data).toMatchObject([
        { id: publications[1]!.id },
      ]);
    });

    it("stores nothing of a request with one mismatch, and says which it is", async () => {
      const { store } = await openFresh();
      await store.events.publish([keyed("used")], START, withCapacity);
      for (const bad of [keyed("used", B), keyed("new", B)]) {
        const refused = store.events.publish([keyed("new"), draft(), bad], START, withCapacity);
        await expect(refused).rejects.toMatchObject({ ...MISMATCH, index: 2 });
      }
      expect((await store.reads.listEvents(EVERYTHING)).data).toHaveLength(1);
      expect((await store.events.publish([keyed("new", B)], START, withCapacity))[0]!.duplicate).toBe(false);
    });

    it("does not undo what others commit beside a mismatch", async () => {
      const { store } = await openFresh();
      await store.events.publish([keyed("k")], START, withCapacity);
      const beside = [publishOne(store), store.events.publish([keyed("k", B)], START, withCapacity), publishOne(store)];
      const results = await Promise.allSettled(beside);
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    });

    it("knows the key until it expires, and not longer", async () => {
      const { store } = await openFresh();
      const [first] = await store.events.publish([keyed("k")], START, withCapacity);
      expect((await store.events.publish([keyed("k")], EXPIRES - 1, withCapacity))[0]!.id).toBe(first!.id);
      const later = { idempotency: { key: "k", fingerprint: B, expiresAt: EXPIRES + HOUR } };
      const [second] = await store.events.publish([draft(later)], EXPIRES, withCapacity);
      expect(second).toMatchObject({ duplicate: false });
      expect(second!.id).not.toBe(first!.id);
      expect((await store.events.publish([draft(later)], EXPIRES, withCapacity))[0]!.id).toBe(second!.id);
    });
  });

  describe("a request that comes again", () => {
    it("is recalled with what was remembered of it, until it expires", async () => {
      const harness = await openFresh();
      expect(await harness.store.idempotency.recall(request("k"), START)).toBeNull();
      await harness.store.idempotency.remember(request("k"), "answer");
      const store = await harness.crash();
      expect(await store.idempotency.recall(request("k"), EXPIRES - 1)).toBe("answer");
      await expect(store.idempotency.recall(request("k", B), START)).rejects.toMatchObject(MISMATCH);
      expect(await store.idempotency.recall(request("k", A, "other"), START)).toBeNull();
      expect(await store.idempotency.recall(request("k"), EXPIRES)).toBeNull();
    });

    it("is remembered in the transaction of what it does, and its verb does it once", async () => {
      const { store } = await openFresh();
      const register = (key: string, fingerprint = A) => {
        const once = { ...request(key, fingerprint), answer: ({ id }: { id: string }) => id };
        return store.endpoints.add(newEndpoint(), 1, START, once);
      };
      const { id } = await register("k");
      expect(await store.idempotency.recall(request("k"), START)).toBe(id);
      await expect(register("k")).rejects.toMatchObject({ code: "overloaded" });
      await expect(register("k", B)).rejects.toMatchObject(MISMATCH);
      await expect(register("other")).rejects.toMatchObject({ code: "endpoint_limit" });
      expect(await store.idempotency.recall(request("other"), START)).toBeNull();
      expect((await store.endpoints.list(EVERYTHING)).data).toHaveLength(1);
    });

    it("may be a batch under the key of one of its events, and is then known under it as a whole", async () => {
      const { store } = await openFresh();
      const batch = { ...request("k", B), answer: (all: readonly Publication[]) => String(all.length) };
      await store.events.publish([keyed("k"), keyed("other")], START, withCapacity, batch);
      expect(await store.idempotency.recall(request("k", B), START)).toBe("2");
      await expect(store.events.publish([keyed("k")], START, withCapacity)).rejects.toMatchObject(MISMATCH);
      expect((await store.reads.listEvents(EVERYTHING)).data).toHaveLength(2);
    });

    it("may be a batch, a new key, or a replay that found something to do", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const batch = { ...request("batch"), answer: (all: readonly Publication[]) => String(all.length) };
      const [{ id, fresh }] = (await store.events.publish([draft(), draft()], START, withCapacity, batch)) as [
        Publication,
      ];
      expect(await store.idempotency.recall(request("batch"), START)).toBe("2");

      const replay = (key: string) => {
        const answer = ({ result }: { result: string }) => (result === "replayed" ? result : null);
        return store.events.replay(null, id, {}, START, { ...request(key), answer });
      };
      await replay("early");
      expect(await store.idempotency.recall(request("early"), START)).toBeNull();
      await store.deliveries.record([ended(fresh[0]!, { status: "failed" })]);
      await replay("late");
      expect(await store.idempotency.recall(request("late"), START)).toBe("replayed");

      const name = `key_${"0".repeat(26)}`;
      const key = { id: name, name: "", hash: A, scopes: ["read"], tenant: "default", expiresAt: null } as const;
      await store.keys.add(key, START, { ...request("key"), answer: () => name });
      expect(await store.idempotency.recall(request("key"), START)).toBe(name);
    });
  });

  describe("idempotency keys that expired", () => {
    it("are forgotten 500 at a time, and only they", async () => {
      const { store } = await openFresh();
      const drafts = Array.from({ length: 700 }, (_, at) => keyed(`k${at}`));
      await store.events.publish(drafts, START, withCapacity);
      await store.idempotency.remember({ ...request("kept"), expiresAt: EXPIRES + 1 }, "kept");
      expect(await store.idempotency.prune(EXPIRES - 1)).toBe(0);
      expect(await store.idempotency.recall(request("k1"), START)).not.toBeNull();
      expect(await store.idempotency.prune(EXPIRES)).toBe(500);
      expect(await store.idempotency.prune(EXPIRES)).toBe(200);
      // The keys stay forgotten, even if the clock is set back.
      for (const key of ["k0", "k699"]) expect(await store.idempotency.recall(request(key), START)).toBeNull();
      expect(await store.idempotency.recall(request("kept"), START)).toBe("kept");
    });
  });
}
