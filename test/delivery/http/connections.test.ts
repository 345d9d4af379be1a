import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../harness/clock.ts";
import { signedRequest } from "../../harness/egress.ts";
import { egressOf, exchangeTo, receiverOf } from "../../harness/exchange.ts";
import type { TestReceiver } from "../../harness/receiver.ts";

const REST_MS = 250;

/** Returns a receiver, and an exchange that has never connected to it. */
async function strangers() {
  const receiver = await receiverOf();
  const clock = new ManualClock();
  const exchange = exchangeTo(receiver.url, egressOf({ clock, restMs: REST_MS }));
  /** Posts a request, and returns the number of its connection at the receiver, counted from 1. */
  const post = async (): Promise<number> => {
    expect(await exchange.post(signedRequest())).toMatchObject({ outcome: "succeeded" });
    return receiver.requests.at(-1)!.connection;
  };
  /**
   * Uses two connections and lets them rest, after which the exchange trusts that the receiver sends nothing unasked.
   */
  const trust = async (): Promise<void> => {
    await post();
    clock.advance(REST_MS);
    expect(await post()).toBe(2);
    await turn();
    await turn();
  };
  return { receiver, clock, exchange, post, trust };
}

async function stray(receiver: TestReceiver, bytes: string): Promise<void> {
  receiver.sendRaw(bytes);
  await expect.poll(() => receiver.open, { interval: 1 }).toBe(0);
}

describe("a receiver's silence", () => {
  it("is waited for: until one connection has rested, each of the others carries one request", async () => {
    const { receiver, clock, post } = await strangers();
    expect([await post(), await post(), await post()]).toEqual([1, 2, 3]);
    // The first connection rests. The others are closed.
    await expect.poll(() => receiver.open, { interval: 1 }).toBe(1);
    clock.advance(REST_MS - 1);
    expect(await post()).toBe(4);
    clock.advance(1);
    expect(await post()).toBe(5);
    await turn();
    await turn();
    // Both connections rest now. The one used last is used first.
    expect([await post(), await post()]).toEqual([5, 5]);
    expect(receiver.open).toBe(2);
  });

  it("is not believed of a socket that nobody has read since", async () => {
    const { receiver, clock, exchange, post } = await strangers();
    await post();
    receiver.sendRaw("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    clock.advance(REST_MS);
    receiver.answer(500);
    const refused = exchange.post(signedRequest());
    expect(await refused).toMatchObject({ outcome: "failed", statusCode: 500 });
    expect([await post(), await post()]).toEqual([3, 4]);
  });

  it.each(["\r\n", "H", "HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"])(
    "ends with a stray %j: so does the connection, and for ten minutes each carries one request",
    async (bytes) => {
      const { receiver, clock, post, trust } = await strangers();
      await trust();
      expect([await post(), await post()]).toEqual([2, 2]);
      await stray(receiver, bytes);
      expect([await post(), await post()]).toEqual([3, 4]);
      clock.advance("9m");
      expect([await post(), await post()]).toEqual([5, 6]);
      clock.advance("2m");
      // Trust starts anew after ten minutes, and takes no longer than the first time.
      expect(await post()).toBe(7);
      clock.advance(REST_MS);
      expect(await post()).toBe(8);
      await turn();
      await turn();
      expect(await post()).toBe(8);
    },
  );

  it.each([302, 404, 500, 503])("counts for nothing after a %i: its connection is not used again", async (status) => {
    const { receiver, exchange, post, trust } = await strangers();
    await trust();
    receiver.answer(status);
    expect(await exchange.post(signedRequest())).toMatchObject({ outcome: "failed", statusCode: status });
    expect(receiver.requests.at(-1)!.connection).toBe(2);
    // The other connection still rested.
    expect([await post(), await post()]).toEqual([1, 1]);
    // Nor is it used again if the response is the same again, byte for byte.
    receiver.answer(status, status);
    await exchange.post(signedRequest());
    await exchange.post(signedRequest());
    expect(receiver.requests.slice(-2).map(({ connection }) => connection)).toEqual([1, 3]);
    expect(await post()).toBe(4);
  });
});
