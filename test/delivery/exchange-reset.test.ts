import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../harness/clock.ts";
import { DialSpy, type Route } from "../harness/dial.ts";
import { signedRequest } from "../harness/egress.ts";
import { egressOf, exchangeTo, OK, rawReceiverOf, receiverOf, urlOf, closeAfter } from "../harness/exchange.ts";
import { RawReceiver, type Step } from "../harness/raw-receiver.ts";

describe("a connection that is reset", () => {
  const raceOnce: Step[] = [{ send: OK }, { on_second_request: "rst" }];

  it("gets the request again on a fresh one, if it had served before and answered nothing", async () => {
    const receiver = await rawReceiverOf(...raceOnce);
    const exchange = exchangeTo(urlOf(receiver));
    await exchange.post(signedRequest());
    const outcome = await exchange.post(signedRequest());
    expect(outcome).toMatchObject({ outcome: "succeeded", phases: { connectMs: expect.any(Number) } });
    expect([receiver.requests.length, receiver.connections]).toEqual([3, 2]);
  });

  it("fails the attempt if it was fresh", async () => {
    const receiver = await rawReceiverOf({ close: "rst" });
    const outcome = await exchangeTo(urlOf(receiver)).post(signedRequest());
    expect(outcome).toMatchObject({ outcome: "failed", error: "connection_closed" });
    expect(receiver.requests.length).toBe(1);
  });

  it("fails the attempt if a byte of the answer had come", async () => {
    const receiver = await receiverOf();
    const exchange = exchangeTo(receiver.url);
    await exchange.post(signedRequest());
    receiver.answer("hang");
    const ended = exchange.post(signedRequest());
    await receiver.next();
    await receiver.next();
    receiver.sendRaw("HTTP/1.1 2");
    receiver.dropConnections();
    expect(await ended).toMatchObject({ outcome: "failed", error: "connection_closed" });
    expect(receiver.requests.length).toBe(2);
  });

  it("is tried again once, not twice", async () => {
    const receiver = await receiverOf(200, "hang", "hang");
    receiver.onRequest = () => {
      if (receiver.requests.length > 1) receiver.dropConnections();
    };
    const exchange = exchangeTo(receiver.url);
    await exchange.post(signedRequest());
    const outcome = await exchange.post(signedRequest());
    expect(outcome).toMatchObject({ outcome: "failed", error: "connection_closed" });
    expect(receiver.requests.length).toBe(3);
  });

  it.each(["fin", "rst"] as const)("while it was idle (%s) costs nothing either", async (how) => {
    const receiver = await receiverOf();
    const exchange = exchangeTo(receiver.url);
    await exchange.post(signedRequest());
    receiver.dropConnections(how);
    expect(await exchange.post(signedRequest())).toMatchObject({ outcome: "succeeded" });
    expect(receiver.connections).toBe(2);
  });

  it("fails the attempt if it did not end but fell silent for the kernel", async () => {
    const receiver = await receiverOf(200, "hang");
    const spy = new DialSpy(receiver.port);
    const exchange = exchangeTo("http://127.0.0.1/", egressOf({ dial: spy.dial }));
    await exchange.post(signedRequest());
    const ended = exchange.post(signedRequest());
    await receiver.next();
    await receiver.next();
    spy.sockets[0]!.destroy(Object.assign(new Error(), { code: "ETIMEDOUT" }));
    expect(await ended).toMatchObject({ outcome: "failed", error: "timeout" });
    expect(receiver.requests.length).toBe(2);
  });

  it("keeps the time limit while the request goes again", async () => {
    const receiver = await rawReceiverOf(...raceOnce);
    const clock = new ManualClock();
    const routes: Route[] = [receiver.port, "blackhole"];
    const spy = new DialSpy(() => routes.shift()!);
    const exchange = exchangeTo("http://127.0.0.1/", egressOf({ clock, dial: spy.dial, timeoutMs: 1000 }));
    await exchange.post(signedRequest());
    const ended = exchange.post(signedRequest());
    await expect.poll(() => spy.sockets.length, { interval: 1 }).toBe(2);
    clock.advance(1000);
    expect(await ended).toMatchObject({
      error: "timeout",
      detail: "the time limit passed before there was a connection to 127.0.0.1",
      remoteAddress: "127.0.0.1",
    });
    expect(spy.sockets[1]!.destroyed).toBe(true);
  });

  it.each([0, 1])(
    "is not opened over and over for a receiver that speaks unasked, %i requests before",
    async (served) => {
      const receiver = await receiverOf();
      let dialled = 0;
      const dial = () => {
        const socket = connect(receiver.port, "127.0.0.1");
        if (dialled++ >= served) socket.unshift(Buffer.from("SSH-2.0-OpenSSH_9.6\r\n"));
        return socket;
      };
      const exchange = exchangeTo(receiver.url, egressOf({ dial }));
      for (let i = 0; i < served; i++) await exchange.post(signedRequest());
      receiver.dropConnections("fin");
      expect(await exchange.post(signedRequest())).toMatchObject({ outcome: "failed", error: "connection_closed" });
      expect(dialled).toBe(served + 1);
    },
  );

  it("is not used again when it was answered before the request was read", async () => {
    const answer = "HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n";
    const receiver = await RawReceiver.start({ steps: [{ send: answer }], read_request: false }, 1);
    closeAfter(() => receiver.close());
    const exchange = exchangeTo(urlOf(receiver));
    const body = Buffer.alloc(16 * 1024 * 1024);
    expect(await exchange.post(signedRequest({ body }))).toMatchObject({ statusCode: 413 });
    expect(await exchange.post(signedRequest())).toMatchObject({ statusCode: 413 });
    expect(receiver.connections).toBe(2);
  });
});
