import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { newPrivateKey } from "../../../src/domain/endpoints/asymmetric.ts";
import { isDamaged } from "../../../src/domain/endpoints/endpoint.ts";
import type { Store } from "../../../src/store/store.ts";
import { addEndpoint, START } from "../fixtures.ts";
import type { OpenFresh } from "../stores.ts";

const HOUR = 3_600_000;
const BOTH = { signatures: ["hmac", "ed25519"] } as const;
const newKey = () => newPrivateKey(randomBytes);

export function signingKeys(openFresh: OpenFresh): void {
  describe("a tenant's private keys", () => {
    const signs = async (store: Store, id: string) => {
      const target = (await store.endpoints.target(id))!;
      return isDamaged(target) ? target.damaged.parts : target.privateKeys;
    };
    const currentOf = async (store: Store, tenant = "default") => {
      const keys = await store.signingKeys.get(tenant);
      return keys === null || keys === "damaged" ? keys : keys.current;
    };
    const rotating = async () => {
      const harness = await openFresh();
      const id = await addEndpoint(harness.store, BOTH);
      const old = (await currentOf(harness.store))!;
      const next = { secret: newKey(), switchesAt: START + HOUR };
      expect(await harness.store.signingKeys.rotate("default", next, START)).toEqual({
        result: "done",
        keys: { current: old, next, published: false },
        endpoints: [id],
      });
      return { harness, id, old, next };
    };

    it("are made by the first endpoint that needs one, and no sooner", async () => {
      const harness = await openFresh();
      const plain = await addEndpoint(harness.store);
      expect(await currentOf(harness.store)).toBeNull();
      expect(await signs(harness.store, plain)).toEqual([]);
      const id = await addEndpoint(harness.store, BOTH);
      const key = await currentOf(harness.store);
      expect(key).toMatch(/^whsk_/);
      await addEndpoint(harness.store, BOTH);
      const store = await harness.crash();
      expect(await currentOf(store)).toBe(key);
      expect(await signs(store, id)).toEqual([key]);
      expect(await signs(store, plain)).toEqual([]);
      expect(await store.endpoints.get(null, id)).toMatchObject({ ...BOTH, damaged: null });
    });

    it("are made by a change and by a PUT as well, and are one tenant's alone", async () => {
      const { store } = await openFresh();
      const id = await addEndpoint(store);
      await store.endpoints.update(null, id, (settings) => ({ ...settings, signatures: ["ed25519"] }), START);
      const key = await currentOf(store);
      expect(await signs(store, id)).toEqual([key]);
      const named = { id: "ep_0000000000000000000000000p", tenant: "other", uid: "put", signingSecret: "whsec_x" };
      const settings = (await store.endpoints.get(null, id))!;
      await store.endpoints.put(named, () => ({ ...settings, uid: "put", headers: {}, auth: null }), 10, START);
      const other = await currentOf(store, "other");
      expect(other).toMatch(/^whsk_/);
      expect(other).not.toBe(key);
      expect(await signs(store, named.id)).toEqual([other]);
      await store.endpoints.update(null, id, (before) => ({ ...before, signatures: ["hmac"] }), START);
      expect(await signs(store, id)).toEqual([]);
      expect(await currentOf(store)).toBe(key);
    });

    it("sign together during a rotation, until the next one takes over for good", async () => {
      const { harness, id, old, next } = await rotating();
      expect(await signs(harness.store, id)).toEqual([old, next.secret]);
      expect(await harness.store.signingKeys.switchDue(next.switchesAt - 1)).toEqual([]);
      expect(await harness.store.signingKeys.switchDue(next.switchesAt)).toEqual([
        { tenant: "default", endpoints: [id] },
      ]);
      const store = await harness.crash();
      // The clock may have been set back since.
      expect(await store.signingKeys.switchDue(START)).toEqual([]);
      expect(await signs(store, id)).toEqual([next.secret]);
      expect(await store.signingKeys.get("default")).toEqual({ current: next.secret, next: null, published: false });
    });

    it("can be completed early and abandoned, but only while a rotation is under way", async () => {
      const { harness, id, old, next } = await rotating();
      const { signingKeys } = harness.store;
      expect(await signingKeys.rotate("default", { ...next, secret: newKey() }, START)).toEqual({
        result: "rotation_in_progress",
      });
      expect(await signingKeys.abandon("default")).toEqual({
        result: "done",
        keys: { current: old, next: null, published: false },
        endpoints: [id],
      });
      expect(await signingKeys.abandon("default")).toEqual({ result: "not_rotating" });
      expect(await signingKeys.complete("default", START)).toEqual({ result: "not_rotating" });
      expect(await signs(harness.store, id)).toEqual([old]);
      await signingKeys.rotate("default", next, START);
      expect(await signingKeys.complete("default", START)).toMatchObject({ result: "done" });
      expect(await signingKeys.switchDue(next.switchesAt)).toEqual([]);
      expect(await signs(await harness.crash(), id)).toEqual([next.secret]);
    });

    it("are replaced at once without an overlap, and made by a rotation where there is none", async () => {
      const { store } = await openFresh();
      const first = newKey();
      const made = await store.signingKeys.rotate("default", { secret: first, switchesAt: START + HOUR }, START);
      expect(made).toEqual({ result: "done", keys: { current: first, next: null, published: false }, endpoints: [] });
      const id = await addEndpoint(store, BOTH);
      expect(await signs(store, id)).toEqual([first]);
      const second = newKey();
      await store.signingKeys.rotate("default", { secret: second, switchesAt: START }, START);
      expect(await signs(store, id)).toEqual([second]);
    });

    it("are published only where that was asked for, which a rotation does not change", async () => {
      const { harness, next } = await rotating();
      const { signingKeys } = harness.store;
      expect(await signingKeys.publish("other", true)).toBe(false);
      expect(await signingKeys.publish("default", true)).toBe(true);
      await signingKeys.complete("default", START);
      const store = await harness.crash();
      expect(await store.signingKeys.get("default")).toEqual({ current: next.secret, next: null, published: true });
      expect(await store.signingKeys.publish("default", false)).toBe(true);
      expect(await store.signingKeys.get("default")).toMatchObject({ published: false });
    });

    it("stop what they sign for if they cannot be read, until a rotation at once replaces them", async () => {
      const { harness, id, next } = await rotating();
      const { store, write } = harness;
      const plain = await addEndpoint(store);
      await write("UPDATE signing_key SET private_key = 'damaged'");
      expect(await store.signingKeys.get("default")).toBe("damaged");
      expect(await signs(store, id)).toEqual(["signing_key"]);
      expect(await store.endpoints.get(null, id)).toMatchObject({ damaged: { parts: ["signing_key"] } });
      expect(await signs(store, plain)).toEqual([]);
      expect(await store.signingKeys.abandon("default")).toEqual({ result: "damaged" });
      const later = { secret: newKey(), switchesAt: START + HOUR };
      expect(await store.signingKeys.rotate("default", later, START)).toEqual({ result: "damaged" });
      const atOnce = { ...later, switchesAt: START };
      expect(await store.signingKeys.rotate("default", atOnce, START)).toMatchObject({ result: "done" });
      expect(await signs(store, id)).toEqual([later.secret]);
      expect(await store.signingKeys.switchDue(next.switchesAt)).toEqual([]);
    });

    it("of one tenant that cannot be read keep no other's waiting", async () => {
      const { store, write } = await openFresh();
      for (const tenant of ["a", "b"]) {
        await store.signingKeys.rotate(tenant, { secret: newKey(), switchesAt: START }, START);
        await store.signingKeys.rotate(tenant, { secret: newKey(), switchesAt: START + 1 }, START);
      }
      await write(
        "UPDATE signing_key SET next_private_key = 'damaged' WHERE private_key = (SELECT min(private_key) FROM signing_key)",
      );
      expect(await store.signingKeys.switchDue(START + 1)).toHaveLength(1);
      expect(await store.signingKeys.switchDue(START + 1)).toEqual([]);
    });

    it("tell of each endpoint that they sign for, and of no other", async () => {
      const { harness, id, old } = await rotating();
      const { store } = harness;
      const second = await addEndpoint(store, { signatures: ["ed25519"] });
      await addEndpoint(store);
      const deleted = await addEndpoint(store, BOTH);
      await store.endpoints.delete(null, deleted, START);
      await addEndpoint(store, { ...BOTH, tenant: "other" });
      const { endpoints } = (await store.signingKeys.abandon("default")) as { endpoints: readonly string[] };
      expect(endpoints).toEqual([id, second]);
      expect(await signs(store, second)).toEqual([old]);
      const page = await store.endpoints.list({ tenant: "default", limit: 10, order: "oldest" });
      expect(page.data.map(({ signatures, damaged }) => [signatures, damaged])).toEqual([
        [["hmac", "ed25519"], null],
        [["ed25519"], null],
        [["hmac"], null],
      ]);
    });
  });
}
