import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { createRequire } from "node:module";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { WebhookdError } from "../../../src/domain/errors.ts";
import { FakeStore } from "../fake-store.ts";
import { ApiServer, type Answer } from "../server.ts";
import { anEvent, aStore } from "../sqlite.ts";

const PATH = "/v1/audit";
const ENDPOINT = { url: "https://example.com/h", events: ["budget.exceeded"] };

/** npm installs the module on Linux only. */
const canAskKernel = (() => {
  try {
    return createRequire(import.meta.url).resolve(`@koromix/koffi-${process.platform}-${process.arch}`) !== "";
  } catch {
    return false;
  }
})();

async function serve() {
  return ApiServer.start(await aStore());
}

async function log(api: ApiServer, query = ""): Promise<any[]> {
  return (await api.get(`${PATH}?order=oldest${query}`)).body.data;
}

describe("the audit log", () => {
  it("has an entry for every route that changes something or shows a secret, except for publishes", async () => {
    const { routes } = await serve();
    // A key that may only read changes nothing, whatever the method.
    const changing = routes.filter(({ method, access }) =>
      method === "GET" ? access === "secrets" : access !== "publish" && access !== "read",
    );
    expect(changing.filter(({ audit }) => audit === undefined).map(({ method, path }) => `${method} ${path}`)).toEqual(
      [],
    );
    expect(changing.length).toBeGreaterThan(5);
  });

  it("says who did what to whom, and when", async () => {
    const api = await serve();
    const ids: Record<string, string> = {};
    const made = (name: string, { body }: Answer) => (ids[name] = body.id);
    made("endpoint", await api.post("/v1/webhooks", ENDPOINT));
    made("key", await api.post("/v1/keys", { scopes: ["manage"], tenant: "acme" }));
    ids.event = await anEvent(api.store, api.clock.now(), "failed");
    await api.post(`/v1/webhooks/events/${ids.event}/retry`, {});
    await api.post(`/v1/webhooks/${ids.endpoint}/test`, {});
    await api.request("DELETE", `/v1/webhooks/${ids.endpoint}`);
    const revoked = await api.request("DELETE", `/v1/keys/${ids.key}`);
    const entries = await log(api);
    const actor = `key_${api.adminKey.slice(4, 30)}`;
    expect(entries.map(({ action, object, tenant }) => [action, object, tenant])).toEqual([
      ["endpoint.register", ids.endpoint, "default"],
      ["key.create", ids.key, "acme"],
      ["event.retry", ids.event, "default"],
      ["endpoint.test", ids.endpoint, "default"],
      ["endpoint.delete", ids.endpoint, "default"],
      ["key.revoke", ids.key, "acme"],
    ]);
    expect(entries.at(-1)).toEqual({
      at: "2026-11-20T09:55:00.000Z",
      actor,
      uid: null,
      user: null,
      tenant: "acme",
      action: "key.revoke",
      object: ids.key,
      request_id: revoked.headers["x-request-id"],
      count: 1,
      last_at: "2026-11-20T09:55:00.000Z",
      outcome: "ok",
    });
  });

  it("distinguishes disabling an endpoint from changing it", async () => {
    const api = await serve();
    const { body } = await api.post("/v1/webhooks", ENDPOINT);
    for (const patch of [{ description: "x" }, { enabled: false }, { enabled: true }])
      await api.request("PATCH", `/v1/webhooks/${body.id}`, { body: JSON.stringify(patch) });
    const actions = (await log(api)).map(({ action }) => action);
    expect(actions.slice(1)).toEqual(["endpoint.update", "endpoint.disable", "endpoint.enable"]);
  });

  it("knows what was refused, and why", async () => {
    const api = await serve();
    const reader = await api.addKey(["read"], "acme");
    const unknown = "/v1/webhooks/ep_00000000000000000000000000";
    await api.request("DELETE", unknown);
    await api.request("DELETE", unknown, { key: reader });
    await api.post("/v1/webhooks", { url: "ftp://x" });
    await api.request("POST", "/v1/webhooks", { body: "x", headers: { "content-type": "text/plain" } });
    await api.request("DELETE", unknown, { key: null });
    await api.request("DELETE", "/v1/webhooks/%3Cscript%3E");
    expect((await log(api)).map(({ tenant, object, outcome }) => [tenant, object, outcome])).toEqual([
      ["*", "ep_00000000000000000000000000", "not_found"],
      ["acme", "ep_00000000000000000000000000", "forbidden"],
      ["*", null, "validation_failed"],
      ["*", null, "unsupported_media_type"],
      ["*", null, "not_found"],
    ]);
  });

  it("has three entries a minute for refusals of one key and kind, the third of which counts the others", async () => {
    const api = await serve();
    const probe = await api.addKey(["metrics"], "*");
    const refuse = async (count: number, path: string, method = "POST") => {
      for (let done = 0; done < count; done++) {
        expect((await api.request(method, path, { key: probe })).status).toBe(403);
      }
    };
    await refuse(100, "/v1/pause");
    for (let object = 0; object < 100; object++)
      await refuse(1, `/v1/webhooks/ep_${String(object).padStart(26, "0")}`, "DELETE");
    const outcomes = (await log(api)).map(({ action, outcome }) => [action, outcome]);
    expect(outcomes).toEqual([
      ...Array.from({ length: 3 }, () => ["daemon.pause", "forbidden"]),
      ...Array.from({ length: 3 }, () => ["endpoint.delete", "forbidden"]),
    ]);
    // Refusals of another key and calls that succeed get entries of their own.
    await api.request("POST", "/v1/pause", { key: await api.addKey(["metrics"], "*") });
    await api.post("/v1/pause", { reason: "a test" });
    expect((await log(api)).slice(6).map(({ outcome }) => outcome)).toEqual(["forbidden", "ok"]);
    api.clock.advance("1m");
    await refuse(1, "/v1/pause");
    const counts = async () => (await log(api)).map(({ count }) => count);
    await expect.poll(counts).toEqual([1, 1, 98, 1, 1, 98, 1, 1, 1]);
  });

  it("distinguishes a repeated request from the one that took effect", async () => {
    const api = await serve();
    const options = { headers: { "idempotency-key": "once" } };
    const { id } = (await api.post("/v1/webhooks", ENDPOINT, options)).body;
    expect((await api.post("/v1/webhooks", ENDPOINT, options)).body.id).toBe(id);
    expect((await log(api)).map(({ object, outcome }) => [object, outcome])).toEqual([
      [id, "ok"],
      [id, "repeated"],
    ]);
  });

  it("has no entry for a publish or a look, and no secret in any", async () => {
    const api = await serve();
    const { body } = await api.post("/v1/webhooks", { ...ENDPOINT, headers: { "x-token": "hunter2" } });
    await api.post("/v1/webhooks/events", { type: "goal.achieved", data: { iban: "DE00" } });
    await api.get(`/v1/webhooks/${body.id}`);
    const { text } = await api.get(PATH);
    expect(JSON.parse(text).data).toHaveLength(1);
    expect(text).not.toMatch(/hunter2|DE00|whsec|example\.com/);
  });

  it("records a caller over the unix socket as such", async () => {
    const fake = new FakeStore();
    const dir = mkdtempSync(join(tmpdir(), "webhookd-audit-"));
    await ApiServer.start(fake.asStore(), { socket: join(dir, "s.sock") });
    await new Promise((resolve, reject) => {
      const path = "/v1/webhooks/ep_00000000000000000000000000/test";
      const req = request({ socketPath: join(dir, "s.sock"), path, method: "POST" }, (res) => resolve(res.resume()));
      req.on("error", reject).end();
    });
    expect(fake.audited).toMatchObject([{ actor: "socket", tenant: null, outcome: "internal" }]);
    rmSync(dir, { recursive: true });
  });

  it.skipIf(!canAskKernel)("says which user came by the unix socket, as the kernel knows it", async () => {
    const dir = mkdtempSync(join(tmpdir(), "webhookd-audit-"));
    const socket = join(dir, "s.sock");
    const api = await ApiServer.start(await aStore(), { socket });
    for (const path of [dir, socket]) chmodSync(path, 0o777);
    const call = `require("node:http").request({ socketPath: process.argv[1], path: "/v1/resume", method: "POST" }).end()`;
    const { uid: own, username } = userInfo();
    // Only root can act as another user.
    const users = own === 0 ? [own, 65_534] : [own];
    for (const uid of users) await promisify(execFile)(process.execPath, ["-e", call, socket], { uid, cwd: "/" });
    await api.request("POST", "/v1/resume");
    const entries = (await log(api)).map(({ actor, uid, user }) => [actor.split("_")[0], uid, user]);
    const nobody = own === 0 ? [["socket", 65_534, "nobody"]] : [];
    expect(entries).toEqual([["socket", own, username], ...nobody, ["key", null, null]]);
    rmSync(dir, { recursive: true });
  });

  it("is filtered by action and time, in pages", async () => {
    const api = await serve();
    const { id } = (await api.post("/v1/keys", { scopes: ["read"] })).body;
    api.clock.advance("1m");
    await api.request("DELETE", `/v1/keys/${id}`);
    expect(await log(api, "&action=key.revoke")).toMatchObject([{ action: "key.revoke" }]);
    const [revoked] = await log(api, "&action=key.revoke");
    const about = await log(api, `&object=${revoked!.object}`);
    expect(about.map(({ action }: { action: string }) => action)).toContain("key.revoke");
    expect(about.filter(({ object }: { object: string }) => object !== revoked!.object)).toEqual([]);
    expect(await log(api, "&object=key_00000000000000000000000000")).toEqual([]);
    expect(await log(api, "&until=2026-11-20T09:56:00Z")).toMatchObject([{ action: "key.create" }]);
    expect(await log(api, "&since=2026-11-20T09:56:00Z")).toMatchObject([{ action: "key.revoke" }]);
    const first = await api.get(`${PATH}?limit=1`);
    expect(first.body.data).toMatchObject([{ action: "key.revoke" }]);
    const second = await api.get(/<(.*)>/.exec(String(first.headers.link))![1]!);
    expect(second.body).toMatchObject({ data: [{ action: "key.create" }], next_cursor: null });
    expect((await api.get(`${PATH}?action=key.steal`)).body.code).toBe("invalid_query");
  });

  it("shows an admin of one tenant that tenant's entries alone, and nobody else any", async () => {
    const api = await serve();
    const acme = await api.addKey(["admin"], "acme");
    await api.post("/v1/webhooks", ENDPOINT);
    const { id } = (await api.post("/v1/webhooks?tenant=acme", ENDPOINT)).body;
    await api.request("DELETE", `/v1/webhooks/${id}`, { key: acme });
    expect((await api.get(PATH, { key: acme })).body.data).toMatchObject([
      { action: "endpoint.delete", actor: `key_${acme.slice(4, 30)}` },
      { action: "endpoint.register", object: id },
    ]);
    expect(await log(api, "&tenant=acme")).toHaveLength(2);
    expect((await api.get(PATH, { key: await api.addKey(["manage"]) })).status).toBe(403);
  });

  it("comes before the answer: what cannot be written down is not answered", async () => {
    const fake = new FakeStore();
    const full = () => Promise.reject(new WebhookdError("storage_full", "no space left"));
    const store = Object.assign(fake.asStore(), { audit: { add: full } });
    const api = await ApiServer.start(store);
    const made = await api.post("/v1/keys", { scopes: ["admin"] });
    expect({ status: made.status, code: made.body.code }).toEqual({ status: 507, code: "storage_full" });
    expect(made.text).not.toMatch(/whk_/);
    expect((await api.post("/v1/keys", {})).body.code).toBe("validation_failed");
    expect(api.logged.filter(({ level }) => level === "warn")).toMatchObject([{ fields: { action: "key.create" } }]);
  });
});
