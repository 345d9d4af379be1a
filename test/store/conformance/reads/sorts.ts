import { describe, expect, it } from "vitest";
import type { EndpointQuery, Page, Store, TenantQuery } from "../../../../src/store/store.ts";
import { addEndpoint, delivered, draft, failed, publishOne, withCapacity, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const MINUTE_MS = 60_000;
const TYPES = ["budget.exceeded", "goal.achieved"] as const;

/** Reads all pages, and runs `between` after each. */
async function allOf<T>(read: (cursor?: string) => Promise<Page<T>>, between?: () => Promise<unknown>): Promise<T[]> {
  const all: T[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await read(cursor);
    all.push(...page.data);
    if (page.nextCursor === null) return all;
    cursor = page.nextCursor;
    await between?.();
  }
}

const endpointsBy = (store: Store, more: Partial<EndpointQuery>, between?: () => Promise<unknown>) =>
  allOf((cursor) => store.endpoints.list({ tenant: null, limit: 2, order: "oldest", cursor, ...more }), between);

export function sorts(openFresh: OpenFresh): void {
  describe("short lists, sorted", () => {
    it("have endpoints by host, each once while more arrive and one is deleted", async () => {
      const { store } = await openFresh();
      const hosts = ["delta", "alpha", "echo", "bravo", "charlie"];
      const ids = new Map<string, string>();
      for (const host of hosts) ids.set(host, await addEndpoint(store, { url: `https://${host}.example/hook` }));
      const twin = await addEndpoint(store, { url: "https://alpha.example/hook", tenant: "acme" });
      const by = (...names: string[]) => names.map((name) => ids.get(name)!);
      const shown = async (more: Partial<EndpointQuery>) => (await endpointsBy(store, more)).map(({ id }) => id);
      const all = [...by("alpha"), twin, ...by("bravo", "charlie", "delta", "echo")];
      expect(await shown({ sort: "host" })).toEqual(all);
      expect(await shown({ sort: "host", order: "newest" })).toEqual(all.toReversed());
      expect(await shown({ sort: "host", tenant: "acme" })).toEqual([twin]);
      expect(await shown({ sort: "host", match: "HOOK" })).toEqual(all);
      const walked = await endpointsBy(store, { sort: "host", limit: 1 }, async () => {
        await addEndpoint(store, { url: "https://aardvark.example/" });
        await store.endpoints.delete(null, ids.get("alpha")!, START);
      });
      expect(walked.map(({ id }) => id)).toEqual(all);
      const other = await store.endpoints.list({ tenant: null, limit: 1, order: "oldest", sort: "host" });
      await expect(
        store.endpoints.list({ tenant: null, limit: 1, order: "oldest", sort: "failing", cursor: other.nextCursor! }),
      ).rejects.toMatchObject({ code: "invalid_query" });
    });

    it("have endpoints by how they fare", async () => {
      const { store } = await openFresh();
      const ids: string[] = [];
      for (const type of ["budget.exceeded", "goal.achieved", "carbon.threshold", "subscription.detected"]) {
        ids.push(await addEndpoint(store, { events: [type] }));
      }
      const publish = async (type: string, at: number) =>
        (await store.events.publish([draft({ type })], at, withCapacity))[0]!.fresh[0]!;
      const startedAt = START + 5000;
      await store.deliveries.record([
        { ...failed(await publish("budget.exceeded", START)), startedAt },
        { ...failed(await publish("goal.achieved", START)), startedAt: startedAt + 1 },
        { ...failed(await publish("goal.achieved", START)), startedAt: startedAt + 2 },
        { ...delivered(await publish("carbon.threshold", START)), startedAt },
      ]);
      await store.upkeep.saveHealth();
      const [one, two, three, never] = ids;
      const shown = async (sort: EndpointQuery["sort"] & string, order: "oldest" | "newest" = "oldest") =>
        (await endpointsBy(store, { sort, order })).map(({ id }) => id);
      expect(await shown("failing")).toEqual([two, one, three, never]);
      expect(await shown("failing", "newest")).toEqual([never, three, one, two]);
      expect(await shown("last_failure")).toEqual([two, one, three, never]);
      expect(await shown("last_success")).toEqual([one, two, never, three]);
      expect((await shown("last_success", "newest"))[0]).toBe(three);
    });

    it("have tenants by name, by their endpoints, and by what they published", async () => {
      const { store, clock } = await openFresh();
      for (const [tenant, endpoints] of [
        ["globex", 1],
        ["Acme", 2],
        ["initech", 3],
        ["acme", 1],
      ] as const) {
        for (let index = 0; index < endpoints; index++) await addEndpoint(store, { tenant });
      }
      // Events published in the minute before the period do not count.
      const publish = async (tenant: string, events: number) => {
        for (let count = 0; count < events; count++) await publishOne(store, { tenant, type: TYPES[count % 2]! });
      };
      await publish("initech", 9);
      clock.advance(MINUTE_MS);
      const hourBegins = clock.now();
      await publish("acme", 3);
      await publish("globex", 2);
      await publish("Acme", 1);
      clock.advance(MINUTE_MS);
      await publish("Acme", 3);
      clock.advance(1000);
      await store.statistics.save();
      const shown = async (more: Partial<TenantQuery>) => {
        const read = (cursor?: string) =>
          store.reads.listTenants({ tenant: null, limit: 1, order: "oldest", cursor, since: hourBegins, ...more });
        return (await allOf(read)).map(({ name }) => name).filter((name) => !name.includes(":") && name !== "default");
      };
      expect(await shown({ sort: "name" })).toEqual(["Acme", "acme", "globex", "initech"]);
      expect(await shown({ sort: "name", order: "newest" })).toEqual(["initech", "globex", "acme", "Acme"]);
      expect(await shown({ sort: "endpoints" })).toEqual(["initech", "Acme", "globex", "acme"]);
      expect(await shown({ sort: "endpoints", order: "newest" })).toEqual(["acme", "globex", "Acme", "initech"]);
      expect(await shown({ sort: "endpoints", tenant: "acme" })).toEqual(["acme"]);
      expect(await shown({ sort: "published" })).toEqual(["Acme", "acme", "globex", "initech"]);
      expect(await shown({ sort: "published", order: "newest" })).toEqual(["initech", "globex", "acme", "Acme"]);
      const { data } = await store.reads.listTenants({ tenant: null, limit: 9, order: "oldest", since: hourBegins });
      expect(Object.fromEntries(data.map(({ name, published }) => [name, published]))).toMatchObject({
        initech: 0,
        acme: 3,
        globex: 2,
        Acme: 4,
      });
    });
  });
}
