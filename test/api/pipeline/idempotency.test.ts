import { describe, expect, it } from "vitest";
import { requestFingerprint } from "../../../src/domain/events/idempotency.ts";
import type { Store } from "../../../src/store/store.ts";
import { aConfig, ApiServer, type Answer } from "../server.ts";
import { anEvent, aStore } from "../sqlite.ts";

const EVENTS = "/v1/webhooks/events";
const BATCH = `${EVENTS}/batch`;
const ENDPOINT = { url: "https://example.com/h", events: ["budget.exceeded"] };
const EVERYTHING = { tenant: null, limit: 100, order: "oldest" } as const;

async function serve(settings: Record<string, string> = {}) {
  const api = await ApiServer.start(await aStore(), { config: aConfig(settings) });
  return { api, store: api.store };
}

function event(more: Record<string, unknown> = {}) {
  return { type: "budget.exceeded", data: { a: 1 }, ...more };
}

/** Returns the options of a request with this key. */
function under(key: string, more: { key?: string } = {}) {
  return { headers: { "idempotency-key": key }, ...more };
}

async function countEvents(store: Store): Promise<number> {
  return (await store.reads.listEvents({ ...EVERYTHING, test: undefined })).data.length;
}

const isReplayed = ({ headers }: Answer) => headers["idempotency-replayed"] === "true";

describe("a publish under an idempotency key", () => {
  it("is answered as the first time, and makes nothing", async () => {
    const { api, store } = await serve();
    await api.post("/v1/webhooks", ENDPOINT);
    const first = await api.post(EVENTS, event(), under("k"));
    expect(isReplayed(first)).toBe(false);
    api.clock.advance("1h");
    const again = await api.post(EVENTS, event(), under("k"));
    expect({ status: again.status, text: again.text }).toEqual({ status: 202, text: first.text });
    expect(isReplayed(again)).toBe(true);
    expect(await countEvents(store)).toBe(1);
    expect(api.accepted.flatMap(({ fresh }) => fresh)).toHaveLength(1);
  });

  it("is refused with another body, other than in white space around what it says", async () => {
    const { api, store } = await serve();
    await api.post(EVENTS, event(), under("k"));
    const others = [event({ data: { a: 2 } }), event({ type: "goal.achieved" })];
    for (const other of [...others, event({ created_at: "2026-11-20T09:55:00Z" })]) {
      const { status, body } = await api.post(EVENTS, other, under("k"));
      expect({ status, code: body.code }).toEqual({ status: 422, code: "idempotency_mismatch" });
    }
    expect((await api.post(EVENTS, '{"data":{"a":1}, "type":"budget.exceeded"}', under("k"))).status).toBe(202);
    expect((await api.post(EVENTS, '{"data":{"a": 1},"type":"budget.exceeded"}', under("k"))).status).toBe(422);
    expect(await countEvents(store)).toBe(1);
  });

  it("is new when the key has expired", async () => {
    const { api, store } = await serve({ SERVER_IDEMPOTENCY: "2h" });
    const first = await api.post(EVENTS, event(), under("k"));
    api.clock.advance("119m");
    expect((await api.post(EVENTS, event(), under("k"))).body.id).toBe(first.body.id);
    api.clock.advance("1m");
    expect((await api.post(EVENTS, event(), under("k"))).body.id).not.toBe(first.body.id);
    expect(await countEvents(store)).toBe(2);
  });

  it("keeps its key to its tenant", async () => {
    const { api } = await serve();
    const ids = new Set<string>();
    const acme = await api.addKey(["publish"], "acme");
    ids.add((await api.post(EVENTS, event(), under("k", { key: acme }))).body.id);
    ids.add((await api.post(`${EVENTS}?tenant=acme`, event(), under("k"))).body.id);
    ids.add((await api.post(EVENTS, event({ tenant: "acme" }), under("k"))).body.id);
    expect(ids.size).toBe(1);
    ids.add((await api.post(EVENTS, event(), under("k"))).body.id);
    ids.add((await api.post(EVENTS, event({ tenant: "globex" }), under("k"))).body.id);
    expect(ids.size).toBe(3);
  });

  it("is not remembered when it is refused", async () => {
    const { api } = await serve();
    expect((await api.post(EVENTS, event({ type: "nope" }), under("k"))).status).toBe(422);
    const { status, headers } = await api.post(EVENTS, event(), under("k"));
    expect({ status, replayed: headers["idempotency-replayed"] }).toEqual({ status: 202, replayed: undefined });
  });

  it("takes 1 to 255 visible ASCII characters as a key, on every POST and on nothing else", async () => {
    const { api } = await serve();
    const longest = `!~${"k".repeat(253)}`;
    expect((await api.post(EVENTS, event(), under(longest))).status).toBe(202);
    for (const key of ["", "a b", "\u00e9", `${longest}k`]) {
      for (const path of [EVENTS, BATCH, "/v1/keys"]) {
        const { status, body } = await api.post(path, event(), under(key));
        expect({ status, code: body.errors?.[0].code }).toEqual({ status: 422, code: "invalid_idempotency_key" });
      }
    }
    expect((await api.get(EVENTS, under("a b"))).status).toBe(200);
  });
});

