/**
 * Requests that are read without Node's parser get the same response, and store the same event, as if Node had read
 * them. Node reads all others.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { Bounds } from "../../../src/api/server/listener.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer } from "../server.ts";

const EVENTS = "/v1/webhooks/events";
const BODY = '{"type":"goal.achieved","data":{"é":1}}';
const HOST = "host: localhost";
const TYPE = "content-type: application/json";
/** Makes the server close the connection, so that everything read until then is the response to the case. */
const LAST = `GET /healthz HTTP/1.1\r\n${HOST}\r\nconnection: close\r\n\r\n`;
/** The number of requests that are written at once. The server lets more than this wait. */
const BURST = 50;
/** Requests that never end are read until the server's limits close the connection. */
const HASTY = { keepAliveTimeout: 100, headersTimeout: 600, requestTimeout: 600, connectionsCheckingInterval: 50 };
/** Stands for a key of all tenants, which `tell` replaces with the server's. */
const KEY = "authorization: Bearer KEY";

class PathTo {
  readonly api: ApiServer;
  readonly fake: FakeStore;
  plain = 0;

  constructor(api: ApiServer, fake: FakeStore) {
    this.api = api;
    this.fake = fake;
    api.server.on("plain", () => void this.plain++);
  }

  static async open(plain: boolean, bounds: Partial<Bounds> = HASTY): Promise<PathTo> {
    const fake = new FakeStore();
    return new PathTo(await ApiServer.start(fake.asStore(), { config: aConfig(), bounds, plain }), fake);
  }

  async dial(): Promise<Socket> {
    const socket = connect({ port: this.api.port, host: "127.0.0.1", noDelay: true }).on("error", () => {});
    await once(socket, "connect");
    return socket;
  }

  /** Sends the pieces one after another and returns the responses, masking the parts that differ between servers. */
  async tell(pieces: readonly string[]): Promise<string> {
    const socket = await this.dial();
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) await wait(10);
      socket.write(Buffer.from(piece.replaceAll("KEY", this.api.adminKey), "latin1"));
    }
    await closed;
    return text
      .replaceAll(/\breq_\w{26}/g, "req_…")
      .replaceAll(/\bevt_\d{26}/g, "evt_…")
      .replaceAll(/\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/g, "\r\nDate: …\r\n");
  }

  /** Returns the events stored since the last call. */
  kept(): unknown[] {
    return this.fake.drafts.splice(0).map(({ data, ...draft }) => ({ ...draft, data: Buffer.from(data).toString() }));
  }
}

let own: PathTo;
let node: PathTo;

beforeAll(async () => {
  [own, node] = [await PathTo.open(true), await PathTo.open(false)];
});

/** Returns a publish with these lines in place of the usual ones. */
function post(lines: readonly string[], { first = `POST ${EVENTS} HTTP/1.1`, body = BODY } = {}): string {
  return `${first}\r\n${lines.join("\r\n")}\r\n\r\n${latin(body)}`;
}

function latin(text: string): string {
  return Buffer.from(text).toString("latin1");
}

function lengthOf(body: string): string {
  return `content-length: ${Buffer.byteLength(body)}`;
}

const USUAL = [HOST, KEY, TYPE, lengthOf(BODY)];
const USUAL_POST = post(USUAL);
const withLines = (...more: string[]) => post([...USUAL, ...more]);
const withBody = (body: string) => post([HOST, KEY, TYPE, lengthOf(body)], { body });
const withFirst = (first: string) => post(USUAL, { first });
const withLength = (...lines: string[]) => post([HOST, KEY, TYPE, ...lines]);

