import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer, sendRaw, type ServeOptions } from "../server.ts";

const HOST = "host: localhost\r\n";
const HEALTH = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`;
/** The limits are short, but a busy machine still answers requests within them. */
const HASTY = { headersTimeout: 150, requestTimeout: 300, connectionsCheckingInterval: 10 };

const open = new Set<Socket>();

afterEach(() => {
  for (const socket of open) socket.destroy();
  open.clear();
});

function serve(bounds: ServeOptions["bounds"] = {}): Promise<ApiServer> {
  return ApiServer.start(new FakeStore().asStore(), { config: aConfig(), bounds });
}

function dial({ port }: ApiServer): Socket {
  const socket = connect(port, "127.0.0.1");
  open.add(socket.on("error", () => {}));
  return socket;
}

/** Returns everything that the server sends until it closes the connection. */
async function untilClosed(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString("latin1")));
  // `once` of node:events would throw if unread bytes turn the close into a reset.
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

/** Expects a problem document with a request id of ours, after which the connection is closed. */
function expectProblem(answer: string, status: number, code: string): void {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(head).toMatch(/\r\ncontent-type: application\/problem\+json(\r\n|$)/);
  expect(head).toMatch(/\r\nconnection: close(\r\n|$)/i);
  const [, id] = /\r\nx-request-id: (req_[0-9a-z]{26})(\r\n|$)/.exec(head) ?? [];
  expect(id).toBeDefined();
  expect(JSON.parse(body)).toMatchObject({ status, code, request_id: id, type: `urn:webhookd:problem:${code}` });
}

describe("what is no request is answered with a problem document:", () => {
  it.each([
    ["bytes that are no HTTP", "\x16\x03\x01 hello\r\n\r\n", 400, "bad_request"],
    ["a method that nobody knows", `BREW /healthz HTTP/1.1\r\n${HOST}\r\n`, 400, "bad_request"],
    ["two lengths", `POST / HTTP/1.1\r\n${HOST}content-length: 1\r\ncontent-length: 2\r\n\r\nx`, 400, "bad_request"],
    ["a tunnel", "CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n", 400, "bad_request"],
    ["headers over 16 KiB", `GET /?${"x".repeat(17_000)} HTTP/1.1\r\n${HOST}\r\n`, 431, "headers_too_large"],
    [
      "chunk extensions over 16 KiB",
      `POST / HTTP/1.1\r\n${HOST}transfer-encoding: chunked\r\n\r\n1;${"x".repeat(17_000)}\r\nx`,
      413,
      "payload_too_large",
    ],
  ])("%s", async (_, bytes, status, code) => {
    const api = await serve();
    expectProblem(await sendRaw(api.port, bytes, () => false), status, code);
  });

  it("but not in the place of an answer to the request before it", async () => {
    const api = await serve();
    const answers = await sendRaw(api.port, `${HEALTH}no http\r\n\r\n`, () => false);
    const [first = "", second = ""] = answers.split(/(?=HTTP\/1.1 400)/);
    expect(first).toMatch(/^HTTP\/1.1 200 [^]*ok$/);
    expectProblem(second, 400, "bad_request");
  });
});

describe("what Node would answer without a body goes the way of all requests:", () => {
  it("HTTP/1.1 without a Host", async () => {
    const api = await serve();
    const answer = await sendRaw(api.port, "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n", () => false);
    expectProblem(answer, 400, "bad_request");
  });

  it("an expectation that HTTP does not define", async () => {
    const api = await serve();
    const text = HEALTH.replace(HOST, `${HOST}expect: tea\r\nconnection: close\r\n`);
    expect(await sendRaw(api.port, text, () => false)).toMatch(/^HTTP\/1.1 200 [^]*ok$/);
  });
});

describe("time limits:", () => {
  it("headers that do not come", async () => {
    const api = await serve(HASTY);
    expectProblem(await untilClosed(dial(api)), 408, "request_timeout");
  });

  it("headers that come byte by byte", async () => {
    const api = await serve(HASTY);
    const socket = dial(api);
    const drip = setInterval(() => socket.write("x"), 20);
    socket.write(`GET /healthz HTTP/1.1\r\n${HOST}x-slow: `);
    const answer = await untilClosed(socket);
    clearInterval(drip);
    expectProblem(answer, 408, "request_timeout");
  });

  it("a body that stalls, of which nothing is stored", async () => {
    const fake = new FakeStore();
    const api = await ApiServer.start(fake.asStore(), { config: aConfig(), bounds: HASTY });
    const socket = dial(api);
    const head = `authorization: Bearer ${api.adminKey}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n`;
    socket.write(`POST /v1/webhooks/events HTTP/1.1\r\n${HOST}${head}\r\n{`);
    expectProblem(await untilClosed(socket), 408, "request_timeout");
    expect(fake.drafts).toEqual([]);
  });

  it("a request in time is answered, though the server looks for late ones all the time", async () => {
    const api = await serve({ ...HASTY, headersTimeout: 30_000, requestTimeout: 60_000 });
    expect((await api.get("/healthz")).text).toBe("ok");
  });
});

describe("connections over the limit", () => {
  it("are dropped at once, and taken again when another ends", async () => {
    const api = await serve({ maxConnections: 3 });
    const taken = [dial(api), dial(api), dial(api)];
    for (const socket of taken) await sayHealth(socket);
    expect(await untilClosed(dial(api))).toBe("");
    taken[0]!.destroy();
    await expect.poll(() => connections(api)).toBe(2);
    await sayHealth(dial(api));
  });
});

async function sayHealth(socket: Socket): Promise<void> {
  socket.write(HEALTH);
  const [answer] = await once(socket, "data");
  expect(String(answer)).toMatch(/^HTTP\/1.1 200 /);
}

function connections({ server }: ApiServer): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}
