import { describe, expect, it } from "vitest";
import type { AuditEntry } from "../../../../src/domain/caller.ts";
import type { AuditQuery, Store } from "../../../../src/store/store.ts";
import { addEndpoint, EVERYTHING, publishOne, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const KEY = "key_00000000000000000000000001";

function entry(more: Partial<AuditEntry> = {}): AuditEntry {
  const request = { requestId: "req_00000000000000000000000001", outcome: "ok" } as const;
  return {
    actor: KEY,
    uid: null,
    user: null,
    tenant: "acme",
    action: "event.retry",
    object: null,
    ...request,
    ...more,
  };
}

export function audit(openFresh: OpenFresh): void {
  describe("the audit log", () => {
    it("keeps entries as they were added, across a restart", async () => {
      const harness = await openFresh();
      const one = entry({ object: "ep_00000000000000000000000001", action: "endpoint.delete", outcome: "not_found" });
      await harness.store.audit.add(one, START);
      await harness.store.audit.add(entry({ actor: "socket" }), START);
      const store = await harness.reopen();
      await store.audit.add(entry(), START);
      const { data } = await store.audit.list(EVERYTHING);
      const single = { at: START, lastAt: START, count: 1 };
      expect(data).toEqual([{ ...one, ...single }, { ...entry({ actor: "socket" }), ...single }, expect.anything()]);
    });

    it("lets an entry stand for more calls, while it is kept", async () => {
      const { store } = await openFresh();
      const row = await store.audit.add(entry(), START);
      await store.audit.add(entry(), START);
      expect(await Promise.all([store.audit.count(row, 2, START + 9), store.audit.count(row, 1, START + 5)])).toEqual([
        true,
        true,
      ]);
      const { data } = await store.audit.list(EVERYTHING);
      expect(data.map(({ at, lastAt, count }) => [at, lastAt, count])).toEqual([
        [START, START + 9, 4],
        [START, START, 1],
      ]);
      await store.audit.prune(START + 1);
      expect(await store.audit.count(row, 1, START + 10)).toBe(false);
    });

    it("finds out whose an object is when nobody said it", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { tenant: "acme" });
      await store.endpoints.delete(null, endpoint, START);
      await addEndpoint(store, { tenant: "globex" });
      const { id: event, fresh } = await publishOne(store, { tenant: "globex" });
      const key = { id: KEY, name: "", hash: Buffer.alloc(32), scopes: ["read"], tenant: "initech" } as const;
      await store.keys.add({ ...key, expiresAt: null }, START);
      const forged = `${event.slice(0, -1)}${event.endsWith("0") ? "1" : "0"}`;
      const objects = [endpoint, event, fresh[0]!.delivery, KEY, forged, "ep_00000000000000000000000001", null];
      for (const object of objects) await store.audit.add(entry({ tenant: null, object }), START);
      const { data } = await store.audit.list(EVERYTHING);
      expect(data.map(({ tenant }) => tenant)).toEqual(["acme", "globex", "globex", "initech", "*", "*", "*"]);
    });

    it("is listed by tenant, action and time, in pages", async () => {
      const { store } = await openFresh();
      await store.audit.add(entry(), START);
      await store.audit.add(entry({ action: "key.create" }), START + 1000);
      await store.audit.add(entry({ tenant: "globex" }), START + 2000);
      await store.audit.add(entry({ tenant: null }), START + 3000);
      const at = async (more: Partial<AuditQuery>) => (await everything(store, more)).map((each) => each - START);
      expect(await at({})).toEqual([0, 1000, 2000, 3000]);
      expect(await at({ order: "newest" })).toEqual([3000, 2000, 1000, 0]);
      expect(await at({ tenant: "acme" })).toEqual([0, 1000]);
      expect(await at({ action: "event.retry" })).toEqual([0, 2000, 3000]);
      expect(await at({ since: START + 1000, until: START + 3000 })).toEqual([1000, 2000]);
    });

    it("is pruned by age, 500 entries at a time", async () => {
      const { store } = await openFresh();
      await Promise.all(Array.from({ length: 501 }, (_, index) => store.audit.add(entry(), START + index)));
      await store.audit.add(entry(), START + 1000);
      expect(await store.audit.prune(START)).toBe(0);
      expect(await store.audit.prune(START + 1000)).toBe(500);
      expect(await store.audit.prune(START + 1000)).toBe(1);
      expect(await everything(store, {})).toEqual([START + 1000]);
    });
  });
}

/** Returns the times of the entries on all pages. */
async function everything(store: Store, more: Partial<AuditQuery>): Promise<number[]> {
  const instants: number[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await store.audit.list({ ...EVERYTHING, limit: 2, ...more, ...(cursor && { cursor }) });
    instants.push(...page.data.map(({ at }) => at));
    if (page.nextCursor === null) return instants;
    cursor = page.nextCursor;
  }
}
