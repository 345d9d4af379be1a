import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { testConfig } from "../../harness/daemon.ts";
import { caFile, clientAuth, tlsFile } from "../../harness/tls.ts";
import { ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const PATH = "/v1/webhooks";
const NEEDED = { url: "https://example.com/h", events: ["budget.exceeded"] };
const BASIC = { type: "basic", username: "me", password: "hushhush" };
const BEARER = { type: "bearer", token: "hushhush" };
const OAUTH2 = {
  type: "oauth2",
  token_url: "https://login.example.com/token",
  client_id: "me",
  client_secret: "hushhush",
  scope: null,
  audience: null,
  client_auth: "basic",
};
const MTLS = clientAuth("client");
const OTHER_KEY = readFileSync(tlsFile("leaf.key"), "utf8");
/** OpenSSL reads such a certificate, because it does not look at the date. */
const DATELESS = altered(MTLS.certificate, /(?<=Z\x18\x0f\d{4})\d\d/, "13");

/** Changes bytes of a certificate. */
function altered(pem: string, found: RegExp, bytes: string): string {
  const der = Buffer.from(pem.replaceAll(/-----.*-----|\s/g, ""), "base64").toString("latin1");
  if (!found.test(der)) throw new Error("there are no such bytes");
  const text = Buffer.from(der.replace(found, bytes), "latin1").toString("base64").replaceAll(/.{64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
}

let api: ApiServer;

beforeAll(async () => {
  api = await ApiServer.start(await aStore(), { config: testConfig("/nonexistent", { dev: false }) });
});

const post = (more: object) => api.post(PATH, { ...NEEDED, ...more });

async function send(method: string, id: string, body: object, key?: string) {
  return api.request(method, `${PATH}/${id}`, { body: JSON.stringify(body), ...(key !== undefined && { key }) });
}

describe("auth of an endpoint", () => {
  it("is shown without its secrets, and survives being put back as it was read", async () => {
    for (const [auth, shown] of [
      [BASIC, { ...BASIC, password: "***" }],
      [BEARER, { ...BEARER, token: "***" }],
      [OAUTH2, { ...OAUTH2, client_secret: "***" }],
      [MTLS, { type: "mtls", certificate: "***", key: "***", subject: "CN=client" }],
    ] as const) {
      const { id } = (await post({ auth, headers: { "x-own": "1" } })).body;
      const read = (await api.get(`${PATH}/${id}`)).body;
      expect(read.auth).toMatchObject(shown);
      expect((await send("PUT", id, read)).body).toMatchObject({ auth: shown });
      expect((await send("PATCH", id, { auth: read.auth })).status).toBe(200);
      expect(await api.store.endpoints.target(id)).toMatchObject({
        auth: auth.type === "oauth2" ? { clientSecret: "hushhush" } : auth,
      });
      // Another kind has no secret to keep, and a replacement without auth has none.
      const bare = auth.type === "bearer" ? { ...BASIC, password: "***" } : { type: "bearer", token: "***" };
      const fault = { code: "invalid_secret", pointer: expect.stringMatching(/^\/auth\//) };
      expect((await send("PATCH", id, { auth: bare })).body).toMatchObject({ errors: [fault] });
      expect((await send("PUT", id, NEEDED)).body).toMatchObject({ auth: null });
    }
  });

  it("keeps the secret while another part of it changes", async () => {
    const { id } = (await post({ auth: OAUTH2 })).body;
    await send("PATCH", id, { auth: { ...OAUTH2, client_secret: "***", scope: "hooks", client_auth: "body" } });
    expect(await api.store.endpoints.target(id)).toMatchObject({
      auth: { clientSecret: "hushhush", scope: "hooks", clientAuth: "body" },
    });
  });

  it.each([
    [{ auth: { type: "digest" } }, "/auth/type", "invalid_type"],
    [{ auth: { type: "basic", username: "me" } }, "/auth/password", "missing_field"],
    [{ auth: { ...BASIC, username: "a:b" } }, "/auth/username", "forbidden_char"],
    [{ auth: { ...BASIC, password: "hushhush\n" } }, "/auth/password", "forbidden_char"],
    [{ auth: { ...BEARER, token: "hushhush\r\nx: y" } }, "/auth/token", "forbidden_char"],
    [{ auth: { ...BEARER, token: "***" } }, "/auth/token", "invalid_secret"],
    [{ auth: { ...OAUTH2, token_url: "https://10.0.0.1/token" } }, "/auth/token_url", "address_not_public"],
    [{ auth: { ...OAUTH2, token_url: "http://login.example.com/token" } }, "/auth/token_url", "url_scheme"],
    [{ auth: { ...OAUTH2, more: "hushhush" } }, "/auth/more", "unknown_field"],
    [{ auth: { ...MTLS, certificate: "hushhush" } }, "/auth/certificate", "invalid_certificate"],
    [{ auth: { ...MTLS, certificate: DATELESS } }, "/auth/certificate", "invalid_certificate"],
    [{ auth: { ...MTLS, key: "hushhush" } }, "/auth/key", "invalid_certificate"],
    [{ auth: { ...MTLS, key: OTHER_KEY } }, "/auth/key", "invalid_certificate"],
    [{ ca: "hushhush" }, "/ca", "invalid_certificate"],
    [{ ca: `${MTLS.certificate}${OTHER_KEY.replace("-----\n", "-----\nhushhush")}` }, "/ca", "invalid_certificate"],
    [{ auth: BASIC, headers: { Authorization: "x" } }, "/headers/Authorization", "conflicting_fields"],
    [{ auth: OAUTH2, headers: { authorization: "x" } }, "/headers/authorization", "conflicting_fields"],
  ])("is refused in a registration, a change and a replacement: %j", async (more, pointer, code) => {
    const { id } = (await post({})).body;
    const all = [await post(more), await send("PATCH", id, more), await send("PUT", id, { ...NEEDED, ...more })];
    for (const { status, body, text } of all) {
      expect([status, body.errors]).toMatchObject([422, [{ pointer, code }]]);
      expect(text).not.toContain("hushhush");
    }
    expect((await api.get(`${PATH}/${id}`)).body).toMatchObject({ auth: null, ca: null, headers: {} });
  });

  it("goes with an own authorization header only if it is a client certificate", async () => {
    const headers = { authorization: "x" };
    expect((await post({ auth: MTLS, headers })).status).toBe(201);
    const { id } = (await post({ auth: BEARER })).body;
    expect((await send("PATCH", id, { headers })).body).toMatchObject({ errors: [{ code: "conflicting_fields" }] });
    expect((await send("PATCH", id, { headers, auth: null })).status).toBe(200);
  });

  it("is never sent in the clear, except with --dev", async () => {
    const config = testConfig("/nonexistent", { dev: false, settings: { EGRESS_ALLOW_HTTP: "true" } });
    const plain = await ApiServer.start(await aStore(), { config });
    const url = "http://example.com/h";
    const ca = readFileSync(caFile, "utf8");
    const refused = { errors: [{ code: "conflicting_fields", pointer: "/auth" }] };
    expect((await plain.post(PATH, { ...NEEDED, url, auth: BASIC })).body).toMatchObject(refused);
    expect((await plain.post(PATH, { ...NEEDED, url, ca })).body).toMatchObject({ errors: [{ pointer: "/ca" }] });
    const { id } = (await plain.post(PATH, { ...NEEDED, auth: BASIC })).body;
    const moved = await plain.request("PATCH", `${PATH}/${id}`, { body: JSON.stringify({ url }) });
    expect(moved.body).toMatchObject(refused);
    const token_url = "http://login.example.com/token";
    expect((await plain.post(PATH, { ...NEEDED, auth: { ...OAUTH2, token_url } })).body).toMatchObject({
      errors: [{ code: "url_scheme", pointer: "/auth/token_url" }],
    });
    // Customers of a portal link hear nothing of settings that they cannot change.
    const portal = { madeBy: null, endpoints: null, returnUrl: null };
    const link = await plain.addKey(["read", "manage", "secrets"], "default", { portal });
    const asked = [
      { ...NEEDED, url, auth: BASIC },
      { ...NEEDED, auth: { ...OAUTH2, token_url } },
    ];
    for (const body of asked) {
      const { status, text } = await plain.request("POST", PATH, { body: JSON.stringify(body), key: link });
      expect([status, text.includes("--dev")]).toEqual([422, false]);
      expect((await plain.post(PATH, body)).text).toContain("--dev");
    }
    const dev = await ApiServer.start(await aStore(), { config: testConfig("/nonexistent", { dev: true }) });
    expect((await dev.post(PATH, { ...NEEDED, url, auth: { ...OAUTH2, token_url } })).status).toBe(201);
    expect((await dev.post(PATH, { ...NEEDED, url, auth: MTLS })).body).toMatchObject(refused);
  });

  it("is set, and moved to another host, only with the scope secrets; anyone who manages may remove it", async () => {
    const key = await api.addKey(["manage"]);
    const { id } = (await post({ auth: OAUTH2 })).body;
    const status = async (body: object) => (await send("PATCH", id, body, key)).status;
    const kept = { ...OAUTH2, client_secret: "***" };
    expect(await status({ auth: BEARER })).toBe(403);
    expect(await status({ auth: { ...kept, token_url: "https://evil.example.com/" } })).toBe(403);
    expect(await status({ url: "https://other.example.com/" })).toBe(403);
    // Whoever chooses the authorities can stand in for the host.
    expect(await status({ ca: readFileSync(caFile, "utf8") })).toBe(403);
    expect(await status({ auth: kept, description: "d" })).toBe(200);
    const read = (await api.get(`${PATH}/${id}`)).body;
    expect((await send("PUT", id, read, key)).status).toBe(200);
    expect((await send("PUT", id, { ...read, auth: BASIC }, key)).status).toBe(403);
    expect(await status({ auth: null, url: "https://other.example.com/" })).toBe(200);
    const registered = await api.request("POST", PATH, { body: JSON.stringify({ ...NEEDED, auth: BASIC }), key });
    expect(registered.status).toBe(403);
  });

  it("does not stand in the way of another change, once its endpoint would be refused", async () => {
    const store = await aStore();
    const dev = await ApiServer.start(store, { config: testConfig("/nonexistent", { dev: true }) });
    const url = "http://example.com/h";
    const { id } = (await dev.post(PATH, { ...NEEDED, url, auth: BASIC })).body;
    const settings = { EGRESS_ALLOW_HTTP: "true" };
    const strict = await ApiServer.start(store, { config: testConfig("/nonexistent", { dev: false, settings }) });
    const change = async (body: object) => strict.request("PATCH", `${PATH}/${id}`, { body: JSON.stringify(body) });
    expect((await change({ enabled: false, description: "d" })).status).toBe(200);
    expect((await change({ auth: { ...BASIC, username: "other" } })).body).toMatchObject({
      errors: [{ code: "conflicting_fields", pointer: "/auth" }],
    });
    const read = (await strict.get(`${PATH}/${id}`)).body;
    expect((await strict.request("PUT", `${PATH}/${id}`, { body: JSON.stringify(read) })).status).toBe(200);
  });

  it("is warned of before and after the certificate expires, in the status", async () => {
    const { id } = (await post({ auth: clientAuth("client-expired") })).body;
    const { client_certificates: all } = (await api.get("/v1/status")).body;
    expect(all).toEqual([{ endpoint: id, not_after: "2020-02-01T00:00:00.000Z" }]);
  });
});