const PLAIN: Readonly<Record<string, string>> = {
  "a publish": USUAL_POST,
  "two at once": USUAL_POST + USUAL_POST,
  "a batch": withFirst(`POST ${EVENTS}/batch HTTP/1.1`),
  "a tenant in the query": withFirst(`POST ${EVENTS}?tenant=acme HTTP/1.1`),
  "a query that is unknown": withFirst(`POST ${EVENTS}?nope=1 HTTP/1.1`),
  "no key": post([HOST, TYPE, lengthOf(BODY)]),
  "a wrong key": post([HOST, "authorization: Bearer whk_nope", TYPE, lengthOf(BODY)]),
  "another host": post(["host: evil.example", KEY, TYPE, lengthOf(BODY)]),
  "another media type": post([HOST, KEY, "content-type: text/plain", lengthOf(BODY)]),
  "no media type": post([HOST, KEY, lengthOf(BODY)]),
  "no JSON": withBody("{"),
  "a type that is unknown": withBody('{"type":"é\\u0000","data":{}}'),
  "a NUL in the body": withBody('{"type":"\0"}'),
  "a blank line in the body": withBody('{"type":"goal.achieved",\r\n\r\n"data":{}}'),
  "an idempotency key": withLines("Idempotency-Key: k1"),
  "an idempotency key that is wrong": withLines("Idempotency-Key: a b"),
  "a trace": withLines("traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate: a=1"),
  "names in upper case": post([`HOST: localhost`, KEY, "CONTENT-TYPE: application/json", lengthOf(BODY).toUpperCase()]),
  "what proxies add": withLines("x-forwarded-for: 192.0.2.1, 192.0.2.2", "via: 1.1 proxy", "x-a: b\tc"),
  "a connection to be kept": withLines("connection: Keep-Alive"),
};

const NODES: Readonly<Record<string, string>> = {
  "bare line feeds": USUAL_POST.replaceAll("\r\n", "\n"),
  "one bare line feed": USUAL_POST.replace("\r\n", "\n"),
  "a bare line feed at the end of the head": USUAL_POST.replace("\r\n\r\n", "\r\n\n"),
  "a bare carriage return": withLines("x-a: b\rc"),
  "a bare line feed in a value": withLines("x-a: b\ntransfer-encoding: chunked"),
  "a folded line": withLines("x-a: b\r\n c"),
  "a line that begins with white space": post([` ${HOST}`, ...USUAL]),
  "two lengths": withLines(lengthOf(BODY)),
  "two lengths that differ": withLines("content-length: 5"),
  "a length with a sign": withLength(`content-length: +${Buffer.byteLength(BODY)}`),
  "a length with a zero ahead": withLength(`content-length: 0${Buffer.byteLength(BODY)}`),
  "a length in hexadecimal": withLength("content-length: 0x28"),
  "a list of lengths": withLength("content-length: 40, 40"),
  "a length with white space behind": withLength(`${lengthOf(BODY)} `),
  "a length with a tab ahead": withLength(`content-length:\t${Buffer.byteLength(BODY)}`),
  "a negative length": withLength("content-length: -1"),
  "no length": post([HOST, KEY, TYPE]),
  "a length of nothing": post([HOST, KEY, TYPE, "content-length: 0"], { body: "" }),
  "a length that is too large": withLength("content-length: 99999999999"),
  "a body that is too large": withLength("content-length: 900000"),
  "a body that is cut short": withLength("content-length: 400"),
  chunks: post([HOST, KEY, TYPE, "transfer-encoding: chunked"], { body: `28\r\n${BODY}\r\n0\r\n\r\n` }),
  "chunks and a length": withLines("transfer-encoding: chunked"),
  "a length and odd chunks": withLines("Transfer-Encoding : chunked"),
  "chunks by another name": withLines("transfer-encoding: xchunked"),
  "HTTP/1.0": withFirst(`POST ${EVENTS} HTTP/1.0`),
  "HTTP/1.2": withFirst(`POST ${EVENTS} HTTP/1.2`),
  "HTTP/2.0": withFirst(`POST ${EVENTS} HTTP/2.0`),
  "no version": withFirst(`POST ${EVENTS}`),
  "an absolute target": withFirst(`POST http://localhost${EVENTS} HTTP/1.1`),
  "an absolute target elsewhere": withFirst(`POST http://evil.example${EVENTS} HTTP/1.1`),
  "a target in percents": withFirst("POST /v1/webhooks/%65vents HTTP/1.1"),
  "a target with dots": withFirst("POST /v1/x/../webhooks/events HTTP/1.1"),
  "a target with a slash behind": withFirst(`POST ${EVENTS}/ HTTP/1.1`),
  "a target with two slashes": withFirst("POST //v1/webhooks/events HTTP/1.1"),
  "a target with a fragment": withFirst(`POST ${EVENTS}#a HTTP/1.1`),
  "a query in percents": withFirst(`POST ${EVENTS}?tenant=%61cme HTTP/1.1`),
  "a NUL in the target": withFirst(`POST ${EVENTS}?a=\0 HTTP/1.1`),
  "another path": withFirst("POST /v1/webhooks HTTP/1.1"),
  "another method": withFirst(`PUT ${EVENTS} HTTP/1.1`),
  "a method in lower case": withFirst(`post ${EVENTS} HTTP/1.1`),
  "two spaces": withFirst(`POST  ${EVENTS} HTTP/1.1`),
  "a tab": withFirst(`POST\t${EVENTS} HTTP/1.1`),
  "a blank line ahead": `\r\n${USUAL_POST}`,
  "a NUL in a value": withLines("x-a: b\0c"),
  "a control character in a value": withLines("x-a: b\u0001c"),
  "a value that is not ASCII": withLines("x-a: \u00e9"),
  "a value of nothing": withLines("x-a:"),
  "white space ahead of a colon": withLines("x-a : b"),
  "a name of nothing": withLines(": b"),
  "no colon": withLines("x-a"),
  "a name with an odd character": withLines("x\u00e9: b"),
  "no host": post([KEY, TYPE, lengthOf(BODY)]),
  "two hosts": withLines(HOST),
  "two keys": withLines(KEY),
  "two media types": withLines(TYPE),
  "two idempotency keys": withLines("idempotency-key: a", "idempotency-key: b"),
  "two of anything": withLines("x-a: 1", "X-A: 2"),
  "a head over 4 KiB": withLines(`x-a: ${"a".repeat(5000)}`),
  "a head over 16 KiB": withLines(`x-a: ${"a".repeat(17_000)}`),
  "a client that waits to go on": withLines("expect: 100-continue"),
  "another expectation": withLines("expect: nothing"),
  "an upgrade": withLines("connection: upgrade", "upgrade: h2c"),
  "an upgrade alone": withLines("upgrade: websocket"),
  "a connection with more to say": withLines("connection: keep-alive, x-a"),
  "a connection to be closed, and more": withLines("connection: close"),
  "an encoding": withLines("content-encoding: gzip"),
  "a page": withLines("origin: https://evil.example"),
  "trailers to come": withLines("te: trailers", "trailer: x-a"),
  "a prototype": withLines("__proto__: x"),
  "no HTTP": "\x16\x03\x01 hello\r\n\r\n",
  "the beginning of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
};

