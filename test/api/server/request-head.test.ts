import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { headFault, targetOf } from "../../../src/api/server/request-head.ts";
import { aConfig, ApiServer, sendRaw } from "../server.ts";
import { aStore } from "../sqlite.ts";

const EVENTS = "/v1/webhooks/events";
const EVENT = JSON.stringify({ type: "budget.exceeded", data: { a: 1 } });

async function serve(settings: Record<string, string> = {}, socket?: string) {
  const store = await aStore();
  return { store, api: await ApiServer.start(store, { config: aConfig(settings), ...(socket && { socket }) }) };
}

/** Returns the status of the response, and its problem document. */
function answerOf(text: string): { status: number; body: { code: string; detail: string } | null } {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  return {
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]),
    body: body.startsWith("{") ? JSON.parse(body) : null,
  };
}

const ODD_TARGETS = [
  `/x?a='b'`,
  `/x"`,
  "/x?a=<b>",
  "/v1/webhooks/ep_<",
  "/%2e/",
  "/x",
  "/x#a",
  "/v1/webhooks?a='",
  "//",
  "/\\",
];
const ODD_HOSTS = [
  "localhost:99999",
  "a:99999",
  "256.1.1.1",
  "1.2.3.4.5",
  "[::1",
  "a b",
  "localhost@evil.example",
  "é",
  "%",
];

describe("a Host that is none, with a target that is odd", () => {
  const cases = ODD_HOSTS.flatMap((host) => ODD_TARGETS.map((target) => ({ host, target })));

  it.each(["", "0.0.0.0:0"])("is refused by name, and the next request is served (listening on %j)", async (listen) => {
    const { api } = await serve(listen === "" ? {} : { SERVER_LISTEN: listen, SERVER_BEHIND_PROXY: "true" });
    for (const { host, target } of cases) {
      const request = `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      const { status, body } = answerOf(await sendRaw(api.port, Buffer.from(request, "latin1"), () => false));
      expect({ host, target, status, code: body?.code }).toEqual({ host, target, status: 400, code: "bad_request" });
      expect(body?.detail).toMatch(/^the host header is not a host name or address/);
    }
    expect((await api.get("/healthz")).status).toBe(200);
  });

  it("is read by nobody over the unix socket, so that it is no fault there", async () => {
    const dir = mkdtempSync(join(tmpdir(), "webhookd-head-"));
    try {
      const path = join(dir, "s");
      await serve({}, path);
      for (const target of ODD_TARGETS) {
        const request = `GET ${target} HTTP/1.1\r\nHost: a:99999\r\nConnection: close\r\n\r\n`;
        const text = await new Promise<string>((resolve) => {
          let all = "";
          const socket = connect(path).on("data", (bytes) => (all += String(bytes)));
          socket.on("close", () => resolve(all)).write(request);
        });
        expect([400, 404, 422], target).toContain(answerOf(text).status);
      }
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

describe("a target", () => {
  it.each([
    ["/x#a", /fragment/],
    [`${EVENTS}#a`, /fragment/],
    ["/x?a=#b", /fragment/],
    ["/%ff", /percent-encoded UTF-8/],
    ["/%zz", /percent-encoded UTF-8/],
    ["http://[/x", /without a valid host/],
    ["http://a:99999/x", /without a valid host/],
    ["http:///x", /without a valid host/],
    ["http://user@localhost/x", /without a valid host/],
    ["ftp://localhost/x", /must be a path/],
    ["*", /must be a path/],
  ])("%j is refused, with what is wrong with it", async (target, why) => {
    const { api } = await serve();
    const request = `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const { status, body } = answerOf(await sendRaw(api.port, Buffer.from(request, "latin1"), () => false));
    expect({ status, code: body?.code }).toEqual({ status: 400, code: "bad_request" });
    expect(body?.detail).toMatch(why);
  });

  it("may be a whole URL, which leads where its path does", async () => {
    const { api } = await serve();
    for (const [target, status] of [
      ["http://localhost/healthz", 200],
      ["HTTP://localhost:1/healthz?a=1", 200],
      ["http://localhost", 401],
    ] as const) {
      const request = `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
      expect(answerOf(await sendRaw(api.port, request, () => false)).status, target).toBe(status);
    }
  });

  it("may have in its query what curl does not encode", async () => {
    const { api } = await serve();
    const { body } = await api.get(`/v1/webhooks/event-types?a="'<>{}|`);
    expect(body.code).toBe("invalid_query");
    expect((await api.get(`/v1/webhooks/jobs/job_1'`)).status).toBe(404);
  });

  it("is split without a URL, whatever it is", () => {
    expect(targetOf("/a?b?c")).toEqual({ path: "/a", search: "?b?c", authority: null });
    expect(targetOf("http://h?x")).toEqual({ path: "/", search: "?x", authority: "h" });
    expect(targetOf("//h/x")).toEqual({ path: "//h/x", search: "", authority: null });
    expect(targetOf("")).toEqual({ path: "", search: "", authority: null });
  });

  it("has no byte that is not visible ASCII, though Node may let one through", () => {
    for (const url of ["/caf\xe9", "/x?a=\xc3\xa9", "/\x7f"]) {
      const head = { method: "GET", url, httpVersion: "1.1", headers: { host: "localhost" }, rawHeaders: [] };
      expect(headFault(head, false)).toMatch(/visible ASCII/);
    }
  });

  it("of OPTIONS may be the asterisk", () => {
    const head = { url: "*", httpVersion: "1.1", headers: { host: "localhost" }, rawHeaders: ["Host", "localhost"] };
    expect(headFault({ ...head, method: "OPTIONS" }, false)).toBeNull();
    expect(headFault({ ...head, method: "GET" }, false)).not.toBeNull();
  });
});

