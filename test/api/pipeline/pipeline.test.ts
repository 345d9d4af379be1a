import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { Config } from "../../../src/config.ts";
import { isId } from "../../../src/domain/id.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer, send, sendRaw } from "../server.ts";

const EVENT = { type: "budget.exceeded", data: { a: 1 } };
const EVENTS = "/v1/webhooks/events";
const FOREIGN = { host: "evil.example", origin: "https://evil.example" };

async function serve(settings: Record<string, string> = {}, more: Partial<Config> = {}) {
  const fake = new FakeStore();
  const config = { ...aConfig(settings), ...more };
  return { fake, api: await ApiServer.start(fake.asStore(), { config }) };
}

describe("every answer", () => {
  it("carries a request id of ours, whatever the client sent", async () => {
    const { api } = await serve();
    const { headers } = await api.get("/healthz", { headers: { "x-request-id": "mine" } });
    expect(isId("req", String(headers["x-request-id"]))).toBe(true);
  });

  it("is a problem document when it is an error", async () => {
    const { api } = await serve();
    const { status, headers, body } = await api.get("/nope");
    expect(status).toBe(404);
    expect(headers["content-type"]).toBe("application/problem+json");
    expect(body).toEqual({
      type: "urn:webhookd:problem:not_found",
      title: "Not found",
      status: 404,
      detail: expect.any(String),
      code: "not_found",
      retryable: false,
      request_id: headers["x-request-id"],
    });
  });

  it("to HEAD has the headers that GET would get, its length too, and no body", async () => {
    const { api } = await serve();
    for (const path of ["/healthz", "/v1/webhooks/event-types", "/nope"]) {
      const get = await api.get(path);
      const head = await api.request("HEAD", path);
      expect(head).toMatchObject({ status: get.status, text: "" });
      const own = { "x-request-id": expect.any(String), date: expect.any(String) };
      expect(head.headers).toEqual({ ...get.headers, ...own });
    }
  });

  it("says nothing about an exception, which is logged in one line under the request id", async () => {
    const { api, fake } = await serve();
    fake.publishing = () => Promise.reject(new Error("SELECT secret FROM /var/lib"));
    const { status, body, text } = await api.post(EVENTS, EVENT);
    expect({ status, code: body.code }).toEqual({ status: 500, code: "internal" });
    expect(text).not.toMatch(/SELECT|secret|\/var|at /);
    const [line] = api.logged.filter(({ level }) => level === "error");
    const error = "Error: SELECT secret FROM /var/lib";
    expect(line!.fields).toEqual({ request_id: body.request_id, client: "127.0.0.1", error });
  });
});

describe("a body that comes in chunks", () => {
  it("needs no content type when it turns out to be empty", async () => {
    const { api } = await serve();
    expect((await api.request("GET", "/v1/webhooks/event-types", { chunked: true })).status).toBe(200);
    expect((await api.request("POST", EVENTS, { chunked: true })).body.code).toBe("invalid_json");
  });

  it("needs one with its first byte, whatever its size", async () => {
    const { api } = await serve();
    const headers = { "content-type": "text/plain" };
    for (const body of ["x", "x".repeat(300_000)]) {
      expect((await api.request("POST", EVENTS, { chunked: true, body, headers })).status).toBe(415);
    }
  });
});

