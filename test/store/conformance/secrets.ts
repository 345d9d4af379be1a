import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SigningSecrets, Target } from "../../../src/domain/endpoints/endpoint.ts";
import type { Store } from "../../../src/store/store.ts";
import { addEndpoint, delivered, ended, publishOne, START } from "../fixtures.ts";
import type { OpenFresh } from "../stores.ts";

const OLD = "whsec_b2xkIHNlY3JldCBvZiAyNCBieXRl";
const NEW = "whsec_bmV3IHNlY3JldCBvZiAyNCBieXRl";
const OTHER = "whsec_b3RoZXIgc2VjcmV0IG9mIDI0IGJ5";
const HOUR = 3_600_000;
const LATER = { secret: NEW, switchesAt: START + HOUR };

const prepared = async (openFresh: OpenFresh) => {
  const harness = await openFresh();
  return { harness, id: await addEndpoint(harness.store, { signingSecret: OLD }) };
};

export function rotating(openFresh: OpenFresh): void {
  describe("rotating a secret", () => {
    const signs = async (store: Store, id: string) => {
      const { signingSecret, nextSigningSecret } = (await store.endpoints.target(id)) as Target;
      return [signingSecret, nextSigningSecret];
    };

    it("puts the next one beside the current one, for whoever signs and whoever asks", async () => {
      const { harness, id } = await prepared(openFresh);
      expect(await harness.store.secrets.get(null, id)).toEqual({ current: OLD, next: null });
      const secrets = { current: OLD, next: LATER };
      expect(await harness.store.secrets.rotate("default", id, LATER, START)).toEqual({ result: "done", secrets });
      expect(await harness.store.secrets.get("default", id)).toEqual(secrets);
      expect(await harness.store.endpoints.get(null, id)).toMatchObject({ secretSwitchesAt: LATER.switchesAt });
      const store = await harness.crash();
      expect(await store.secrets.get("default", id)).toEqual(secrets);
      expect(await signs(store, id)).toEqual([OLD, NEW]);
    });

    it("lets it take over when it is due, not before, and for good", async () => {
      const { harness, id } = await prepared(openFresh);
      await harness.store.secrets.rotate(null, id, LATER, START);
      expect(await harness.store.secrets.switchDue(START + HOUR - 1)).toEqual([]);
      expect(await signs(harness.store, id)).toEqual([OLD, NEW]);
      expect(await harness.store.secrets.switchDue(START + HOUR)).toEqual([id]);
      const store = await harness.crash();
      // The clock may have been set back since.
      expect(await store.secrets.switchDue(START)).toEqual([]);
      expect(await store.secrets.switchDue(START + 2 * HOUR)).toEqual([]);
      expect(await signs(store, id)).toEqual([NEW, null]);
      expect(await store.secrets.get(null, id)).toEqual({ current: NEW, next: null });
      expect(await store.endpoints.get(null, id)).toMatchObject({ secretSwitchesAt: null });
    });

    it("is done at once without an overlap", async () => {
      const { harness, id } = await prepared(openFresh);
      const secrets = { current: NEW, next: null };
      const next = { secret: NEW, switchesAt: START };
      expect(await harness.store.secrets.rotate(null, id, next, START)).toEqual({ result: "done", secrets });
      expect(await signs(harness.store, id)).toEqual([NEW, null]);
    });

    it("can be completed early, and abandoned, but only while it is under way", async () => {
      const { harness, id } = await prepared(openFresh);
      const { store } = harness;
      expect(await store.secrets.complete(null, id, START)).toEqual({ result: "not_rotating" });
      expect(await store.secrets.abandon(null, id)).toEqual({ result: "not_rotating" });
      await store.secrets.rotate(null, id, LATER, START);
      expect(await store.secrets.abandon(null, id)).toEqual({
        result: "done",
        secrets: { current: OLD, next: null },
      });
      expect(await store.secrets.switchDue(START + HOUR)).toEqual([]);
      await store.secrets.rotate(null, id, LATER, START);
      expect(await store.secrets.complete(null, id, START)).toEqual({
        result: "done",
        secrets: { current: NEW, next: null },
      });
      expect(await store.secrets.abandon(null, id)).toEqual({ result: "not_rotating" });
      expect(await signs(await harness.crash(), id)).toEqual([NEW, null]);
    });

    it("refuses a second one meanwhile, and changes nothing by it", async () => {
      const { harness, id } = await prepared(openFresh);
      await harness.store.secrets.rotate(null, id, LATER, START);
      for (const switchesAt of [START, START + 2 * HOUR]) {
        const second = await harness.store.secrets.rotate(null, id, { secret: OTHER, switchesAt }, START);
        expect(second).toEqual({ result: "rotation_in_progress" });
      }
      expect(await harness.store.secrets.get(null, id)).toEqual({ current: OLD, next: LATER });
    });

    it("is nobody's but the tenant's, and ends with the endpoint", async () => {
      const { harness, id } = await prepared(openFresh);
      const { store } = harness;
      const nothing = { result: "not_found" };
      const refused = async (tenant: string | null) => {
        expect(await store.secrets.get(tenant, id)).toBeNull();
        expect(await store.secrets.rotate(tenant, id, LATER, START)).toEqual(nothing);
        expect(await store.secrets.complete(tenant, id, START)).toEqual(nothing);
        expect(await store.secrets.abandon(tenant, id)).toEqual(nothing);
      };
      await refused("other");
      await store.secrets.rotate(null, id, LATER, START);
      await store.endpoints.delete(null, id, START);
      expect(await store.secrets.switchDue(START + HOUR)).toEqual([]);
      await refused(null);
    });

    it("tells attempts that the present secret signed from those that one before it did", async () => {
      const { harness, id } = await prepared(openFresh);
      const { store } = harness;
      const attempt = async () => {
        const { id: event, fresh } = await publishOne(store);
        const { secretVersion } = (await store.endpoints.target(id)) as Target;
        await store.deliveries.record([{ ...delivered(fresh[0]!), secretVersion }]);
        return async () => (await store.reads.getEvent(null, event))!.deliveries[0]!.lastAttempt!.secret;
      };
      const before = await attempt();
      await store.secrets.rotate(null, id, LATER, START);
      const during = await attempt();
      expect([await before(), await during()]).toEqual(["current", "current"]);
      await store.secrets.complete(null, id, START);
      const after = await attempt();
      expect([await before(), await during(), await after()]).toEqual(["previous", "previous", "current"]);
      const { id: unsigned, fresh } = await publishOne(store);
      await store.deliveries.record([ended(fresh[0]!, { status: "failed" }, { secretVersion: null })]);
      expect((await store.reads.getEvent(null, unsigned))!.deliveries[0]!.lastAttempt!.secret).toBeNull();
    });

    it("is as a model of it says, whatever the order of things", async () => {
      const { harness, id } = await prepared(openFresh);
      let names = 0;
      let now = START;
      const step = fc.oneof(
        fc.record({ do: fc.constant("rotate" as const), overlap: fc.nat(3) }),
        fc.record({ do: fc.constantFrom("complete" as const, "abandon" as const, "switch" as const) }),
        fc.record({ do: fc.constant("pass" as const), by: fc.integer({ min: -2, max: 3 }) }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
          const { store } = harness;
          let model = (await store.secrets.get(null, id)) as SigningSecrets;
          for (const one of steps) {
            const { next } = model;
            const taken = next === null ? model : { current: next.secret, next: null };
            if (one.do === "pass") now += one.by;
            if (one.do === "rotate") {
              const given = { secret: `a secret of many ${names++}`, switchesAt: now + one.overlap };
              const { result } = await store.secrets.rotate(null, id, given, now);
              expect(result).toBe(next === null ? "done" : "rotation_in_progress");
              if (next === null) {
                model = one.overlap === 0 ? { current: given.secret, next } : { ...model, next: given };
              }
            }
            if (one.do === "complete" || one.do === "abandon") {
              const { result } = await (one.do === "complete"
                ? store.secrets.complete(null, id, START)
                : store.secrets.abandon(null, id));
              expect(result).toBe(next === null ? "not_rotating" : "done");
              model = one.do === "complete" ? taken : { ...model, next: null };
            }
            if (one.do === "switch") {
              const due = next !== null && next.switchesAt <= now;
              expect(await store.secrets.switchDue(now)).toEqual(due ? [id] : []);
              if (due) model = taken;
            }
            expect(await store.secrets.get(null, id)).toEqual(model);
          }
        }),
        { numRuns: 40 },
      );
    });
  });
}

