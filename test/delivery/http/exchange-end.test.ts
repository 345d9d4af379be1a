import { Socket } from "node:net";
import { describe, expect, it, vi } from "vitest";
import type { Outcome } from "../../../src/domain/deliveries/attempt.ts";
import { ManualClock } from "../../harness/clock.ts";
import { signedRequest } from "../../harness/egress.ts";
import { egressOf, exchangeTo, rawReceiverOf, receiverOf, urlOf } from "../../harness/exchange.ts";
import { unawaited } from "../../../src/domain/unawaited.ts";

describe("an end from our side", () => {
  it("interrupts what was not decided, and blames nobody", async () => {
    const receiver = await receiverOf("hang");
    const exchange = exchangeTo(receiver.url);
    const ended = exchange.post(signedRequest());
    await receiver.next();
    exchange.abort();
    expect(await ended).toMatchObject({ outcome: "interrupted", error: "interrupted", ours: true });
  });

  it("interrupts a look-up too, and dials nobody for it afterwards", async () => {
    const { promise, resolve } = Promise.withResolvers<readonly string[]>();
    const dialled: string[] = [];
    const dial = (ip: string) => {
      dialled.push(ip);
      return new Socket();
    };
    const exchange = exchangeTo("http://slow.example/", egressOf({ resolve: () => promise, dial }));
    const ended = exchange.post(signedRequest());
    exchange.abort();
    expect(await ended).toMatchObject({ outcome: "interrupted" });
    resolve(["93.184.216.34"]);
    await new Promise(setImmediate);
    expect(dialled).toEqual([]);
  });

  it("leaves a success that had its header block a success", async () => {
    const receiver = await rawReceiverOf({ send: "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf" });
    const egress = egressOf({ clock: new ManualClock() });
    const decided = vi.spyOn(egress.bodies, "add");
    const exchange = exchangeTo(urlOf(receiver), egress);
    const ended = exchange.post(signedRequest());
    await expect.poll(() => decided.mock.calls.length, { interval: 1 }).toBeGreaterThan(0);
    exchange.abort();
    expect(await ended).toMatchObject({ outcome: "succeeded", statusCode: 200 });
  });

  it("waits for what is on the wire when it closes", async () => {
    const receiver = await receiverOf({ delayMs: 30 });
    const exchange = exchangeTo(receiver.url);
    let outcome: Outcome | null = null;
    unawaited(exchange.post(signedRequest()).then((ended) => (outcome = ended)));
    await receiver.next();
    await exchange.close();
    await Promise.resolve();
    expect(outcome).toMatchObject({ outcome: "succeeded" });
  });

  it("closes after several, however they end", async () => {
    const receiver = await receiverOf(200, "hang", "hang", "hang");
    const exchange = exchangeTo(receiver.url);
    const ended = Array.from({ length: 4 }, () => exchange.post(signedRequest()));
    await Promise.race(ended);
    for (let i = 0; i < 4; i++) await receiver.next();
    exchange.abort();
    await exchange.close();
    const outcomes = (await Promise.all(ended)).map(({ outcome }) => outcome);
    expect(outcomes.toSorted()).toEqual(["interrupted", "interrupted", "interrupted", "succeeded"]);
  });

  it("does not take a host without IPv6 for one without ports", async () => {
    const error = Object.assign(new Error(), { code: "EADDRNOTAVAIL", address: "2606::1" });
    const egress = egressOf({ dial: () => new Socket().destroy(error) });
    const outcome = await exchangeTo("http://[2606:4700::1]/", egress).post(signedRequest());
    expect(outcome).toMatchObject({ outcome: "failed", error: "unreachable", ours: false });
  });

  it.each(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "ENETDOWN", "EADDRNOTAVAIL"])("is what %s is", async (code) => {
    const dial = () => new Socket().destroy(Object.assign(new Error(), { code }));
    const outcome = await exchangeTo("http://127.0.0.1:80/", egressOf({ dial })).post(signedRequest());
    expect(outcome).toMatchObject({ outcome: "interrupted", error: "interrupted", ours: true });
  });
});
