import { describe, expect, it } from "vitest";
import { aStore } from "../sqlite.ts";
import { ApiServer } from "../server.ts";

const WHSEC = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/);
const GIVEN = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

async function anEndpoint() {
  const api = await ApiServer.start(await aStore());
  const registration = { url: "https://example.com/h", events: ["budget.exceeded"] };
  const { body } = await api.post("/v1/webhooks", registration);
  const path = `/v1/webhooks/${body.id}`;
  return { api, id: String(body.id), path, rotation: `${path}/rotate-secret`, secret: String(body.signing_secret) };
}

describe("a secret that the receiver has already", () => {
  const own = { url: "https://example.com/h", events: ["budget.exceeded"], secret: GIVEN };

  it("may come with the registration", async () => {
    const api = await ApiServer.start(await aStore());
    const posted = await api.post("/v1/webhooks", own);
    expect([posted.status, posted.body.signing_secret]).toEqual([201, GIVEN]);
    const put = await api.request("PUT", "/v1/webhooks/uid:crm", { body: JSON.stringify(own) });
    expect([put.status, put.body.signing_secret]).toEqual([201, GIVEN]);
    expect((await api.get(`/v1/webhooks/${put.body.id}/secret`)).body).toEqual({ signing_secret: GIVEN });
  });

  it("does not replace that of an endpoint which exists, so a PUT may be repeated after a rotation", async () => {
    const api = await ApiServer.start(await aStore());
    const { secret: _, ...plain } = own;
    const first = await api.request("PUT", "/v1/webhooks/uid:crm", { body: JSON.stringify(plain) });
    const again = await api.request("PUT", "/v1/webhooks/uid:crm", { body: JSON.stringify(own) });
    expect([again.status, again.body.signing_secret]).toEqual([200, undefined]);
    const { body } = await api.get("/v1/webhooks/uid:crm/secret");
    expect(body).toEqual({ signing_secret: first.body.signing_secret });
  });

  it("needs the scope secrets, as a rotation does", async () => {
    const api = await ApiServer.start(await aStore());
    const key = await api.addKey(["manage"]);
    const body = JSON.stringify(own);
    for (const [method, path] of [
      ["POST", "/v1/webhooks"],
      ["PUT", "/v1/webhooks/uid:crm"],
      ["PUT", "/v1/webhooks/uid:crm?dry_run=true"],
    ] as const)
      expect((await api.request(method, path, { key, body })).body, path).toMatchObject({ code: "forbidden" });
    expect((await api.get("/v1/webhooks")).body.data).toEqual([]);
    const both = await api.addKey(["manage", "secrets"]);
    expect((await api.request("POST", "/v1/webhooks", { key: both, body })).status).toBe(201);
  });

  it.each(["short", "whsk_AAAA", "hunter2hunter2hunter2"])("is refused and not repeated: %j", async (secret) => {
    const api = await ApiServer.start(await aStore());
    const { status, body, text } = await api.post("/v1/webhooks", { ...own, secret });
    expect([status, body.errors[0].pointer, body.errors[0].code]).toEqual([422, "/secret", "invalid_secret"]);
    expect(text).not.toContain(secret);
  });
});