describe("is answered as by Node:", () => {
  it.each(Object.entries(PLAIN))("%s", async (_, bytes) => {
    const before = own.plain;
    const [ours, nodes] = await Promise.all([own.tell([bytes + LAST]), node.tell([bytes + LAST])]);
    expect(ours).toBe(nodes);
    expect(own.kept()).toEqual(node.kept());
    expect(own.plain).toBeGreaterThan(before);
  });

  it.each(["kept", "closed"])("what comes after an answer on a connection that is %s", async (end) => {
    const before = own.plain;
    const pieces = [USUAL_POST, USUAL_POST, withBody("{"), withLines("x-a: b")];
    pieces.push(end === "kept" ? LAST : withLines("connection: close"));
    const [ours, nodes] = await Promise.all([own.tell(pieces), node.tell(pieces)]);
    expect(ours).toBe(nodes);
    expect(ours.match(/HTTP\/1\.1 \d{3}/g)).toHaveLength(5);
    expect(own.kept()).toEqual(node.kept());
    expect(own.plain - before).toBe(end === "kept" ? 4 : 5);
    expect(node.plain).toBe(0);
  });
});

describe("is left to Node:", () => {
  it.each(Object.entries(NODES))("%s", async (_, bytes) => {
    const before = own.plain;
    const [ours, nodes] = await Promise.all([own.tell([bytes + LAST]), node.tell([bytes + LAST])]);
    expect(ours).toBe(nodes);
    expect(own.kept()).toEqual(node.kept());
    expect(own.plain).toBe(before);
  });

  it.each(Object.entries(NODES).slice(0, 24))("behind a plain one: %s", async (_, bytes) => {
    const before = own.plain;
    const all = [USUAL_POST + bytes + LAST];
    const [ours, nodes] = await Promise.all([own.tell(all), node.tell(all)]);
    expect(ours).toBe(nodes);
    expect(own.kept()).toEqual(node.kept());
    expect(own.plain).toBe(before + 1);
  });

  it.each([
    ["a publish", USUAL_POST],
    ["a folded line", withLines("x-a: b\r\n c")],
    ["chunks and a length", withLines("transfer-encoding: chunked")],
  ])("%s in two pieces, wherever it is cut", async (_, bytes) => {
    const cuts = Array.from({ length: bytes.length - 1 }, (__, at) => [
      bytes.slice(0, at + 1),
      bytes.slice(at + 1) + LAST,
    ]);
    // A few run at a time: the second piece must not arrive before the first was read, and more requests would be
    // paced.
    for (let at = 0; at < cuts.length; at += 24) {
      // The default limits let every request end, however late its second piece arrives on a busy machine.
      const ways = [await PathTo.open(true, {}), await PathTo.open(false, {})] as const;
      const some = cuts.slice(at, at + 24);
      const [ours, nodes] = await Promise.all(ways.map((way) => Promise.all(some.map((each) => way.tell(each)))));
      expect(ours).toEqual(nodes);
      expect(ways[0].kept()).toEqual(ways[1].kept());
    }
  });
});