describe("an item of a batch with an idempotency key", () => {
  it("says that it is a duplicate, of the same batch or of an earlier request", async () => {
    const { api, store } = await serve();
    const alone = await api.post(EVENTS, event({ data: { n: 0 } }), under("k0"));
    const [item0, item1] = [0, 1].map((n) => event({ data: { n }, idempotency_key: `k${n}` }));
    const first = await api.post(BATCH, { events: [item0, item1, event(), item1] });
    expect(first.body.data.map(({ duplicate }: { duplicate?: true }) => duplicate)).toEqual([
      true,
      undefined,
      undefined,
      true,
    ]);
    expect(first.body.data[0]).toEqual({ ...alone.body, duplicate: true });
    expect(first.body.data[3]).toEqual({ ...first.body.data[1], duplicate: true });
    const lines = [item1, item0].map((item) => JSON.stringify(item)).join("\n");
    const headers = { "content-type": "application/x-ndjson" };
    const second = await api.post(BATCH, lines, { headers });
    expect(second.body.data).toEqual([first.body.data[3], first.body.data[0]]);
    expect(await countEvents(store)).toBe(3);
  });

  it("is named when its key was used for something else, and nothing is stored", async () => {
    const { api, store } = await serve();
    await api.post(EVENTS, event(), under("used"));
    const bad = event({ data: {}, idempotency_key: "used" });
    const answers = [
      await api.post(BATCH, { events: [event({ idempotency_key: "new" }), bad] }),
      await api.post(BATCH, `{"type":"budget.exceeded","data":{}}\n${JSON.stringify(bad)}`, {
        headers: { "content-type": "application/x-ndjson" },
      }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code, body.errors[0].pointer])).toEqual([
      [422, "idempotency_mismatch", "/events/1/idempotency_key"],
      [422, "idempotency_mismatch", "/events/1/idempotency_key"],
    ]);
    expect(await countEvents(store)).toBe(1);
  });

  it("must have a valid one", async () => {
    const { api } = await serve();
    for (const [idempotency_key, code] of [
      ["", "invalid_idempotency_key"],
      ["a\nb", "invalid_idempotency_key"],
      [7, "invalid_type"],
    ]) {
      const { body } = await api.post(BATCH, { events: [event(), event({ idempotency_key })] });
      expect(body.errors).toMatchObject([{ pointer: "/events/1/idempotency_key", code }]);
    }
    const { body } = await api.post(EVENTS, event({ idempotency_key: "k" }));
    expect(body.errors).toMatchObject([{ pointer: "/idempotency_key", code: "unknown_field" }]);
  });
});

describe("a whole batch under an idempotency key", () => {
  it("is answered as the first time, also by callers at the same time", async () => {
    const { api, store } = await serve();
    const batch = { events: [event(), event({ idempotency_key: "k" }), event({ idempotency_key: "k" })] };
    const answers = await Promise.all(Array.from({ length: 10 }, () => api.post(BATCH, batch, under("k"))));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(202));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(isReplayed)).toHaveLength(9);
    expect(await countEvents(store)).toBe(2);
    const other = await api.post(BATCH, { events: [...batch.events, event()] }, under("k"));
    expect({ status: other.status, code: other.body.code }).toEqual({ status: 422, code: "idempotency_mismatch" });
  });
});

describe("a registration under an idempotency key", () => {
  it("creates one endpoint, and shows its secret only to the key that registered it", async () => {
    const { api, store } = await serve();
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.post("/v1/webhooks", ENDPOINT, under("k"))));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(new Set(answers.map(({ headers }) => headers.location)).size).toBe(1);
    expect(answers.filter(isReplayed)).toHaveLength(19);
    expect(answers[0]!.body.signing_secret).toMatch(/^whsec_/);
    expect((await store.endpoints.list(EVERYTHING)).data).toHaveLength(1);
    expect((await api.post("/v1/webhooks", { ...ENDPOINT, description: "x" }, under("k"))).status).toBe(422);
  });

  it("keeps no secret for the next answer, and shows none to a key that may not read it", async () => {
    const { api, store } = await serve();
    const manage = await api.addKey(["manage"]);
    const first = await api.post("/v1/webhooks", ENDPOINT, under("k", { key: manage }));
    const body = Buffer.from(JSON.stringify(ENDPOINT));
    const request = { tenant: "default", key: "k", fingerprint: requestFingerprint("POST", "/v1/webhooks", body) };
    const kept = await store.idempotency.recall({ ...request, expiresAt: 0 }, api.clock.now());
    expect(kept).toContain(first.body.id);
    expect(kept).not.toContain("whsec_");

    const others = [["manage"], ["manage", "secrets"]] as const;
    const [blind, seeing] = await Promise.all(others.map((scopes) => api.addKey(scopes)));
    expect((await api.post("/v1/webhooks", ENDPOINT, under("k", { key: blind! }))).body.code).toBe("already_created");
    expect((await api.post("/v1/webhooks", ENDPOINT, under("k", { key: seeing! }))).text).toBe(first.text);
    await api.request("DELETE", `/v1/webhooks/${first.body.id}`);
    expect((await api.post("/v1/webhooks", ENDPOINT, under("k", { key: manage }))).body.code).toBe("gone");
  });
});

