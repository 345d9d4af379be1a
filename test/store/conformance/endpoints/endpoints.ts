import { describe, expect, it } from "vitest";
import type { EndpointSettings } from "../../../../src/domain/endpoints/endpoint.ts";
import { WebhookdError } from "../../../../src/domain/errors.ts";
import {
  addEndpoint,
  draft,
  dueNow,
  EVERYTHING,
  newEndpoint,
  withoutCapacity,
  publishOne,
  START,
} from "../../fixtures.ts";
import { type EndpointAuth, shownAuth } from "../../../../src/domain/endpoints/auth.ts";
import { clientAuth } from "../../../harness/tls.ts";
import { EVERY_SETTING } from "../../every-setting.ts";
import type { OpenFresh } from "../../stores.ts";

export function endpoints(openFresh: OpenFresh): void {
  describe("endpoints", () => {
    it("say which types they chose that are known no more", async () => {
      const { store } = await openFresh();
      const known = ["budget.exceeded"];
      expect(await store.endpoints.typesInUse(known)).toEqual([]);
      const ids: string[] = [];
      for (let index = 0; index < 5; index++) ids.push(await addEndpoint(store, { events: ["b", "budget.exceeded"] }));
      const other = await addEndpoint(store, { tenant: "acme", events: ["a"] });
      await publishOne(store, { type: "c" });
      await store.endpoints.delete(null, ids[1]!, START);
      expect(await store.endpoints.typesInUse(known)).toEqual([
        { type: "a", endpoints: 1, some: [other] },
        { type: "b", endpoints: 4, some: [ids[0], ids[2], ids[3]] },
      ]);
      expect(await store.endpoints.typesInUse(["a", "b"])).toMatchObject([{ type: "budget.exceeded", endpoints: 4 }]);
    });

    it("reads back as it was registered, without its secrets", async () => {
      const { store } = await openFresh();
      const headers = { Authorization: "Bearer canary" };
      const more = { uid: "u1", headers, metadata: { a: [1] }, ratePerSecond: 0.5, maxInFlight: 3, description: "d" };
      const added = await store.endpoints.add(newEndpoint(more), 10, START);
      expect(added).toMatchObject({
        tenant: "default",
        uid: "u1",
        headerNames: ["Authorization"],
        metadata: { a: [1] },
        enabled: true,
        ratePerSecond: 0.5,
        maxInFlight: 3,
        createdAt: START,
        updatedAt: START,
        disabledReason: null,
      });
      expect(await store.endpoints.get("default", added.id)).toEqual(added);
      expect(JSON.stringify(added)).not.toMatch(/canary|whsec/);
    });

    it("gives the sender its secrets, after a restart too", async () => {
      const harness = await openFresh();
      const id = await addEndpoint(harness.store, { headers: { "X-Key": "v" }, signingSecret: "whsec_abc" });
      const store = await harness.reopen();
      expect(await store.endpoints.target(id)).toEqual({
        endpoint: id,
        tenant: "default",
        url: "https://receiver.example/hook",
        enabled: true,
        headers: { "X-Key": "v" },
        signingSecret: "whsec_abc",
        secretVersion: 1,
        nextSigningSecret: null,
        format: "envelope",
        traceContext: false,
        signatures: ["hmac"],
        privateKeys: [],
        auth: null,
        ca: null,
        ratePerSecond: null,
        maxInFlight: null,
      });
      expect(await store.endpoints.target("ep_00000000000000000000000000")).toBeNull();
    });

    it("refuses more than the tenant may have, not counting deleted ones", async () => {
      const { store } = await openFresh();
      const first = await store.endpoints.add(newEndpoint(), 1, START);
      await expect(store.endpoints.add(newEndpoint(), 1, START)).rejects.toMatchObject({ code: "endpoint_limit" });
      await store.endpoints.add(newEndpoint({ tenant: "other" }), 1, START);
      await store.endpoints.delete(null, first.id, START);
      await store.endpoints.add(newEndpoint(), 1, START);
    });

    it("refuses a uid that the tenant uses already", async () => {
      const { store } = await openFresh();
      const first = await addEndpoint(store, { uid: "mine" });
      await expect(addEndpoint(store, { uid: "mine" })).rejects.toMatchObject({ code: "already_created" });
      await addEndpoint(store, { uid: "mine", tenant: "other" });
      await store.endpoints.delete(null, first, START);
      await addEndpoint(store, { uid: "mine" });
    });

    it("is as if it were not there for another tenant", async () => {
      const { store } = await openFresh();
      const id = await addEndpoint(store);
      expect(await store.endpoints.get("other", id)).toBeNull();
      expect(await store.endpoints.delete("other", id, START)).toBe(false);
      expect((await store.endpoints.list({ ...EVERYTHING, tenant: "other" })).data).toEqual([]);
      expect(await store.endpoints.get("default", id)).not.toBeNull();
    });

    it("lists by what is asked, in order of registration", async () => {
      const { store } = await openFresh();
      const a = await addEndpoint(store, { uid: "a" });
      const b = await addEndpoint(store, { enabled: false });
      const c = await addEndpoint(store, { tenant: "other", uid: "a", events: ["goal.achieved"] });
      const list = async (more: object) =>
        (await store.endpoints.list({ ...EVERYTHING, ...more })).data.map(({ id }) => id);
      expect(await list({})).toEqual([a, b, c]);
      expect(await list({ order: "newest" })).toEqual([c, b, a]);
      expect(await list({ enabled: false })).toEqual([b]);
      expect(await list({ ids: [b, c, "ep_none"] })).toEqual([b, c]);
      expect(await list({ ids: [b, c], tenant: "other" })).toEqual([c]);
      expect(await list({ uid: "a" })).toEqual([a, c]);
      expect(await list({ uid: "a", tenant: "other" })).toEqual([c]);
      expect(await list({ match: "OTHER" })).toEqual([c]);
      expect(await list({ match: b.slice(-6).toUpperCase() })).toEqual([b]);
      expect(await list({ type: "goal.achieved" })).toEqual([c]);
    });

    it("becomes what a change makes of it, secrets and history aside", async () => {
      const harness = await openFresh();
      const id = await addEndpoint(harness.store, { headers: { "X-Key": "v" }, uid: "u", maxInFlight: 3 });
      const url = "https://other.example/";
      const change = (settings: EndpointSettings) => {
        expect(settings.headers).toEqual({ "X-Key": "v" });
        return { ...settings, url, headers: { "X-Other": "w" }, maxInFlight: null, metadata: { a: 1 } };
      };
      const changed = await harness.store.endpoints.update("default", id, change, START + 5);
      expect(changed).toMatchObject({ url, uid: "u", headerNames: ["X-Other"], maxInFlight: null, metadata: { a: 1 } });
      expect(changed).toMatchObject({ createdAt: START, updatedAt: START + 5 });
      const store = await harness.reopen();
      expect(await store.endpoints.get(null, id)).toEqual(changed);
      expect(await store.endpoints.target(id)).toMatchObject({
        url,
        headers: { "X-Other": "w" },
        signingSecret: "whsec_c2VjcmV0",
      });
    });

    it("keeps a change of every setting there is", async () => {
      const harness = await openFresh();
      const id = await addEndpoint(harness.store);
      await harness.store.endpoints.update(null, id, () => EVERY_SETTING, START + 5);
      const store = await harness.reopen();
      const { headers, auth, ...shown } = EVERY_SETTING;
      expect(await store.endpoints.get(null, id)).toMatchObject({ ...shown, headerNames: Object.keys(headers) });
      expect(await store.endpoints.target(id)).toMatchObject({ headers, auth, ca: shown.ca });
    });

    it("keeps what a receiver asks for, shows no secret of it, and forgets it at the deletion", async () => {
      const harness = await openFresh();
      const client = { tokenUrl: "https://login.example/token", clientId: "me", clientSecret: "canary" };
      const all: EndpointAuth[] = [
        { type: "basic", username: "me", password: "canary" },
        { type: "bearer", token: "canary" },
        { type: "oauth2", ...client, scope: "hooks", audience: null, clientAuth: "body" },
        clientAuth("client"),
      ];
      const ids: string[] = [];
      for (const auth of all) ids.push(await addEndpoint(harness.store, { auth }));
      const store = await harness.reopen();
      for (const [at, id] of ids.entries()) {
        const endpoint = (await store.endpoints.get(null, id))!;
        expect(endpoint).toMatchObject({ auth: shownAuth(all[at]!), damaged: null });
        expect(JSON.stringify(endpoint)).not.toMatch(/canary|BEGIN/);
        expect(await store.endpoints.target(id)).toMatchObject({ auth: all[at] });
        await store.endpoints.update(null, id, (settings) => ({ ...settings, description: "d" }), START + 1);
        expect(await store.endpoints.target(id)).toMatchObject({ auth: all[at] });
        await store.endpoints.update(null, id, (settings) => ({ ...settings, auth: null }), START + 2);
        expect(await store.endpoints.target(id)).toMatchObject({ auth: null });
      }
    });

    it("names the client certificates that expire, the earliest first", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const good = await addEndpoint(store, { tenant: "acme", auth: clientAuth("client") });
      const old = await addEndpoint(store, { auth: clientAuth("client-expired") });
      const at = { acme: Date.parse("2120-01-01T00:00:00Z"), old: Date.parse("2020-02-01T00:00:00Z") };
      const url = "https://receiver.example/hook";
      const expired = { endpoint: old, tenant: "default", url, notAfter: at.old };
      expect(await store.endpoints.expiring(at.old, 10)).toEqual([]);
      expect(await store.endpoints.expiring(at.acme, 10)).toEqual([expired]);
      const both = [expired, { endpoint: good, tenant: "acme", url, notAfter: at.acme }];
      expect(await store.endpoints.expiring(at.acme + 1, 10)).toEqual(both);
      expect(await store.endpoints.expiring(at.acme + 1, 1)).toEqual([expired]);
      await store.endpoints.update(null, old, (settings) => ({ ...settings, auth: null }), START);
      await store.endpoints.delete(null, good, START);
      expect(await store.endpoints.expiring(at.acme + 1, 10)).toEqual([]);
    });

    it("changes nothing when the change is refused, and leaves others in the commit alone", async () => {
      const { store } = await openFresh();
      const [a, b] = [await addEndpoint(store, { uid: "a" }), await addEndpoint(store, { uid: "b" })];
      const refuse = () => {
        throw new WebhookdError("validation_failed", "no");
      };
      const refused = store.endpoints.update(null, a, refuse, START + 1);
      const taken = store.endpoints.update(null, a, (settings) => ({ ...settings, uid: "b" }), START + 1);
      const other = store.endpoints.update(null, b, (settings) => ({ ...settings, description: "d" }), START + 1);
      await expect(refused).rejects.toMatchObject({ code: "validation_failed" });
      await expect(taken).rejects.toMatchObject({ code: "already_created" });
      expect(await other).toMatchObject({ description: "d", uid: "b" });
      expect(await store.endpoints.get(null, a)).toMatchObject({ uid: "a", updatedAt: START });
      expect(await store.endpoints.update("other", a, (settings) => settings, START)).toBeNull();
      await store.endpoints.delete(null, a, START);
      expect(await store.endpoints.update(null, a, (settings) => settings, START)).toBeNull();
    });

    it("is judged as it would be changed or added, and nothing is written", async () => {
      const { store } = await openFresh();
      const [a, b] = [await addEndpoint(store, { uid: "a" }), await addEndpoint(store, { uid: "b" })];
      const before = await store.endpoints.list(EVERYTHING);
      const refuse = () => {
        throw new WebhookdError("validation_failed", "no");
      };
      const { endpoints } = store;
      const change = (more: Partial<EndpointSettings>) => (settings: EndpointSettings) => ({ ...settings, ...more });
      expect(await endpoints.judgeUpdate(null, a, change({ description: "d" }))).toBe(true);
      expect(await endpoints.judgeUpdate("other", a, change({}))).toBe(false);
      expect(await endpoints.judgeUpdate(null, "ep_00000000000000000000000000", change({}))).toBe(false);
      await expect(endpoints.judgeUpdate(null, a, refuse)).rejects.toMatchObject({ code: "validation_failed" });
      const taken = endpoints.judgeUpdate(null, a, change({ uid: "b" }));
      await expect(taken).rejects.toMatchObject({ code: "already_created" });
      const { id, signingSecret, tenant, ...settings } = newEndpoint();
      const put = (uid: string, most: number, more: Partial<EndpointSettings> = {}) =>
        endpoints.judgePut({ id, signingSecret, tenant, uid }, (old) => ({ ...(old ?? settings), uid, ...more }), most);
      await put("b", 2);
      await put("c", 3);
      await expect(put("c", 2)).rejects.toMatchObject({ code: "endpoint_limit" });
      await expect(put("a", 3, { uid: "b" })).rejects.toMatchObject({ code: "already_created" });
      const refused = endpoints.judgePut({ id, signingSecret, tenant, uid: "c" }, refuse, 3);
      await expect(refused).rejects.toMatchObject({ code: "validation_failed" });
      const ofNobody = { id, signingSecret, tenant: "nobody", uid: "c" };
      await endpoints.judgePut(ofNobody, () => settings, 1);
      await expect(endpoints.judgePut(ofNobody, () => settings, 0)).rejects.toMatchObject({ code: "endpoint_limit" });
      expect(await store.endpoints.list(EVERYTHING)).toEqual(before);
      expect(before.data.map((one) => one.id)).toEqual([a, b]);
    });

    it("gets events of the types it has chosen by then", async () => {
      const { store } = await openFresh();
      const id = await addEndpoint(store);
      const before = await publishOne(store);
      await store.endpoints.update(null, id, (settings) => ({ ...settings, events: ["goal.achieved"] }), START);
      expect(before.deliveries).toBe(1);
      expect((await publishOne(store)).deliveries).toBe(0);
      expect((await publishOne(store, { type: "goal.achieved" })).deliveries).toBe(1);
      expect((await store.reads.getEvent(null, before.id))!.deliveries).toMatchObject([{ status: "pending" }]);
    });

    it("holds while it is disabled, and nothing is rewritten for it", async () => {
      const { store } = await openFresh();
      const id = await addEndpoint(store);
      const enabled = (value: boolean, whenDisabled: "hold" | "skip" = "hold") =>
        store.endpoints.update(null, id, (settings) => ({ ...settings, enabled: value, whenDisabled }), START);
      const before = (await store.events.publish([draft()], START, withoutCapacity))[0]!;
      await enabled(false);
      const meanwhile = await publishOne(store);
      expect(meanwhile).toMatchObject({ deliveries: 1, fresh: [], waiting: [{ endpoint: id }] });
      const statuses = async () =>
        (await store.reads.listEvents({ ...EVERYTHING, status: "held" })).data.map((event) => event.id);
      expect(await statuses()).toEqual([before.id, meanwhile.id]);
      await enabled(false, "skip");
      expect((await publishOne(store)).deliveries).toBe(0);
      expect(await statuses()).toEqual([before.id, meanwhile.id]);
      await enabled(true);
      expect(await statuses()).toEqual([]);
      expect((await dueNow(store, id)).map(({ event }) => event)).toEqual([before.id, meanwhile.id]);
    });

    it("cancels what a deleted endpoint was owed, however much, and sends it nothing more", async () => {
      const { store } = await openFresh();
      const id = await addEndpoint(store);
      const other = await addEndpoint(store);
      const published = await store.events.publish(Array(1203).fill(draft()), START, withoutCapacity);
      const fresh = await publishOne(store);
      expect(await store.endpoints.delete("default", id, START + 1)).toBe(true);
      expect(await store.endpoints.delete("default", id, START + 1)).toBe(false);
      expect(await dueNow(store, id)).toEqual([]);
      expect([...(await store.deliveries.earliestDue(null, 9)).keys()]).toEqual([other]);
      for (const event of [published[0]!.id, published[1202]!.id, fresh.id]) {
        const view = await store.reads.getEvent(null, event);
        expect(view!.deliveries.map(({ endpoint, status }) => [endpoint, status])).toEqual([
          [id, "cancelled"],
          [other, "pending"],
        ]);
      }
      expect(await store.endpoints.target(id)).toBeNull();
      expect(await store.endpoints.get(null, id)).toBeNull();
      expect((await publishOne(store)).deliveries).toBe(1);
    });
  });
}