describe("an exception in one exchange", () => {
  it("is a 500, in the log and in the metrics, and no other request of the connection notices", async () => {
    const { api, store } = await serve();
    const publish = store.events.publish.bind(store.events);
    let calls = 0;
    store.events.publish = (...given) => {
      if (++calls === 2) throw new Error("planted");
      return publish(...given);
    };
    const request = (last: boolean) =>
      `POST ${EVENTS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${api.adminKey}\r\nContent-Type: application/json\r\n` +
      `${last ? "Connection: close\r\n" : ""}Content-Length: ${EVENT.length}\r\n\r\n${EVENT}`;
    const text = await sendRaw(api.port, request(false) + request(false) + request(true), () => false);
    expect([...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status)).toEqual(["202", "500", "202"]);
    const id = /"code":"internal","retryable":true,"request_id":"(\w+)"/.exec(text)![1];
    const lines = api.logged.filter(({ level }) => level === "error");
    expect(lines).toEqual([
      { level: "error", fields: expect.objectContaining({ request_id: id }), message: expect.any(String) },
    ]);
    expect((await api.get("/metrics")).text).toMatch(/_count\{route="POST \/v1\/webhooks\/events",status="500"\} 1\n/);
  });
});

describe("an answer that cannot be written", () => {
  // If the connection were not cut, the client would hang.
  it("costs its own connection, and is in the log and in the metrics", async () => {
    const { api } = await serve();
    api.server.prependListener("request", ({ url }, res) => {
      if (url !== "/readyz") return;
      res.end = () => {
        throw new Error("planted");
      };
    });
    const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    const others = sendRaw(api.port, request("/healthz"), (text) => text.includes("200 OK"));
    const text = await sendRaw(api.port, request("/healthz") + request("/readyz"), () => false);
    expect([...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].length).toBeLessThanOrEqual(1);
    expect(await others).toMatch(/^HTTP\/1\.1 200 /);
    const lines = api.logged.filter(({ level }) => level === "error");
    expect(lines).toHaveLength(1);
    expect(lines[0]!.fields).toMatchObject({ error: "Error: planted", request_id: expect.stringMatching(/^req_/) });
    expect((await api.get("/metrics")).text).toMatch(/_count\{route="GET \/readyz",status="500"\} 1\n/);
  });
});

describe("a connection that is reset while it is answered", () => {
  it.each([
    "CONNECT a:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "x\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nx",
  ])("%j ends alone", async (request) => {
    const { api } = await serve();
    for (let times = 0; times < 30; times++) {
      await new Promise<void>((resolve) => {
        const socket = connect(api.port, "127.0.0.1", () => {
          socket.write(request);
          setImmediate(() => socket.resetAndDestroy());
        });
        socket.on("error", () => {}).on("close", () => resolve());
      });
    }
    expect((await api.get("/healthz")).status).toBe(200);
  });

  it("has one fault to wait for, however many bytes follow it", async () => {
    const { api, store } = await serve();
    const answered = Promise.withResolvers<void>();
    const publish = store.events.publish.bind(store.events);
    let current: ServerResponse | undefined;
    api.server.on("request", (_req, res) => (current = res));
    store.events.publish = async (...given) => {
      await answered.promise;
      return publish(...given);
    };
    const head = `POST ${EVENTS} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nAuthorization: Bearer ${api.adminKey}\r\n`;
    const socket = connect(api.port, "127.0.0.1");
    let text = "";
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.on("data", (bytes) => (text += String(bytes)));
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${EVENT.length}\r\n\r\n${EVENT}`);
    await expect.poll(() => current?.req.complete).toBe(true);
    let faults = 0;
    api.server.on("clientError", () => faults++);
    for (let piece = 1; piece <= 20; piece++) {
      socket.write("\0x\r\n\r\n");
      await expect.poll(() => faults).toBeGreaterThanOrEqual(piece);
    }
    expect(current!.listenerCount("finish")).toBeLessThan(10);
    answered.resolve();
    await closed;
    expect([...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status)).toEqual(["100", "202", "400"]);
  });
});
