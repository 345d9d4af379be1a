import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { Signer } from "../../../src/delivery/send/signer.ts";
import { ManualClock } from "../../harness/clock.ts";
import { DialSpy } from "../../harness/dial.ts";
import { claim, signedRequest } from "../../harness/egress.ts";
import { closeAfter, egressOf, exchangeTo, rawReceiverOf, receiverOf, urlOf } from "../../harness/exchange.ts";
import { aTarget } from "../../harness/target.ts";

describe("one exchange with a receiver", () => {
  it("sends the exact bytes, signed, with the headers as given and nothing that was not asked for", async () => {
    const receiver = await receiverOf();
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const signer = new Signer(
      aTarget({ url: `${receiver.url}?a=b`, headers: { "X-Own": "1" }, signingSecret: secret }),
      { header: "X-Service-Signature", standardWebhooks: true, also: [], version: "1" },
    );
    const body = Buffer.from(`{"id":"evt_1","data":{"n":9007199254740993,"p":1.10,"é":"\\u00e9"}}`);
    const outcome = await exchangeTo(receiver.url).post(signer.sign(claim({ body }), 1_795_168_000));

    expect(outcome).toMatchObject({ outcome: "succeeded", statusCode: 200, error: null, remoteAddress: "127.0.0.1" });
    const [request] = receiver.requests;
    expect(request).toMatchObject({ method: "POST", path: "/hook?a=b" });
    expect(request!.body.equals(body)).toBe(true);
    expect(receiver.verify(request!, secret)).toBe(true);
    const names = request!.rawHeaders.filter((_, i) => i % 2 === 0).join(" ");
    expect(names).toBe(
      "host connection content-type user-agent X-Service-Signature webhook-id webhook-timestamp webhook-signature " +
        "x-webhookd-delivery x-webhookd-attempt X-Own content-length",
    );
  });

  it.each(["/hook?", "/hook??", "/a//b/?x=", "/%7e;x=1?y=%20+", "/"])("asks for %s as the URL has it", async (path) => {
    const receiver = await receiverOf();
    const target = aTarget({ url: new URL(path, receiver.url).href });
    const signer = new Signer(target, {
      header: "X-Service-Signature",
      standardWebhooks: true,
      also: [],
      version: "1",
    });
    await exchangeTo(target.url).post(signer.sign(claim(), 1_795_168_000));
    expect(receiver.requests[0]!.path).toBe(path);
  });

  it("takes no later piece of an answer for the whole one that came before", async () => {
    const statuses = ["200 OK", "500 Oops", "200 OK"];
    const server = createServer((socket) => {
      socket.setNoDelay(true).on("error", () => {});
      socket.on("data", (request) => {
        if (!request.includes("POST")) return;
        socket.write(`HTTP/1.1 ${statuses.shift()}\r\n`);
        // The pause makes the client read the two parts one by one.
        setTimeout(() => socket.write("content-length: 0\r\n\r\n"), 30);
      });
    }).listen(0, "127.0.0.1");
    closeAfter(async () => void server.close());
    await once(server, "listening");
    const exchange = exchangeTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`);
    const codes = [];
    for (let at = 0; at < 3; at++) codes.push((await exchange.post(signedRequest())).statusCode);
    expect(codes).toEqual([200, 500, 200]);
  });

  it("keeps its connection, and says of a reused one that nothing was looked up or connected", async () => {
    const receiver = await receiverOf();
    const exchange = exchangeTo(receiver.url);
    const first = await exchange.post(signedRequest());
    const second = await exchange.post(signedRequest());
    expect(receiver.connections).toBe(1);
    expect(first.phases).toMatchObject({ dnsMs: null, connectMs: expect.any(Number), tlsMs: null });
    expect(second.phases).toEqual({ dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: expect.any(Number) });
    expect(second.remoteAddress).toBe("127.0.0.1");
  });

  it("never shares a connection with another endpoint of the same host", async () => {
    const receiver = await receiverOf();
    const egress = egressOf();
    await exchangeTo(receiver.url, egress).post(signedRequest());
    await exchangeTo(receiver.url, egress).post(signedRequest());
    expect(receiver.connections).toBe(2);
  });

  it("drops a connection that has lived for 60 s", async () => {
    const receiver = await receiverOf();
    const clock = new ManualClock();
    const exchange = exchangeTo(receiver.url, egressOf({ clock }));
    await exchange.post(signedRequest());
    for (let second = 1; second < 60; second++) {
      clock.advance("1s");
      await exchange.post(signedRequest());
    }
    expect(receiver.connections).toBe(1);
    clock.advance("1s");
    await exchange.post(signedRequest());
    expect(receiver.connections).toBe(2);
  });

  it("closes a connection that nothing was sent on for 2 s", async () => {
    const receiver = await receiverOf();
    const clock = new ManualClock();
    const exchange = exchangeTo(receiver.url, egressOf({ clock }));
    await exchange.post(signedRequest());
    clock.advance(1999);
    await new Promise(setImmediate);
    expect(receiver.open).toBe(1);
    clock.advance(1);
    await expect.poll(() => receiver.open, { interval: 1 }).toBe(0);
  });

  it.each([
    ["timeout=2", 2],
    ["max=5, timeout=3", 1],
    ["timeout=60", 1],
  ])("keeps a connection 2 s less than its receiver says: %s", async (keepAlive, connections) => {
    const receiver = await rawReceiverOf({
      send: `HTTP/1.1 200 OK\r\nKeep-Alive: ${keepAlive}\r\ncontent-length: 0\r\n\r\n`,
    });
    const clock = new ManualClock();
    const exchange = exchangeTo(urlOf(receiver), egressOf({ clock }));
    await exchange.post(signedRequest());
    clock.advance(999);
    await exchange.post(signedRequest());
    expect(receiver.connections).toBe(connections);
    if (keepAlive === "max=5, timeout=3") {
      clock.advance(1000);
      await exchange.post(signedRequest());
      expect(receiver.connections).toBe(2);
    }
  });

  it("does not follow a redirect, and keeps where it pointed", async () => {
    const other = await receiverOf();
    const receiver = await receiverOf({ redirect: other.url, status: 307 });
    const outcome = await exchangeTo(receiver.url).post(signedRequest());
    expect(outcome).toMatchObject({ outcome: "failed", statusCode: 307, error: "redirect_not_followed" });
    expect(outcome.responseHeaders["location"]).toBe(other.url);
    expect(other.requests).toEqual([]);
  });

  it("keeps 256 bytes of a success, 16 KiB of a failure, and of a test whatever may be read", async () => {
    const body = "x".repeat(16_384);
    const receiver = await receiverOf({ body }, { body }, { body: `${body}x` }, { status: 500, body });
    const exchange = exchangeTo(receiver.url);
    const kept = async (keepsAll: boolean) => {
      const outcome = await exchange.post(signedRequest({ keepsAll }));
      return [outcome.responseBody.length, outcome.responseTruncated];
    };
    expect(await kept(false)).toEqual([256, true]);
    expect(await kept(true)).toEqual([16_384, false]);
    expect(await kept(true)).toEqual([16_384, true]);
    expect(receiver.connections).toBe(1);
    expect(await kept(false)).toEqual([16_384, false]);
    expect(receiver.connections).toBe(2);
  });

  it("keeps what UTF-8 a header holds, and cuts it between two characters", async () => {
    const utf8 = (text: string) => Buffer.from(text).toString("latin1");
    const long = `${"s".repeat(255)}é`;
    const head = `HTTP/1.1 200 OK\r\ncontent-length: 0\r\nlocation: ${utf8("/café/エ")}\r\nserver: ${utf8(long)}\r\n`;
    const receiver = await rawReceiverOf({ send: `${head}content-type: caf\xe9\r\ncontent-encoding: gzip\r\n\r\n` });
    const { responseHeaders } = await exchangeTo(urlOf(receiver)).post(signedRequest());
    expect(responseHeaders).toEqual({
      location: "/café/エ",
      server: "s".repeat(255),
      // Headers that are not UTF-8 are read as Latin-1.
      "content-type": "café",
      "content-encoding": "gzip",
    });
  });

  it("keeps six response headers, each cut to 256 bytes", async () => {
    const headers = { "content-type": "text/plain", server: "s".repeat(300), "x-secret": "no", "retry-after": "7" };
    const receiver = await receiverOf({ headers });
    const { responseHeaders } = await exchangeTo(receiver.url).post(signedRequest());
    expect(responseHeaders).toMatchObject({
      "content-type": "text/plain",
      server: "s".repeat(256),
      "retry-after": "7",
    });
    expect(Object.keys(responseHeaders).toSorted()).toEqual(["content-type", "date", "retry-after", "server"]);
  });
});

describe("the time limit of an exchange", () => {
  it("ends an attempt that got no answer, and measures it", async () => {
    const receiver = await receiverOf("hang");
    const clock = new ManualClock();
    const ended = exchangeTo(receiver.url, egressOf({ clock, timeoutMs: 10_000 })).post(signedRequest());
    await receiver.next();
    clock.advance(9999);
    clock.advance(1);
    expect(await ended).toMatchObject({ outcome: "failed", error: "timeout", statusCode: null, durationMs: 10_000 });
  });

  it("hangs up on an address that never took the call", async () => {
    const clock = new ManualClock();
    const spy = new DialSpy("blackhole");
    const ended = exchangeTo("http://127.0.0.1/", egressOf({ clock, dial: spy.dial, timeoutMs: 1000 })).post(
      signedRequest(),
    );
    clock.advance(1000);
    expect(await ended).toMatchObject({ error: "timeout", phases: { connectMs: null } });
    expect(spy.sockets.map((socket) => socket.destroyed)).toEqual([true]);
  });

  it("lets the body of a success have a second more, which is not counted", async () => {
    const receiver = await rawReceiverOf({ send: "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf" });
    const clock = new ManualClock();
    const egress = egressOf({ clock, timeoutMs: 10_000, bodyMs: 1000 });
    const decided = vi.spyOn(egress.bodies, "add");
    const ended = exchangeTo(urlOf(receiver), egress).post(signedRequest());
    await expect.poll(() => decided.mock.calls.length, { interval: 1 }).toBe(1);
    clock.advance(1000);
    const outcome = await ended;
    expect(outcome).toMatchObject({ outcome: "succeeded", error: null, bodyError: "timeout", durationMs: 0 });
    expect(Buffer.from(outcome.responseBody).toString()).toBe("half");
  });

  it("notes a body that ends too early", async () => {
    const head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\n";
    const receiver = await rawReceiverOf({ send: `${head}half` }, { close: "fin" });
    const outcome = await exchangeTo(urlOf(receiver)).post(signedRequest());
    expect(outcome).toMatchObject({ outcome: "succeeded", bodyError: "connection_closed" });
  });

  it("cuts off what never becomes a header or a body after 1 MiB", async () => {
    const flood = { every_ms: 0, send_gen: { text: "a", times: 65_536 } };
    const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;";
    const receiver = await rawReceiverOf({ send: head }, { repeat: flood });
    const egress = egressOf({ timeoutMs: 10_000, bodyMs: 10_000 });
    const outcome = await exchangeTo(urlOf(receiver), egress).post(signedRequest());
    expect(outcome).toMatchObject({ outcome: "succeeded", bodyError: "bad_response" });
  });
});
