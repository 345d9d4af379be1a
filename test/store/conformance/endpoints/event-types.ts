import { describe, expect, it } from "vitest";
import { MAX_STORED_TYPES, type StoredType } from "../../../../src/domain/events/catalogue.ts";
import { WebhookdError } from "../../../../src/domain/errors.ts";
import { newEndpoint, addEndpoint, EVERYTHING, publishOne, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const ORDER: StoredType = {
  name: "order.created",
  description: "An order — “new”.",
  schema: { type: "object", required: ["id"], properties: { id: { type: "string" } } },
  sample: { id: "ord_1", nested: { list: [1, 2.5, null] } },
  group: "orders",
  validation: "warn",
  deprecatedAt: START,
  sunsetAt: START + 1,
  archived: false,
};
const PLAIN: StoredType = {
  ...ORDER,
  group: null,
  validation: null,
  deprecatedAt: null,
  sunsetAt: null,
  archived: true,
};

export function eventTypes(openFresh: OpenFresh): void {
  describe("event types that operators keep", () => {
    it("are none at first", async () => {
      const { store } = await openFresh();
      expect(await store.types.list()).toEqual({ revision: 0, types: [], deleted: [] });
      expect(await store.types.revision()).toBe(0);
    });

    it("are kept with every part, through a crash", async () => {
      const harness = await openFresh();
      const given: (StoredType | null)[] = [];
      const put = (type: StoredType) =>
        harness.store.types.put([type.name], (before) => {
          given.push(before);
          return type;
        });
      expect(await put(ORDER)).toEqual({ types: [{ before: null, type: ORDER }], revision: 1 });
      expect(await put(PLAIN)).toEqual({ types: [{ before: ORDER, type: PLAIN }], revision: 2 });
      expect(await put({ ...PLAIN, name: "a" })).toMatchObject({ types: [{ before: null }], revision: 3 });
      expect(given).toEqual([null, ORDER, null]);
      const store = await harness.crash();
      const { revision, types } = await store.types.list();
      expect(revision).toBe(3);
      expect(types.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual([
        { ...PLAIN, name: "a" },
        PLAIN,
      ]);
      expect(await store.types.revision()).toBe(3);
    });

    it("do not count a change that changes nothing, nor one that is refused", async () => {
      const { store } = await openFresh();
      await store.types.put(["order.created"], () => ORDER);
      expect(await store.types.put(["order.created"], () => ({ ...ORDER }))).toMatchObject({
        types: [{ before: ORDER }],
        revision: 1,
      });
      const refusal = new WebhookdError("already_created", "no");
      const refused = store.types.put(["order.created"], () => {
        throw refusal;
      });
      await expect(refused).rejects.toMatchObject({ code: "already_created" });
      expect(await store.types.list()).toEqual({ revision: 1, types: [ORDER], deleted: [] });
    });

    it("are changed together or not at all, and count as one change", async () => {
      const { store } = await openFresh();
      await store.types.put(["b"], () => ({ ...ORDER, name: "b" }));
      const change = (before: StoredType | null, name: string) =>
        name === "c" ? { ...ORDER, name } : { ...PLAIN, name, description: before?.description ?? "new" };
      const [a, b, c] = [
        { ...PLAIN, name: "a", description: "new" },
        { ...PLAIN, name: "b" },
        { ...ORDER, name: "c" },
      ];
      const refusal = store.types.put(["a", "b", "c"], (before, name) => {
        if (name === "c") throw new WebhookdError("already_created", "no");
        return change(before, name);
      });
      await expect(refusal).rejects.toMatchObject({ code: "already_created" });
      expect(await store.types.list()).toMatchObject({ revision: 1, types: [{ ...ORDER, name: "b" }] });
      expect(await store.types.put(["c", "a", "b"], change)).toEqual({
        types: [
          { before: null, type: c },
          { before: null, type: a },
          { before: { ...ORDER, name: "b" }, type: b },
        ],
        revision: 2,
      });
      expect(await store.types.put(["a", "b", "c"], change)).toMatchObject({ revision: 2 });
      const { types, revision } = await store.types.list();
      expect(revision).toBe(2);
      expect(types.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual([a, b, c]);
    });

    it("are a thousand at most", async () => {
      const { store, write } = await openFresh();
      const values = Array.from({ length: MAX_STORED_TYPES }, (_, at) => `('t${at}', '', '{}', '{}', 0)`).join();
      await write(`INSERT INTO type_definition (name, description, schema, sample, archived) VALUES ${values}`);
      const refused = store.types.put(["order.created"], () => ORDER);
      await expect(refused).rejects.toMatchObject({ code: "event_type_limit" });
      await store.types.put(["t0"], () => ({ ...ORDER, name: "t0" }));
      await store.types.delete("t1", START);
      const two = store.types.put(["a", "t2", "b"], (_, name) => ({ ...ORDER, name }));
      await expect(two).rejects.toMatchObject({ code: "event_type_limit" });
      expect((await store.types.list()).types).toHaveLength(MAX_STORED_TYPES - 1);
      expect(await store.types.put(["order.created"], () => ORDER)).toMatchObject({
        types: [{ before: null }],
      });
    });

    it("are deleted, and may come again", async () => {
      const { store } = await openFresh();
      expect(await store.types.delete("order.created", START)).toBeNull();
      await store.types.put(["order.created"], () => ORDER);
      expect(await store.types.delete("order.created", START)).toBe(2);
      expect(await store.types.list()).toEqual({ revision: 2, types: [], deleted: ["order.created"] });
      expect(await store.types.delete("order.created", START)).toBeNull();
      const again = await store.types.put(["order.created"], (before) => {
        expect(before).toBeNull();
        return ORDER;
      });
      expect(again).toEqual({ types: [{ before: null, type: ORDER }], revision: 3 });
      expect(await store.types.list()).toEqual({ revision: 3, types: [ORDER], deleted: [] });
    });

    it("are forgotten a day after they were deleted", async () => {
      const { store } = await openFresh();
      for (const name of ["a", "b", "c"]) await store.types.put([name], () => ({ ...ORDER, name }));
      await store.types.delete("a", START);
      await store.types.delete("b", START + 86_400_000);
      expect((await store.types.list()).deleted.toSorted()).toEqual(["a", "b"]);
      await store.types.delete("c", START + 86_400_001);
      expect((await store.types.list()).deleted.toSorted()).toEqual(["b", "c"]);
    });

    it("stay while an endpoint has chosen them by name, and while an event of them is kept", async () => {
      const { store } = await openFresh();
      for (const name of ["order.created", "order.paid", "order.lost"])
        await store.types.put([name], () => ({ ...ORDER, name }));
      const id = await addEndpoint(store, { events: ["goal.achieved", "order.created"] });
      const others = await Promise.all(
        [1, 2, 3].map(() => addEndpoint(store, { tenant: "b", events: ["order.created"] })),
      );
      await publishOne(store, { tenant: "c", type: "order.paid" });
      await expect(store.types.delete("order.created", START)).rejects.toMatchObject({
        code: "event_type_in_use",
        detail: expect.stringContaining(`4 endpoints chose it (${id}, `) as string,
      });
      await expect(store.types.delete("order.paid", START)).rejects.toMatchObject({ code: "event_type_in_use" });
      expect((await store.types.list()).types).toHaveLength(3);
      for (const one of [id, ...others]) await store.endpoints.delete(null, one, START);
      expect(await store.types.delete("order.created", START)).toBe(4);
      expect(await store.types.delete("order.lost", START)).toBe(5);
    });

    it("cannot be chosen once they are deleted, however late the endpoint comes", async () => {
      const { store } = await openFresh();
      await store.types.put(["order.created"], () => ORDER);
      const id = await addEndpoint(store, { uid: "one" });
      await store.types.delete("order.created", START);
      const events = ["goal.achieved", "order.created"];
      const fault = { code: "validation_failed", errors: [{ pointer: "/events/1", code: "unknown_event_type" }] };
      await expect(addEndpoint(store, { events })).rejects.toMatchObject(fault);
      const update = store.endpoints.update(null, id, (settings) => ({ ...settings, events }), START);
      await expect(update).rejects.toMatchObject(fault);
      const { id: _, tenant, uid, signingSecret, ...settings } = newEndpoint({ events, uid: "one" });
      const named = { id, tenant, uid: uid!, signingSecret };
      const put = store.endpoints.put(named, () => ({ ...settings, uid }), 10, START);
      await expect(put).rejects.toMatchObject(fault);
      expect((await store.endpoints.list(EVERYTHING)).data.map((one) => one.events)).toEqual([["budget.exceeded"]]);

      await store.types.revive(["order.created", "another"]);
      await addEndpoint(store, { events });
      expect((await store.types.list()).deleted).toEqual([]);
    });

    it("are either deleted or chosen, if both are asked at once", async () => {
      const { store } = await openFresh();
      const names = Array.from({ length: 10 }, (_, at) => `order.t${at}`);
      for (const name of names) await store.types.put([name], () => ({ ...ORDER, name }));
      const ends = await Promise.all(
        names.map((name) =>
          Promise.allSettled([addEndpoint(store, { events: [name] }), store.types.delete(name, START)]),
        ),
      );
      for (const [chosen, deleted] of ends)
        expect(chosen.status === "fulfilled").not.toBe(deleted.status === "fulfilled");
      const { types } = await store.types.list();
      expect(await store.endpoints.typesInUse(types.map(({ name }) => name))).toEqual([]);
    });
  });
}