describe("the order of checks", () => {
  // Each request has the faults of all the later ones too, so only the first may be named.
  it("names a doubled Host before a foreign one", async () => {
    const { api } = await serve();
    const text = "GET /nope HTTP/1.1\r\nhost: evil.example\r\nHost: 127.0.0.1\r\norigin: https://evil.example\r\n\r\n";
    expect(await sendRaw(api.port, text, (answer) => answer.includes("\r\n\r\n{"))).toMatch(
      /^HTTP\/1.1 400 [^]*bad_request/,
    );
  });

  it("names a foreign Host before an Origin", async () => {
    const { api } = await serve();
    expect((await send(api.port, "GET", "/nope", FOREIGN)).body.code).toBe("misdirected");
  });

  it("names an Origin before a missing key", async () => {
    const { api } = await serve();
    expect((await send(api.port, "GET", "/nope", { origin: "https://evil.example" })).body.code).toBe("browser_origin");
  });

  it("asks for a key before it says that there is no such path", async () => {
    const { api } = await serve();
    const { status, headers } = await api.get("/nope", { key: null });
    expect({ status, asks: headers["www-authenticate"] }).toEqual({ status: 401, asks: "Bearer" });
  });

  it("says that it stops before it routes", async () => {
    const { api } = await serve();
    api.phase = "stopped";
    const { status, headers, body } = await api.get("/nope");
    expect({ status, code: body.code }).toEqual({ status: 503, code: "shutting_down" });
    expect(headers).toMatchObject({ "retry-after": "5", connection: "close" });
    expect((await api.get("/nope", { key: null })).status).toBe(401);
  });

  it("knows the methods of a path before it asks for a scope", async () => {
    const { api } = await serve();
    const key = await api.addKey(["publish"]);
    const { status, headers } = await api.request("PUT", EVENTS, { key, body: "x" });
    expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: "POST, GET, HEAD" });
  });

  it("asks for a scope before it looks at the body", async () => {
    const { api } = await serve();
    const key = await api.addKey(["read"]);
    const headers = { "content-type": "text/plain" };
    expect((await api.request("POST", EVENTS, { key, body: "x", headers })).body.code).toBe("forbidden");
  });

  it("asks for JSON before it looks at the size, and at the size before the text", async () => {
    const { api } = await serve();
    const body = "x".repeat(300_000);
    const headers = { "content-type": "text/plain" };
    expect((await api.request("POST", EVENTS, { body, headers })).body.code).toBe("unsupported_media_type");
    expect((await api.request("POST", EVENTS, { body })).body.code).toBe("payload_too_large");
  });
});

describe("Host and Origin", () => {
  it.each(["localhost", "127.0.0.1", "LOCALHOST:1", "[::1]:8420", "hooks.example"])("take %s", async (host) => {
    const { api } = await serve({ SERVER_ALLOWED_HOSTS: "hooks.example" });
    expect((await send(api.port, "GET", "/healthz", { host })).status).toBe(200);
  });

  it.each(["evil.example", "localhost.evil.example", "127.0.0.1.evil.example"])("refuse %j", async (host) => {
    const { api } = await serve();
    expect((await send(api.port, "GET", "/healthz", { host })).status).toBe(421);
  });

  it("look at the authority of an absolute target, because it replaces Host", async () => {
    const { api } = await serve();
    const answer = await send(api.port, "GET", "http://evil.example/healthz", { host: "localhost" });
    expect(answer.status).toBe(421);
  });

  it("let a configured Origin in", async () => {
    const { api } = await serve({ SERVER_ALLOWED_ORIGINS: "https://ops.example" });
    expect((await api.get("/healthz", { headers: { origin: "https://ops.example" } })).status).toBe(200);
    expect((await api.get("/healthz", { headers: { origin: "null" } })).status).toBe(403);
  });
});

describe("keys", () => {
  it("are refused when revoked, expired, cut or of another secret, with one text", async () => {
    const { api, fake } = await serve();
    const expired = await api.addKey(["admin"], "*", { expiresAt: api.clock.now() });
    const revoked = await api.addKey(["admin"], "*");
    await fake.asStore().keys.revoke([...fake.keys.keys()].at(-1)!, api.clock.now());
    const other = await api.addKey(["admin"], "*");
    const mixed = api.adminKey.slice(0, 31) + other.slice(31);
    const details = new Set<string>();
    for (const key of [expired, revoked, mixed, api.adminKey.slice(0, -1), `${api.adminKey}0`, "x"]) {
      const { status, body } = await api.get("/nope", { key });
      expect(status).toBe(401);
      details.add(body.detail);
    }
    expect(details.size).toBe(1);
    expect(fake.touched).toEqual([]);
  });

  it.each(["revoked", "expired", "given another secret"])(
    "that worked a moment ago are refused from the moment on that they are %s",
    async (change) => {
      const { api, fake } = await serve();
      const key = await api.addKey(["publish"], "default", { expiresAt: api.clock.now() + 60_000 });
      const id = `key_${key.slice(4, 30)}`;
      for (let times = 0; times < 2; times++) expect((await api.post(EVENTS, EVENT, { key })).status).toBe(202);
      if (change === "revoked") await fake.asStore().keys.revoke(id, api.clock.now());
      else if (change === "expired") api.clock.advance("1m");
      else fake.keys.set(id, { ...fake.keys.get(id)!, hash: new Uint8Array(32) });
      expect((await api.post(EVENTS, EVENT, { key })).status).toBe(401);
      expect(fake.drafts).toHaveLength(2);
    },
  );

  it("are read once for each request after their first", async () => {
    const { api, fake } = await serve();
    await api.get("/nope");
    const read = vi.spyOn(fake.keys, "get");
    for (let times = 0; times < 3; times++) await api.get("/nope");
    expect(read).toHaveBeenCalledTimes(3);
  });

  it("leave a note of their use", async () => {
    const { api, fake } = await serve();
    await api.get("/nope");
    expect(fake.touched).toEqual([...fake.keys.keys()]);
  });

  it("are not read from anywhere but the Authorization header", async () => {
    const { api } = await serve();
    expect((await api.get(`/nope?api_key=${api.adminKey}`, { key: null })).status).toBe(401);
    expect((await api.get("/nope", { key: null, headers: { cookie: `key=${api.adminKey}` } })).status).toBe(401);
  });

  it("that fail too often are throttled for a minute, while a valid one goes on", async () => {
    const { api } = await serve();
    for (let index = 0; index < 30; index++) expect((await api.get("/nope", { key: "x" })).status).toBe(401);
    const { status, headers } = await api.get("/nope", { key: "x" });
    expect({ status, wait: headers["retry-after"] }).toEqual({ status: 429, wait: "60" });
    expect((await api.get("/nope")).status).toBe(404);
    expect((await api.get("/nope", { key: "x" })).status).toBe(429);
    expect(api.logged).toEqual([
      { level: "warn", fields: { client: "127.0.0.1" }, message: expect.stringContaining("too many failed") },
    ]);
    api.clock.advance("1m");
    expect((await api.get("/nope", { key: "x" })).status).toBe(401);
  });
});