describe("a connection that was read without Node", () => {
  it("is answered while it is closed, and then closed", async () => {
    const way = await PathTo.open(true);
    const [idle, busy] = [await way.dial(), await way.dial()];
    const bytes = USUAL_POST.replace("KEY", way.api.adminKey);
    idle.write(bytes, "latin1");
    await once(idle, "data");
    const commit = Promise.withResolvers<void>();
    way.fake.publishing = () => commit.promise;
    busy.write(bytes, "latin1");
    await expect.poll(() => way.plain).toBe(2);
    const gone = once(idle, "close");
    const closed = way.api.listener.close(5000);
    await gone;
    let text = "";
    busy.on("data", (chunk) => (text += String(chunk)));
    const over = once(busy, "close");
    commit.resolve();
    await Promise.all([over, closed]);
    expect(text).toMatch(/^HTTP\/1.1 202 [^]*\r\nConnection: close\r\n/);
  });

  it("is closed after a rest, and Node's when nothing came", async () => {
    const fake = new FakeStore();
    // Node adds a second to the keep-alive time, so a headers limit of a second makes the test no slower, and a busy
    // machine has read them by then.
    const bounds = { keepAliveTimeout: 50, headersTimeout: 1000, connectionsCheckingInterval: 10 };
    const way = new PathTo(await ApiServer.start(fake.asStore(), { config: aConfig(), bounds }), fake);
    const [kept, silent] = [await way.dial(), await way.dial()];
    kept.write(USUAL_POST.replace("KEY", way.api.adminKey), "latin1");
    let text = "";
    silent.on("data", (chunk) => (text += String(chunk)));
    kept.resume();
    await Promise.all([once(kept, "close"), once(silent, "close")]);
    expect(text).toMatch(/^HTTP\/1.1 408 /);
    expect(way.plain).toBe(1);
  });

  it("is not read from while it does not read its answers", async () => {
    const way = await PathTo.open(true);
    const warned: unknown[] = [];
    const onWarning = (warning: unknown) => void warned.push(warning);
    process.on("warning", onWarning);
    const opened = once(way.api.server, "connection");
    const client = await way.dial();
    const [served] = (await opened) as [Socket];
    const burst = Buffer.from(USUAL_POST.replace("KEY", way.api.adminKey).repeat(BURST), "latin1");
    const { drafts } = way.fake;
    let asked = 0;
    while (!served.isPaused() && asked < 60_000) {
      client.write(burst);
      asked += BURST;
      while (drafts.length < asked) await turn();
      await turn();
    }
    expect(served.isPaused()).toBe(true);
    for (let more = 0; more < 10; more++) client.write(burst);
    for (let turns = 0; turns < 100; turns++) await turn();
    expect(drafts).toHaveLength(asked);
    expect(served.writableLength).toBeLessThan(served.writableHighWaterMark + BURST * 1000);

    let answers = 0;
    client.on("data", (chunk) => (answers += String(chunk).split("\r\nx-request-id: ").length - 1));
    while (drafts.length < asked + 10 * BURST) await turn();
    await expect.poll(() => answers).toBeGreaterThan(asked);
    expect(warned).toEqual([]);
    process.off("warning", onWarning);
    client.destroy();
  });
});
