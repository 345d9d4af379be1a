import { describe, expect, it } from "vitest";
import { Description } from "../openapi/described.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer, send, type Answer } from "../server.ts";

const PAGE = "https://ops.example";
const EVENT = { type: "budget.exceeded", data: { a: 1 } };
const EVENTS = "/v1/webhooks/events";

/** The methods and headers that any page may use without permission (WHATWG Fetch 2.2.2). */
const SAFE_METHODS = ["GET", "HEAD", "POST"];
const SAFE_REQUEST_HEADERS = ["accept", "accept-language", "content-language"];
const SAFE_ANSWER_HEADERS = ["cache-control", "content-language", "content-length", "content-type", "expires"];

interface PageRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/**
 * Fetches as a browser does for a page's script: it sends a preflight where it must, and hides what the script may not
 * see.
 */
class Browser {
  readonly #port: number;
  readonly #origin: string;
  readonly preflights: Answer[] = [];

  constructor(port: number, origin: string) {
    this.#port = port;
    this.#origin = origin;
  }

  /** Returns null if the script would see a network error. */
  async fetch(path: string, { method = "GET", headers = {}, body }: PageRequest = {}): Promise<Answer | null> {
    const unsafe = Object.keys(headers).filter((name) => !SAFE_REQUEST_HEADERS.includes(name));
    if (unsafe.length > 0 || !SAFE_METHODS.includes(method)) {
      if (!(await this.#mayAsk(path, method, unsafe.toSorted()))) return null;
    }
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answer = await send(this.#port, method, path, { ...headers, origin: this.#origin }, text);
    return this.#isFor(answer) ? { ...answer, headers: this.#readable(answer) } : null;
  }

  async #mayAsk(path: string, method: string, names: readonly string[]): Promise<boolean> {
    const asking = {
      origin: this.#origin,
      "access-control-request-method": method,
      ...(names.length > 0 && { "access-control-request-headers": names.join(",") }),
    };
    const answer = await send(this.#port, "OPTIONS", path, asking);
    this.preflights.push(answer);
    const methods = [...SAFE_METHODS, ...listOf(answer, "access-control-allow-methods")];
    const allowed = listOf(answer, "access-control-allow-headers").map((name) => name.toLowerCase());
    const ok = answer.status >= 200 && answer.status < 300;
    return ok && this.#isFor(answer) && methods.includes(method) && names.every((name) => allowed.includes(name));
  }

  #isFor({ headers }: Answer): boolean {
    return headers["access-control-allow-origin"] === this.#origin;
  }

  #readable(answer: Answer): Answer["headers"] {
    const exposed = listOf(answer, "access-control-expose-headers").map((name) => name.toLowerCase());
    const shown = [...SAFE_ANSWER_HEADERS, ...exposed];
    return Object.fromEntries(Object.entries(answer.headers).filter(([name]) => shown.includes(name)));
  }
}

function listOf({ headers }: Answer, name: string): string[] {
  return String(headers[name] ?? "")
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

async function serve(origins = PAGE) {
  const fake = new FakeStore();
  const api = await ApiServer.start(fake.asStore(), { config: aConfig({ SERVER_ALLOWED_ORIGINS: origins }) });
  const keyed = { authorization: `Bearer ${api.adminKey}` };
  const publish = { method: "POST", headers: { ...keyed, "content-type": "application/json" }, body: EVENT };
  return { fake, api, publish, keyed };
}

describe("a page of an allowed origin", () => {
  it("publishes: it may ask first without a key, and reads the answer and its headers", async () => {
    const { fake, api, publish } = await serve(`https://other.example,${PAGE}`);
    const page = new Browser(api.port, PAGE);
    const headers = { ...publish.headers, "idempotency-key": "k", traceparent: "00-1" };
    const answer = await page.fetch(EVENTS, { ...publish, headers });
    expect(answer).toMatchObject({ status: 202, headers: { "x-request-id": expect.stringMatching(/^req_/) } });
    expect(fake.drafts).toHaveLength(1);
    expect(page.preflights).toHaveLength(1);
    expect(page.preflights[0]).toMatchObject({ status: 204, text: "", headers: { vary: "Origin" } });
  });

  it.each(["PATCH", "PUT", "DELETE"])("may %s", async (method) => {
    const { api, keyed } = await serve();
    const headers = { ...keyed, "content-type": "application/json", "if-match": '"a"' };
    expect(await new Browser(api.port, PAGE).fetch("/nope", { method, headers })).toMatchObject({ status: 404 });
  });

  it("reads why it was refused", async () => {
    const { api, publish } = await serve();
    const page = new Browser(api.port, PAGE);
    const wrong = await page.fetch(EVENTS, { ...publish, headers: { ...publish.headers, authorization: "Bearer x" } });
    expect(wrong).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(await page.fetch(EVENTS, { ...publish, body: {} })).toMatchObject({ status: 422 });
    expect(await page.fetch("/nope", { headers: { authorization: publish.headers.authorization } })).toMatchObject({
      status: 404,
    });
    api.phase = "stopped";
    const stopping = await page.fetch(EVENTS, publish);
    expect(stopping).toMatchObject({ status: 503, headers: { "retry-after": "5" } });
  });

  it("may send no cookies, and learns of no other origin", async () => {
    const { api, publish } = await serve(`https://other.example,${PAGE}`);
    for (const method of ["OPTIONS", "POST"]) {
      const asking = { origin: PAGE, "access-control-request-method": "POST", ...publish.headers };
      const { headers } = await send(api.port, method, EVENTS, asking, JSON.stringify(EVENT));
      expect(headers["access-control-allow-credentials"]).toBeUndefined();
      expect(headers["access-control-allow-origin"]).toBe(PAGE);
    }
  });
});

describe("a page of another origin", () => {
  it.each(["https://evil.example", "null", `${PAGE}.evil.example`, "http://ops.example", `${PAGE}:444`])(
    "%s may neither ask nor read",
    async (origin) => {
      const { fake, api, publish } = await serve();
      const page = new Browser(api.port, origin);
      expect(await page.fetch(EVENTS, publish)).toBeNull();
      expect(page.preflights[0]).toMatchObject({ status: 403, body: { code: "browser_origin" } });
      const { headers } = page.preflights[0]!;
      expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
      expect(headers.vary).toBe("Origin");
      // Requests that need no preflight are refused as well.
      expect(await page.fetch("/healthz")).toBeNull();
      expect(fake.drafts).toEqual([]);
    },
  );
});

describe("without a page", () => {
  it("responses say nothing about origins except that they vary by them", async () => {
    const { api } = await serve();
    const { status, headers } = await api.get("/healthz");
    expect(status).toBe(200);
    expect(headers.vary).toBe("Origin");
    expect(headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("responses say nothing at all if no origin is allowed", async () => {
    const { api } = await serve("");
    expect((await api.get("/healthz")).headers.vary).toBeUndefined();
  });

  it("OPTIONS is a method like any other", async () => {
    const { api } = await serve();
    expect((await api.request("OPTIONS", EVENTS)).status).toBe(405);
    expect((await api.request("OPTIONS", EVENTS, { key: null, headers: { origin: PAGE } })).status).toBe(401);
  });
});

it("every header that is described may be sent, and read", async () => {
  const { api } = await serve();
  const { document } = new Description((await api.get("/openapi.json")).body);
  const asking = { origin: PAGE, "access-control-request-method": "POST" };
  const preflight = await send(api.port, "OPTIONS", EVENTS, asking);
  const allowed = listOf(preflight, "access-control-allow-headers").map((name) => name.toLowerCase());
  const operations = Object.values<any>(document.paths).flatMap((path) => Object.values<any>(path));
  const sent = operations.flatMap(({ parameters = [] }) => parameters).filter((each: any) => each.in === "header");
  expect(sent.length).toBeGreaterThan(0);
  for (const { name } of sent) expect(allowed).toContain(name.toLowerCase());
  expect(allowed).toEqual(expect.arrayContaining(["authorization", "content-type", "idempotency-key"]));
  const answer = await api.get("/healthz", { headers: { origin: PAGE } });
  expect(listOf(answer, "access-control-expose-headers")).toEqual(
    expect.arrayContaining(Object.keys(document.components.headers)),
  );
});
