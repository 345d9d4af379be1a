import { createPublicKey, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { AsymmetricVerifyingKey, jwkOf } from "../../../src/domain/endpoints/asymmetric.ts";
import { isDamaged } from "../../../src/domain/endpoints/endpoint.ts";
import { AsymmetricSigningKey } from "../../../src/domain/endpoints/asymmetric.ts";
import { ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const PATH = "/v1/webhooks";
const KEYS = `${PATH}/keys`;
const SET = `${KEYS}/jwks.json`;
const ROTATION = `${KEYS}/rotate`;
const ENDPOINT = { url: "https://example.com/h", events: ["budget.exceeded"] };
const WHPK = expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/);
const NO_KEY = { public_key: null, published: false };

async function started() {
  const store = await aStore();
  const api = await ApiServer.start(store);
  const register = async (signatures: readonly string[], tenant = "default") =>
    (await api.post(`${PATH}?tenant=${tenant}`, { ...ENDPOINT, signatures })).body;
  /** Returns a signature by each key that signs for the endpoint now. */
  const signatures = async (id: string) => {
    const target = (await store.endpoints.target(id))!;
    if (isDamaged(target)) throw new Error(target.damaged.reason);
    return target.privateKeys.map((key) => new AsymmetricSigningKey(key).signStandard("evt_1", 1, "{}"));
  };
  return { api, store, register, signatures };
}

const verifies = (publicKey: string, signature: string) =>
  new AsymmetricVerifyingKey(publicKey).verifyStandard("evt_1", 1, "{}", signature);

describe("signatures of an endpoint", () => {
  it("are HMAC by default, and can be changed and reset", async () => {
    const { api } = await started();
    const { body } = await api.post(PATH, ENDPOINT);
    expect(body.signatures).toEqual(["hmac"]);
    const patch = (signatures: unknown) =>
      api.request("PATCH", `${PATH}/${body.id}`, { body: JSON.stringify({ signatures }) });
    expect((await patch(["hmac", "ed25519"])).body.signatures).toEqual(["hmac", "ed25519"]);
    expect((await patch(null)).body.signatures).toEqual(["hmac"]);
    for (const wrong of [[], ["hmac", "hmac"], ["rsa"], "hmac"]) {
      const { status, body: problem } = await patch(wrong);
      expect([status, problem.errors[0].pointer]).toEqual([422, expect.stringMatching(/^\/signatures/)]);
    }
  });
});

describe("a tenant's keys", () => {
  it("are made by the first endpoint that chooses ed25519, and shown as what verifies", async () => {
    const { api, register, signatures } = await started();
    expect((await api.get(KEYS)).body).toEqual(NO_KEY);
    await register(["hmac"]);
    expect((await api.get(KEYS)).body).toEqual(NO_KEY);
    const { id } = await register(["hmac", "ed25519"]);
    const { body } = await api.get(KEYS);
    expect(body).toEqual({ public_key: WHPK, published: false });
    const [signature] = await signatures(id);
    expect(verifies(body.public_key, signature!)).toBe(true);
    await register(["ed25519"], "acme");
    const other = (await api.get(`${KEYS}?tenant=acme`)).body;
    expect(verifies(other.public_key, signature!)).toBe(false);
  });

  it("rotate with an overlap in which both sign, and once under an idempotency key", async () => {
    const { api, register, signatures } = await started();
    const { id } = await register(["ed25519"]);
    const { public_key: old } = (await api.get(KEYS)).body;
    const refreshed: string[] = [];
    api.refreshing = async (endpoint) => void refreshed.push(endpoint);
    const under = { headers: { "idempotency-key": "one" } };
    const first = await api.post(ROTATION, { overlap_seconds: 60 }, under);
    expect(first.body).toEqual({
      public_key: old,
      next_public_key: WHPK,
      switches_at: "2026-11-20T09:56:00.000Z",
      published: false,
    });
    expect(refreshed).toEqual([id]);
    const again = await api.post(ROTATION, { overlap_seconds: 60 }, under);
    expect([again.text, again.headers["idempotency-replayed"]]).toEqual([first.text, "true"]);
    const next = first.body.next_public_key;
    const both = await signatures(id);
    expect([old, next].map((key) => both.map((one) => verifies(key, one)))).toEqual([
      [true, false],
      [false, true],
    ]);
    expect((await api.post(ROTATION, {})).body.code).toBe("rotation_in_progress");
    const done = await api.request("POST", `${ROTATION}/complete`);
    expect(done.body).toEqual({ public_key: next, published: false });
    expect(await signatures(id)).toEqual([both[1]]);
    expect((await api.request("DELETE", ROTATION)).body.code).toBe("not_rotating");
    await api.post(ROTATION, {});
    expect((await api.request("DELETE", ROTATION)).body).toEqual(done.body);
    const { body } = await api.post(ROTATION, { overlap_seconds: 0 });
    expect(body).toEqual({ public_key: WHPK, published: false });
    expect(body.public_key).not.toBe(next);
  });

  it("are shown to anyone only once they are published, as a JSON Web Key Set", async () => {
    const { api, register, signatures } = await started();
    const open = { key: null };
    const hidden = await api.get(`${SET}?tenant=acme`, open);
    const { id } = await register(["ed25519"], "acme");
    expect((await api.get(`${SET}?tenant=acme`, open)).body.detail).toBe(hidden.body.detail);
    expect(hidden.status).toBe(404);
    expect((await api.request("PATCH", KEYS, { body: '{"published":true}' })).status).toBe(404);
    const patched = await api.request("PATCH", `${KEYS}?tenant=acme`, { body: '{"published":true}' });
    expect(patched.body).toEqual({ public_key: WHPK, published: true });
    const { next_public_key } = (await api.post(`${ROTATION}?tenant=acme`, {})).body;
    const { status, body, headers, text } = await api.get(`${SET}?tenant=acme`, open);
    expect([status, headers["cache-control"]]).toEqual([200, "public, max-age=300"]);
    expect(body).toEqual({ keys: [patched.body.public_key, next_public_key].map(jwkOf) });
    expect(text).not.toContain("whsk_");
    const [signature] = await signatures(id);
    const key = createPublicKey({ key: body.keys[0], format: "jwk" });
    const bytes = Buffer.from(signature!.slice("v1a,".length), "base64");
    expect(verify(null, Buffer.from("evt_1.1.{}"), key, bytes)).toBe(true);
    await api.request("PATCH", `${KEYS}?tenant=acme`, { body: '{"published":false}' });
    expect((await api.get(`${SET}?tenant=acme`, open)).status).toBe(404);
    expect((await api.get(SET, open)).status).toBe(404);
  });

  it("need the scopes that secrets need, and each act is in the audit log", async () => {
    const { api, register } = await started();
    await register(["ed25519"]);
    const [read, manage] = [await api.addKey(["read"]), await api.addKey(["manage"])];
    expect((await api.get(KEYS, { key: read })).status).toBe(200);
    expect((await api.post(ROTATION, {}, { key: manage })).status).toBe(403);
    expect((await api.request("PATCH", KEYS, { body: '{"published":true}', key: read })).status).toBe(403);
    await api.post(ROTATION, {});
    await api.request("POST", `${ROTATION}/complete`);
    await api.request("PATCH", KEYS, { body: '{"published":true}' });
    const { body } = await api.get("/v1/audit?limit=3");
    expect(body.data.map(({ action, tenant, object }: Record<string, unknown>) => [action, tenant, object])).toEqual([
      ["signing_key.publish", "default", null],
      ["signing_key.complete", "default", null],
      ["signing_key.rotate", "default", null],
    ]);
  });
});