describe("another POST under an idempotency key", () => {
  it("creates one API key, whose token is not shown again", async () => {
    const { api, store } = await serve();
    const before = (await store.keys.list(EVERYTHING)).data.length;
    expect((await api.post("/v1/keys", { scopes: ["read"] }, under("k"))).status).toBe(201);
    const { status, body } = await api.post("/v1/keys", { scopes: ["read"] }, under("k"));
    expect({ status, code: body.code }).toEqual({ status: 409, code: "already_created" });
    expect((await store.keys.list(EVERYTHING)).data).toHaveLength(before + 1);
  });

  it("retries a failed event once, and keeps none of its data", async () => {
    const { api, store } = await serve();
    await api.post("/v1/webhooks", ENDPOINT);
    const data = Buffer.from('{"card":"4111"}');
    const id = await anEvent(store, api.clock.now(), "failed", { data });
    const path = `${EVENTS}/${id}/retry`;
    const first = await api.post(path, "", under("k"));
    expect(first.body).toMatchObject({ id, status: "pending", left_alone: [] });
    expect((await api.post(path, "")).body.code).toBe("event_not_failed");
    const again = await api.post(path, "", under("k"));
    expect({ status: again.status, text: again.text, replayed: isReplayed(again) }).toEqual({
      status: 202,
      text: first.text,
      replayed: true,
    });
    const request = { tenant: "default", key: "k", fingerprint: requestFingerprint("POST", path, new Uint8Array(0)) };
    expect(await store.idempotency.recall({ ...request, expiresAt: 0 }, api.clock.now())).toBe("[]");
  });

  it("cancels an event once, and keeps nothing that its publisher called it once that is erased", async () => {
    const { api } = await serve();
    await api.post("/v1/webhooks", ENDPOINT);
    const { body } = await api.post(EVENTS, event({ publisher_id: "alice", tags: ["vip"] }));
    const path = `${EVENTS}/${body.id}/cancel`;
    const first = await api.post(path, "", under("k"));
    expect(first.body).toMatchObject({ status: "cancelled", publisher_id: "alice", tags: ["vip"], cancelled: 1 });
    const again = await api.post(path, "", under("k"));
    expect({ status: again.status, text: again.text, replayed: isReplayed(again) }).toEqual({
      status: 200,
      text: first.text,
      replayed: true,
    });
    await api.request("DELETE", `${EVENTS}/${body.id}/data`);
    const erased = await api.post(path, "", under("k"));
    expect(isReplayed(erased)).toBe(true);
    expect(erased.body).toMatchObject({ id: body.id, publisher_id: null, tags: [], cancelled: 1 });
  });

  it("is about the daemon's own tenant as it would be without a key", async () => {
    const { api } = await serve();
    const own = "?tenant=webhookd:alerts";
    const body = { action: "replay", filter: { status: "failed" } };
    const made = await api.post(`/v1/webhooks/jobs${own}`, body, under("k"));
    expect(made).toMatchObject({ status: 202, body: { tenant: "webhookd:alerts" } });
    const again = await api.post(`/v1/webhooks/jobs${own}`, body, under("k"));
    expect({ id: again.body.id, replayed: isReplayed(again) }).toEqual({ id: made.body.id, replayed: true });
    expect((await api.post(`/v1/webhooks${own}`, ENDPOINT, under("other"))).status).toBe(403);
  });

  it("is not remembered when there was nothing to do", async () => {
    const { api, store } = await serve();
    await api.post("/v1/webhooks", ENDPOINT);
    const id = await anEvent(store, api.clock.now(), "delivered");
    expect((await api.post(`${EVENTS}/${id}/retry`, "", under("k"))).body.code).toBe("event_not_failed");
    expect((await api.post(`${EVENTS}/${id}/retry`, '{"force":true}', under("k"))).status).toBe(202);
  });

  it("sends one test event, and belongs to its path", async () => {
    const { api, store } = await serve();
    const [one, other] = await Promise.all([api.post("/v1/webhooks", ENDPOINT), api.post("/v1/webhooks", ENDPOINT)]);
    const tests = Array.from({ length: 5 }, () => api.post(`/v1/webhooks/${one.body.id}/test`, {}, under("k")));
    const answers = await Promise.all(tests);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(isReplayed)).toHaveLength(4);
    expect(await countEvents(store)).toBe(1);
    const elsewhere = await api.post(`/v1/webhooks/${other.body.id}/test`, {}, under("k"));
    expect(elsewhere.body.code).toBe("idempotency_mismatch");
  });

  it("has its answer made anew where it holds a secret", async () => {
    const { api } = await serve();
    const secret = api.routes.filter(({ method, access }) => method === "POST" && access === "secrets");
    expect(secret.length).toBeGreaterThan(0);
    expect(secret.filter(({ again }) => again === undefined).map(({ path }) => path)).toEqual([]);
  });
});
