import { describe, expect, it } from "vitest";
import { EVERYTHING, START } from "../../fixtures.ts";
import type { NewApiKey } from "../../../../src/domain/caller.ts";
import type { OpenFresh } from "../../stores.ts";

const KEY = {
  id: "key_00000000000000000000000001",
  name: "publisher",
  hash: Buffer.alloc(32, 7),
  scopes: ["publish", "read"],
  tenant: "acme",
  expiresAt: START + 1000,
  portal: null,
} as const;
const LINK = { endpoints: [`ep_${"1".repeat(26)}`], returnUrl: "https://app.example.com/", madeBy: KEY.id };

export function keys(openFresh: OpenFresh): void {
  describe("keys", () => {
    it("come back as they were added, beside the admin key of a new store", async () => {
      const { store } = await openFresh();
      await store.keys.add(KEY, START);
      expect(await store.keys.get(KEY.id)).toEqual({ ...KEY, createdAt: START, lastUsedAt: null, revokedAt: null });
      expect((await store.keys.list(EVERYTHING)).data.map(({ name }) => name)).toEqual(["admin", "publisher"]);
      expect(await store.keys.get("key_00000000000000000000000002")).toBeNull();
    });

    it("are revoked once and for all", async () => {
      const { store } = await openFresh();
      await store.keys.add(KEY, START);
      expect(await store.keys.get(KEY.id)).toMatchObject({ revokedAt: null });
      expect(await store.keys.revoke(KEY.id, START + 1)).toBe(true);
      expect(await store.keys.revoke(KEY.id, START + 2)).toBe(true);
      expect(await store.keys.revoke("key_00000000000000000000000002", START)).toBe(false);
      expect(await store.keys.get(KEY.id)).toMatchObject({ revokedAt: START + 1 });
    });

    it("are pruned once they stopped working before an instant, 500 at a time", async () => {
      const { store } = await openFresh();
      const id = (at: number) => `key_${String(at).padStart(26, "0")}`;
      await Promise.all(Array.from({ length: 600 }, (_, at) => store.keys.add({ ...KEY, id: id(at) }, START)));
      await store.keys.add({ ...KEY, id: id(600), expiresAt: null }, START);
      await store.keys.add({ ...KEY, id: id(601), expiresAt: START + 9000 }, START);
      await store.keys.revoke(id(601), START + 500);
      await store.keys.add({ ...KEY, id: id(602), expiresAt: START + 1500 }, START);
      await store.keys.get(id(0));

      expect((await store.keys.prune(START + 1000, null)).pruned).toBe(0);
      const first = await store.keys.prune(START + 1001, null);
      expect(first).toMatchObject({ next: expect.any(String) });
      const second = await store.keys.prune(START + 1001, first.next);
      expect(second.next).toBeNull();
      expect(first.pruned + second.pruned).toBe(601);
      expect(await store.keys.get(id(0))).toBeNull();
      const left = (await store.keys.list(EVERYTHING)).data;
      expect(left.map((key) => key.id).slice(1)).toEqual([id(600), id(602)]);
    });

    it("of portal links come back whole, and are listed apart", async () => {
      const { store } = await openFresh();
      const link = { ...KEY, id: "key_00000000000000000000000003", portal: LINK };
      await store.keys.add(KEY, START);
      await store.keys.add(link, START);
      expect(await store.keys.get(link.id)).toMatchObject({ portal: LINK });
      const ids = async (portal: boolean) =>
        (await store.keys.list({ ...EVERYTHING, tenant: "acme", portal })).data.map(({ id }) => id);
      expect([await ids(true), await ids(false)]).toEqual([[link.id], [KEY.id]]);
    });

    it("of portal links end with the key that made them", async () => {
      const { store } = await openFresh();
      const others = { ...KEY, id: "key_00000000000000000000000002", portal: { ...LINK, madeBy: null } };
      const link = { ...KEY, id: "key_00000000000000000000000003", portal: LINK };
      for (const key of [KEY, others, link]) await store.keys.add(key, START);
      expect(await store.keys.get(link.id)).toMatchObject({ revokedAt: null });
      await store.keys.revoke(KEY.id, START + 1);
      expect(await store.keys.get(link.id)).toMatchObject({ revokedAt: START + 1 });
      expect(await store.keys.get(others.id)).toMatchObject({ revokedAt: null });
    });

    it("of portal links are not added once the key that made them was revoked", async () => {
      const { store } = await openFresh();
      await store.keys.add(KEY, START);
      await store.keys.revoke(KEY.id, START + 1);
      const link = { ...KEY, id: "key_00000000000000000000000003", portal: LINK };
      await expect(store.keys.add(link, START + 2)).rejects.toMatchObject({ code: "unauthorized" });
      expect(await store.keys.get(link.id)).toBeNull();
    });

    it("of portal links are removed soon after they expired, and no others with them", async () => {
      const { store } = await openFresh();
      const id = (at: number) => `key_${String(at).padStart(26, "0")}`;
      await store.keys.add({ ...KEY, id: id(0) }, START);
      await store.keys.add({ ...KEY, id: id(1), portal: LINK }, START);
      await store.keys.add({ ...KEY, id: id(2), portal: LINK, expiresAt: START + 2000 }, START);
      expect(await store.keys.prunePortal(START + 1000)).toBe(0);
      expect(await store.keys.prunePortal(START + 1001)).toBe(1);
      const left = await Promise.all([0, 1, 2].map((at) => store.keys.get(id(at))));
      expect(left.map((key) => key !== null)).toEqual([true, false, true]);
    });

    it("of portal links are so many at most of a tenant and of their maker, of those that work", async () => {
      const { store } = await openFresh();
      let made = 10;
      const add = (more: Partial<NewApiKey>, now = START) =>
        store.keys.add(
          { ...KEY, id: `key_${String(made++).padStart(26, "0")}`, portal: LINK, ...more },
          now,
          undefined,
          2,
        );
      const refused = { code: "rate_limited", retryAfterSeconds: 60 };
      await store.keys.add(KEY, START);
      await add({});
      await add({ tenant: "globex" });
      await expect(add({ tenant: "initech" })).rejects.toMatchObject({
        ...refused,
        detail: expect.stringMatching(
          /^the key that asks for it has 2 portal links that work; .*\[limits\] portal_links$/,
        ),
      });
      const others = { portal: { ...LINK, madeBy: null } };
      await add({ ...others, expiresAt: START + 10 });
      await expect(add(others)).rejects.toMatchObject({
        ...refused,
        detail: expect.stringMatching(/^its tenant has 2 portal links that work; /),
      });
      expect(await store.keys.countLinks(START)).toBe(3);
      await add(others, START + 10);
      expect(await store.keys.countLinks(START + 10)).toBe(3);
      const [last] = (await store.keys.list({ ...EVERYTHING, order: "newest", portal: true })).data;
      await store.keys.revoke(last!.id, START + 10);
      expect(await store.keys.countLinks(START + 10)).toBe(2);
      await add(others, START + 11);
    });

    it("are listed by tenant, in pages, the way they were made", async () => {
      const { store } = await openFresh();
      for (const [index, tenant] of ["acme", "globex", "acme", "*"].entries()) {
        await store.keys.add({ ...KEY, id: `key_0000000000000000000000000${9 - index}`, tenant }, START);
      }
      const ends = (keys: readonly { id: string }[]) => keys.map(({ id }) => id.slice(-1));
      const first = await store.keys.list({ tenant: "acme", limit: 1, order: "oldest" });
      const second = await store.keys.list({ tenant: "acme", limit: 1, order: "oldest", cursor: first.nextCursor! });
      expect([ends(first.data), ends(second.data), second.nextCursor]).toEqual([["9"], ["7"], null]);
      const newest = await store.keys.list({ ...EVERYTHING, order: "newest" });
      expect(ends(newest.data.slice(0, 4))).toEqual(["6", "7", "8", "9"]);
    });

    it("tell whether one is left that may do everything", async () => {
      const { store } = await openFresh();
      const [first] = (await store.keys.list(EVERYTHING)).data;
      expect(await store.keys.hasAdmin(START)).toBe(true);
      await store.keys.revoke(first!.id, START);
      const add = (id: number, more: Partial<NewApiKey>) =>
        store.keys.add(
          { ...KEY, id: `key_0000000000000000000000000${id}`, scopes: ["admin"], tenant: "*", ...more },
          START,
        );
      await add(1, { tenant: "acme" });
      await add(2, { scopes: ["manage"], expiresAt: null });
      await add(3, { expiresAt: START + 1000 });
      expect(await store.keys.hasAdmin(START + 999)).toBe(true);
      expect(await store.keys.hasAdmin(START + 1000)).toBe(false);
    });

    it("note their use, at most once a minute", async () => {
      const harness = await openFresh();
      await harness.store.keys.add(KEY, START);
      for (const now of [START + 10, START + 20, START + 59_000]) harness.store.keys.touch(KEY.id, now);
      const store = await harness.reopen();
      expect(await store.keys.get(KEY.id)).toMatchObject({ lastUsedAt: START + 10 });
      store.keys.touch(KEY.id, START + 61_000);
      expect(await (await harness.reopen()).keys.get(KEY.id)).toMatchObject({ lastUsedAt: START + 61_000 });
    });
  });
}