export function rotatingMany(openFresh: OpenFresh): void {
  describe("rotating many secrets", () => {
    it("switches at most 500 in one call, the earliest first", async () => {
      const { store } = (await prepared(openFresh)).harness;
      const ids = await Promise.all(Array.from({ length: 503 }, () => addEndpoint(store)));
      await Promise.all(
        ids.map((id, at) => store.secrets.rotate(null, id, { secret: NEW, switchesAt: START + 1 + at }, START)),
      );
      expect(await store.secrets.switchDue(START + HOUR)).toEqual(ids.slice(0, 500));
      expect(await store.secrets.switchDue(START + HOUR)).toEqual(ids.slice(500));
      expect(await store.secrets.switchDue(START + HOUR)).toEqual([]);
    });

    it("is not kept waiting by 500 others that cannot be read", async () => {
      const { store, write } = (await prepared(openFresh)).harness;
      const ids = await Promise.all(Array.from({ length: 999 }, () => addEndpoint(store)));
      await Promise.all(
        ids.map((id, at) => store.secrets.rotate(null, id, { secret: NEW, switchesAt: START + 1 + (at >> 2) }, START)),
      );
      await write(
        `UPDATE endpoint SET next_secret = 'damaged' WHERE id <> '${ids.at(-1)}' AND next_secret IS NOT NULL`,
      );
      expect(await store.secrets.switchDue(START + HOUR)).toEqual([ids.at(-1)]);
      expect(await store.secrets.switchDue(START + HOUR)).toEqual([]);
    });
  });
}