describe("a key", () => {
  it("may come after any white space, and in no other form", async () => {
    const { api } = await serve();
    const statusOf = async (authorization: string) =>
      (await api.get("/v1/webhooks/event-types", { key: null, headers: { authorization } })).status;
    for (const scheme of ["Bearer ", "bearer ", "BEARER  ", "Bearer\t", "Bearer \t "])
      expect(await statusOf(scheme + api.adminKey), JSON.stringify(scheme)).toBe(200);
    for (const wrong of [api.adminKey, `Bearer${api.adminKey}`, `Basic ${api.adminKey}`, `Bearer ${api.adminKey} x`])
      expect(await statusOf(wrong), wrong).toBe(401);
  });
});

describe("the unix socket", () => {
  it("needs no key and checks no Host, because only the operator can open it", async () => {
    const fake = new FakeStore();
    const dir = mkdtempSync(join(tmpdir(), "webhookd-socket-"));
    const api = await ApiServer.start(fake.asStore(), { socket: join(dir, "s.sock") });
    const options = { socketPath: join(dir, "s.sock"), path: EVENTS, method: "POST" };
    const headers = { host: "cli", "content-type": "application/json" };
    const status = await new Promise((resolve, reject) => {
      const req = request({ ...options, headers }, (res) => resolve(res.resume().statusCode));
      req.on("error", reject).end(JSON.stringify({ ...EVENT, tenant: "acme" }));
    });
    expect({ status, tenant: fake.drafts[0]!.tenant, touched: fake.touched }).toEqual({
      status: 202,
      tenant: "acme",
      touched: [],
    });
    expect((await api.post(EVENTS, EVENT, { key: null })).status).toBe(401);
    rmSync(dir, { recursive: true });
  });
});

