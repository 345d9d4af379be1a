import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import * as fc from "fast-check";
import { Client } from "undici";
import { describe, expect, it, vi } from "vitest";
import { Exchange } from "../../../src/delivery/http/exchange.ts";
import { Signer } from "../../../src/delivery/send/signer.ts";
import { ManualClock } from "../../harness/clock.ts";
import { DialSpy } from "../../harness/dial.ts";
import { claim, signedRequest } from "../../harness/egress.ts";
import { closeAfter, egressOf, exchangeTo, OK, rawReceiverOf, receiverOf, urlOf } from "../../harness/exchange.ts";
import { RawReceiver } from "../../harness/raw-receiver.ts";
import { TestReceiver } from "../../harness/receiver.ts";

describe("one exchange with a receiver", () => {
  it("sends the exact bytes, signed, with the headers as given and nothing that was not asked for", async () => {
    const receiver = await receiverOf();
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const target = {
      endpoint: "ep_1",
      tenant: "default",
      url: `${receiver.url}?a=b`,
      enabled: true,
      headers: { "X-Own": "1" },
    };
    const signer = new Signer(
      {
        ...target,
        signingSecret: secret,
        secretVersion: 1,
        nextSigningSecret: null,
        ratePerSecond: null,
        maxInFlight: null,
      },
      { header: "X-Service-Signature", standardWebhooks: true, version: "1" },
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

  it("takes no later piece of an answer for the whole one that came before", async () => {
    const statuses = ["200 OK", "500 Oops", "200 OK"];
    const server = createServer((socket) => {
      socket.setNoDelay(true).on("error", () => {});
      socket.on("data", (request) => {
        if (!request.includes("POST")) return;
        socket.write(`HTTP/1.1 ${statuses.shift()}\r\n`);
        // Far enough apart to be read one by one.
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

  it("keeps five response headers, each cut to 256 bytes", async () => {
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

/** What undici makes of the bytes: the final status, if there is one, and the body of an answer that was complete. */
async function readByUndici(url: string): Promise<{ status: number | null; body: string | null }> {
  const client = new Client(new URL(url).origin, {
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 16_384,
    allowH2: false,
  });
  const read = { status: null as number | null, body: null as string | null };
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve) =>
    client.dispatch(
      { method: "POST", path: "/hook", headers: [], body: "x" },
      {
        onRequestStart: () => {},
        onResponseStart: (_controller, status) => void (read.status = status < 200 ? read.status : status),
        onResponseData: (_controller, chunk) => void chunks.push(chunk),
        onResponseEnd() {
          read.body = Buffer.concat(chunks).toString("latin1");
          resolve();
        },
        onResponseError: () => resolve(),
      },
    ),
  );
  await client.destroy();
  return read;
}

describe("whatever bytes a receiver sends", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "HTTP/1.1 ",
      "200",
      "100",
      "103 Early\r\n\r\n",
      "404 X\r\n",
      "\r\n",
      "\r\n\r\n",
      "\n",
      ": ",
      "0\r\n",
    ),
    fc.constantFrom("content-length: ", "transfer-encoding: chunked\r\n", "connection: upgrade\r\nupgrade: x\r\n"),
    fc.constantFrom(OK, "5\r\nhello\r\n", "content-length: 5\r\n", "__proto__: x\r\n", "constructor: y\r\n"),
    fc.string({ unit: "binary", maxLength: 20 }),
  );

  it("the attempt ends in an outcome that is well formed", async () => {
    const egress = egressOf({ timeoutMs: 200, bodyMs: 50 });
    const bytes = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
    await fc.assert(
      fc.asyncProperty(bytes, fc.constantFrom("fin", "rst"), async (send, close) => {
        const receiver = await RawReceiver.start({ steps: [{ send }, { close }] }, 1);
        const exchange = new Exchange(egress, urlOf(receiver), "default");
        const outcome = await exchange.post(signedRequest());
        await exchange.close();
        await receiver.close();
        expect(outcome.ours).toBe(false);
        expect(outcome.outcome === "succeeded").toBe(outcome.error === null);
        if (outcome.outcome === "succeeded") expect(Math.floor(outcome.statusCode! / 100)).toBe(2);
      }),
      { numRuns: 200 },
    );
  });

  it("they mean what undici reads in them, in however many pieces they come", async () => {
    const egress = egressOf({ timeoutMs: 5000, bodyMs: 5000 });
    const likely = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom("HTTP/1.1 200 OK\r\n", "HTTP/1.1 500 X\r\n", "HTTP/1.0 204 X\r\n", OK) },
      { weight: 3, arbitrary: fc.constantFrom("content-length: 5\r\n", "\r\nhello", "\r\n", "connection: close\r\n") },
      { weight: 1, arbitrary: piece },
    );
    const sent = fc.array(
      fc.array(likely, { maxLength: 4 }).map((parts) => parts.join("")),
      { maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(sent, async (pieces) => {
        const steps = [...pieces.flatMap((send) => [{ send }, { wait_ms: 2 }]), { close: "fin" } as const];
        const receiver = await RawReceiver.start({ steps }, 1);
        const exchange = new Exchange(egress, urlOf(receiver), "default");
        const [outcome, read] = [await exchange.post(signedRequest()), await readByUndici(urlOf(receiver))];
        await exchange.close();
        await receiver.close();
        expect(outcome.statusCode).toBe(read.status);
        if (read.status === null) return;
        expect(outcome.bodyError === null).toBe(read.body !== null);
        if (read.body !== null) expect(Buffer.from(outcome.responseBody).toString("latin1")).toBe(read.body);
      }),
      { numRuns: 300 },
    );
  });

  it("the same again means the same, and the next is no worse for it", async () => {
    const answers = fc
      .constantFrom(200, 201, 204, 302, 404, 500)
      .chain((status) => fc.constantFrom("", "ok", "no").map((text) => ({ status, body: status === 204 ? "" : text })));
    await fc.assert(
      fc.asyncProperty(fc.array(answers, { minLength: 2, maxLength: 8 }), async (script) => {
        const receiver = await TestReceiver.start(script);
        const exchange = new Exchange(egressOf(), receiver.url, "default");
        for (const [at, { status, body }] of script.entries()) {
          const { statusCode, responseBody } = await exchange.post(signedRequest());
          expect([statusCode, Buffer.from(responseBody).toString()]).toEqual([status, body]);
          const before = script[at - 1]?.status;
          const isKept = before !== undefined && before < 300;
          expect(receiver.requests[at]!.connection - (receiver.requests[at - 1]?.connection ?? 0)).toBe(isKept ? 0 : 1);
        }
        await exchange.close();
        await receiver.close();
      }),
      { numRuns: 60 },
    );
  });
});
