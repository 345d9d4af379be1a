import { describe, expect, it } from "vitest";
import { START } from "../fixtures.ts";
import type { OpenFresh } from "../stores.ts";

const KEY = {
  id: "key_00000000000000000000000001",
  name: "publisher",
  hash: Buffer.alloc(32, 7),
  scopes: ["publish", "read"],
  tenant: "acme",
  expiresAt: START + 1000,
} as const;

export function keys(openFresh: OpenFresh): void {
  describe("keys", () => {
    it("come back as they were added, beside the admin key of a new store", async () => {
      const { store } = await openFresh();
      await store.addKey(KEY, START);
      expect(await store.getKey(KEY.id)).toEqual({ ...KEY, createdAt: START, lastUsedAt: null, revokedAt: null });
      expect((await store.listKeys()).map(({ name }) => name).sort()).toEqual(["admin", "publisher"]);
      expect(await store.getKey("key_00000000000000000000000002")).toBeNull();
    });

    it("are revoked once and for all", async () => {
      const { store } = await openFresh();
      await store.addKey(KEY, START);
      expect(await store.getKey(KEY.id)).toMatchObject({ revokedAt: null });
      expect(await store.revokeKey(KEY.id, START + 1)).toBe(true);
      expect(await store.revokeKey(KEY.id, START + 2)).toBe(true);
      expect(await store.revokeKey("key_00000000000000000000000002", START)).toBe(false);
      expect(await store.getKey(KEY.id)).toMatchObject({ revokedAt: START + 1 });
    });

    it("note their use, at most once a minute", async () => {
      const harness = await openFresh();
      await harness.store.addKey(KEY, START);
      for (const now of [START + 10, START + 20, START + 59_000]) harness.store.touchKey(KEY.id, now);
      const store = await harness.reopen();
      expect(await store.getKey(KEY.id)).toMatchObject({ lastUsedAt: START + 10 });
      store.touchKey(KEY.id, START + 61_000);
      expect(await (await harness.reopen()).getKey(KEY.id)).toMatchObject({ lastUsedAt: START + 61_000 });
    });
  });
}
