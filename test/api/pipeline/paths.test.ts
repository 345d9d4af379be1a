import { describe, expect, it } from "vitest";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer, sendRaw } from "../server.ts";

async function serve(settings: Record<string, string> = {}) {
  return ApiServer.start(new FakeStore().asStore(), { config: aConfig(settings) });
}

describe("a path with dots", () => {
  const DOTTED = [
    "/v1/webhooks/%2e%2e/webhooks/event-types",
    "/v1/webhooks/../webhooks/event-types",
    "/v1/webhooks/./event-types",
    "/v1/webhooks/x/.%2E/event-types",
    "/v1/webhooks/event-types/.",
    "/v1/webhooks/event-types/x/..",
    "/v1/webhooks/x\\..\\event-types",
    "http://localhost/v1/webhooks/%2e%2e/webhooks/event-types",
  ];

  it.each(DOTTED)("%s is there for nobody", async (path) => {
    const api = await serve();
    const ask = async (key: string) => {
      const head = `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${key}\r\n`;
      return (await sendRaw(api.port, head, () => false)).split("\r\n")[0];
    };
    expect(await ask(`authorization: Bearer ${api.adminKey}\r\n`)).toBe("HTTP/1.1 404 Not Found");
    expect(await ask("")).toBe("HTTP/1.1 401 Unauthorized");
  });

  it("does not lead to what is open", async () => {
    const api = await serve();
    expect((await api.get("/v1/%2e%2e/healthz", { key: null })).status).toBe(401);
  });

  it("may have them inside a name, and in its query", async () => {
    const api = await serve();
    expect((await api.get("/v1/webhooks/event-types?a/../b=1")).body.code).toBe("invalid_query");
    expect((await api.get("/openapi.json")).status).toBe(200);
  });
});

describe("/healthz", () => {
  const answerTo = (port: number, head: string) => sendRaw(port, `${head}\r\n\r\n`, () => false);

  it.each(["/healthz", "/readyz", "/healthz?x=1"])("answers %s in HTTP/1.0, which has no Host", async (path) => {
    const api = await serve({ SERVER_ALLOWED_HOSTS: "hooks.example" });
    expect(await answerTo(api.port, `GET ${path} HTTP/1.0`)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it("asks for a Host where there must be one, and for ours where there is one", async () => {
    const api = await serve();
    const bad = await answerTo(api.port, "GET /healthz HTTP/1.1\r\nconnection: close");
    expect(bad).toMatch(/^HTTP\/1\.1 400 /);
    expect(await answerTo(api.port, "GET /healthz HTTP/1.0\r\nhost: evil.example")).toMatch(/^HTTP\/1\.1 421 /);
    expect(await answerTo(api.port, "GET http://evil.example/healthz HTTP/1.0")).toMatch(/^HTTP\/1\.1 421 /);
    expect(await answerTo(api.port, "GET /v1/status HTTP/1.0")).toMatch(/^HTTP\/1\.1 421 /);
  });

  it("lets a load balancer add what it likes to the query, as long as it can be read", async () => {
    const api = await serve();
    for (const path of ["/healthz?x=1", "/readyz?x=1&x=2&y", "/healthz?"]) {
      expect((await api.get(path, { key: null })).status, path).toBe(200);
    }
    expect(await api.get("/healthz?%zz", { key: null })).toMatchObject({
      status: 422,
      body: { code: "invalid_query" },
    });
  });
});