describe("rotating over HTTP", () => {
  it("returns both secrets and when the next one takes over: after a day by default", async () => {
    const { api, path, rotation, secret } = await anEndpoint();
    const { status, body } = await api.request("POST", rotation);
    expect(status).toBe(200);
    expect(body).toEqual({
      signing_secret: secret,
      next_signing_secret: WHSEC,
      switches_at: "2026-11-21T09:55:00.000Z",
    });
    expect(body.next_signing_secret).not.toBe(secret);
    expect((await api.get(`${path}/secret`)).body).toEqual(body);
  });

  it("answers only once the senders have the keys", async () => {
    const { api, id, rotation } = await anEndpoint();
    const gate = Promise.withResolvers<void>();
    let answered = false;
    api.refreshing = (endpoint) => {
      expect(endpoint).toBe(id);
      return gate.promise;
    };
    const answer = api.request("POST", rotation).finally(() => (answered = true));
    // A request on another connection is answered in the meantime.
    await api.get("/v1/webhooks");
    expect(answered).toBe(false);
    gate.resolve();
    expect((await answer).status).toBe(200);
  });

  it("brings a secret along, and switches at once without an overlap", async () => {
    const { api, path, rotation } = await anEndpoint();
    const { body } = await api.post(rotation, { secret: GIVEN, overlap_seconds: 0 });
    expect(body).toEqual({ signing_secret: GIVEN });
    expect((await api.get(`${path}/secret`)).body).toEqual(body);
  });

  it("is done once under an idempotency key, and answered again without a secret being kept for it", async () => {
    const { api, path, rotation } = await anEndpoint();
    const again = (target: string, key: string) => api.request("POST", target, { headers: { "idempotency-key": key } });
    const first = await again(rotation, "one");
    const repeated = await again(rotation, "one");
    expect([repeated.status, repeated.text]).toEqual([200, first.text]);
    expect(repeated.headers["idempotency-replayed"]).toBe("true");
    expect((await again(rotation, "two")).body.code).toBe("rotation_in_progress");
    const completed = await again(`${rotation}/complete`, "three");
    expect(completed.body).toEqual({ signing_secret: first.body.next_signing_secret });
    expect((await again(`${rotation}/complete`, "three")).text).toBe(completed.text);
    expect((await api.get(`${path}/secret`)).text).toBe(completed.text);
  });

  it("does not let a repeated registration show a later secret without the scope", async () => {
    const { api } = await anEndpoint();
    const key = await api.addKey(["manage"]);
    const options = { key, headers: { "idempotency-key": "registration" } };
    const register = () =>
      api.post("/v1/webhooks", { url: "https://example.com/h", events: ["budget.exceeded"] }, options);
    const { body } = await register();
    expect((await register()).body).toEqual(body);
    await api.post(`/v1/webhooks/${body.id}/rotate-secret`, { overlap_seconds: 0 });
    const later = await register();
    expect([later.status, later.body.code]).toEqual([409, "already_created"]);
    expect(later.text).not.toContain("whsec_");
  });

  it("is completed and abandoned", async () => {
    const { api, path, rotation, secret } = await anEndpoint();
    await api.post(rotation, { overlap_seconds: 60 });
    expect(await api.request("DELETE", rotation)).toMatchObject({ status: 204, text: "" });
    expect((await api.get(`${path}/secret`)).body).toEqual({ signing_secret: secret });
    const { body } = await api.post(rotation, { overlap_seconds: 604_800 });
    const done = await api.request("POST", `${rotation}/complete`);
    expect(done).toMatchObject({ status: 200, body: { signing_secret: body.next_signing_secret } });
    expect(done.body.switches_at).toBeUndefined();
  });

  it("refuses a second rotation, and the end of none, and says what to do", async () => {
    const { api, rotation } = await anEndpoint();
    for (const [method, path] of [
      ["DELETE", rotation],
      ["POST", `${rotation}/complete`],
    ] as const) {
      const { status, body } = await api.request(method, path);
      expect([status, body.code]).toEqual([409, "not_rotating"]);
    }
    await api.request("POST", rotation);
    const { status, body } = await api.post(rotation, { overlap_seconds: 0 });
    expect([status, body.code]).toEqual([409, "rotation_in_progress"]);
    expect(body.detail).toMatch(/complete .* or abandon/);
  });

  it.each([
    [{ overlap_seconds: -1 }, "/overlap_seconds out_of_range"],
    [{ overlap_seconds: 604_801 }, "/overlap_seconds out_of_range"],
    [{ overlap_seconds: 1.5 }, "/overlap_seconds invalid_type"],
    [{ secret: "hunter2-canary" }, "/secret invalid_secret"],
    [{ secret: "whsec_hunter2 canary is no base64 at all" }, "/secret invalid_secret"],
    [{ secret: "canarycanarycanary" }, "/secret invalid_secret"],
    [{ secret: `whsec_${"A".repeat(32)}` }, "/secret invalid_secret"],
    [{ secret: null }, "/secret invalid_type"],
    [{ secrets: GIVEN }, "/secrets unknown_field"],
  ])("refuses %j, without repeating a secret", async (given, fault) => {
    const { api, path, rotation, secret } = await anEndpoint();
    const { status, body, text } = await api.post(rotation, given);
    expect(status).toBe(422);
    expect(body.errors.map(({ pointer, code }: any) => `${pointer} ${code}`)).toEqual([fault]);
    expect(text).not.toContain("canary");
    expect((await api.get(`${path}/secret`)).body).toEqual({ signing_secret: secret });
  });

  it("takes scope secrets, of the endpoint's tenant", async () => {
    const { api, path, rotation } = await anEndpoint();
    const calls = [
      ["GET", `${path}/secret`, 200],
      ["POST", rotation, 200],
      ["POST", `${rotation}/complete`, 200],
      ["DELETE", rotation, 409],
    ] as const;
    for (const [method, target, own] of calls) {
      const statusFor = async (key: string) => (await api.request(method, target, { key })).status;
      expect(await statusFor(await api.addKey(["manage", "publish", "metrics"]))).toBe(403);
      expect(await statusFor(await api.addKey(["secrets"], "other"))).toBe(404);
      expect(await statusFor(await api.addKey(["secrets"]))).toBe(own);
    }
    expect((await api.get("/v1/webhooks/ep_00000000000000000000000000/secret")).status).toBe(404);
    expect((await api.get("/v1/webhooks/nonsense/secret")).status).toBe(404);
  });
});