describe("bodies", () => {
  it("sent in chunks count like any other", async () => {
    const { api, fake } = await serve();
    const body = JSON.stringify(EVENT);
    expect((await api.request("POST", EVENTS, { body, chunked: true })).status).toBe(202);
    const large = `{"type":"budget.exceeded","data":{"x":"${"a".repeat(262_145)}"}}`;
    expect((await api.request("POST", EVENTS, { body: large, chunked: true })).body.code).toBe("payload_too_large");
    expect(fake.drafts).toHaveLength(1);
  });

  it("with a content-encoding are refused", async () => {
    const { api } = await serve();
    const { status, body } = await api.post(EVENTS, EVENT, { headers: { "content-encoding": "gzip" } });
    expect({ status, code: body.errors[0].code }).toEqual({ status: 415, code: "unsupported_content_encoding" });
  });

  it("on a route that takes none are refused", async () => {
    const { api } = await serve();
    expect((await api.request("GET", EVENTS, { body: "{}" })).body.code).toBe("bad_request");
    for (const body of ['{"a":1}', "[]", "null", "{}{}"]) {
      const answer = await api.request("POST", "/v1/resume", { body });
      expect(answer.body, body).toMatchObject({ code: "bad_request", detail: "this route takes no body" });
    }
  });

  it("that are an empty object count as none on a route that takes none", async () => {
    const { api } = await serve();
    for (const body of ["{}", " { } \r\n"])
      for (const chunked of [false, true])
        expect((await api.request("DELETE", "/v1/webhooks/ep_x", { body, chunked })).body.code).toBe("not_found");
  });

  it("that are not there are missed by name", async () => {
    const { api } = await serve();
    const details = {
      "/v1/pause": "the request has no body: send a JSON object, with reason",
      "/v1/webhooks": "the request has no body: send a JSON object, with url and events",
      [EVENTS]: "the request has no body: send a JSON object, with type and data",
      [`${EVENTS}/batch`]: "the request has no body: send a JSON object, with events",
    };
    for (const [path, detail] of Object.entries(details))
      expect((await api.request("POST", path)).body, path).toMatchObject({ code: "invalid_json", detail });
  });

  it("are in UTF-8 however a client writes its name", async () => {
    const { api } = await serve();
    const statusOf = async (type: string) =>
      (await api.post(EVENTS, EVENT, { headers: { "content-type": type } })).status;
    for (const name of ["utf-8", "UTF-8", "utf8", "UTF8", '"utf8"', '"UTF-8"', "'utf-8'"])
      for (const equals of ["=", " = "])
        expect(await statusOf(`application/json;charset${equals}${name}`), name).toBe(202);
    expect(await statusOf("Application/JSON ; Charset=Utf8; x=y")).toBe(202);
    for (const name of ["utf-16", "utf-7", "latin1", "utf", "utf--8", '"utf8', "utf88", ""])
      expect(await statusOf(`application/json; charset=${name}`), name).toBe(415);
  });

  it("of a client that goes away store nothing and leave one quiet line", async () => {
    const { api, fake } = await serve();
    const head = `POST ${EVENTS} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${api.adminKey}\r\n`;
    await new Promise<void>((resolve) => {
      const socket = connect(api.port, "127.0.0.1", () => {
        socket.write(`${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{"type"`, () => {
          socket.resetAndDestroy();
          resolve();
        });
      });
    });
    await expect.poll(() => api.logged.length).toBe(1);
    expect(api.logged[0]).toMatchObject({
      level: "info",
      fields: { client: "127.0.0.1" },
      message: expect.stringContaining("went away"),
    });
    expect(fake.drafts).toEqual([]);
  });
});

describe("back-pressure", () => {
  it("refuses a publish when too many wait for their commit, and takes it when they are done", async () => {
    const { api, fake } = await serve({ LIMITS_COMMIT_QUEUE: "1" });
    const commit = Promise.withResolvers<void>();
    fake.publishing = () => commit.promise;
    const first = api.post(EVENTS, EVENT);
    await expect.poll(async () => (await api.post(EVENTS, EVENT)).status).toBe(503);
    const { headers, body } = await api.post(EVENTS, EVENT);
    expect({ code: body.code, wait: headers["retry-after"] }).toEqual({ code: "overloaded", wait: "1" });
    commit.resolve();
    expect((await first).status).toBe(202);
    expect((await api.post(EVENTS, EVENT)).status).toBe(202);
  });

  it("refuses bytes over the limit, declared or not, and forgets them afterwards", async () => {
    const { api } = await serve({}, { limits: { ...aConfig().limits, commitQueue: 10, inFlightBytes: 1024 } });
    const body = JSON.stringify({ ...EVENT, data: { x: "a".repeat(2000) } });
    for (const chunked of [false, true]) {
      expect((await api.request("POST", EVENTS, { body, chunked })).body.code).toBe("overloaded");
    }
    expect((await api.post(EVENTS, EVENT)).status).toBe(202);
  });
});

describe("health", () => {
  it("is one word, open to everybody", async () => {
    const { api, fake } = await serve();
    expect(await api.get("/healthz", { key: null })).toMatchObject({ status: 200, text: "ok" });
    expect(await api.get("/readyz", { key: null })).toMatchObject({ status: 200, text: "ready" });
    fake.ready = "disk_full";
    expect(await api.get("/readyz", { key: null })).toMatchObject({ status: 503, text: "disk_full" });
    api.phase = "draining";
    expect(await api.get("/readyz", { key: null })).toMatchObject({ status: 503, text: "draining" });
    expect((await api.request("POST", "/healthz", { key: null })).status).toBe(405);
  });

  it("goes on taking publishes while draining, because they are durable", async () => {
    const { api } = await serve();
    api.phase = "draining";
    expect((await api.post(EVENTS, EVENT)).status).toBe(202);
  });
});
