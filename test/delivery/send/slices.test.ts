/**
 * A fan-out to thousands of endpoints starts and ends its attempts in short slices, so that other work gets its turn.
 */
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { Destination, Opening } from "../../../src/delivery/http/egress-guard.ts";
import { Deadlines, Timed } from "../../../src/delivery/http/egress.ts";
import { Sender } from "../../../src/delivery/send/sender.ts";
import { Signer } from "../../../src/delivery/send/signer.ts";
import type { Outcome } from "../../../src/domain/deliveries/attempt.ts";
import { ManualClock } from "../../harness/clock.ts";
import { claim, testEgress } from "../../harness/egress.ts";
import { addEndpoint, answered, publishOne } from "../../store/fixtures.ts";
import { openSqlite } from "../../store/stores.ts";
import { dispatcherOn } from "../house.ts";
import { aTarget } from "../../harness/target.ts";

const [ENDPOINTS, DIAL_MS] = [2000, 0.25];
const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/**
 * A sender to as many endpoints as one publish may have. None answers, and each connection takes some time to begin.
 */
async function setUp() {
  const clock = new ManualClock();
  let started = 0;
  const sender = new Sender({
    clock,
    signer: (target) =>
      new Signer(target, { header: "X-Service-Signature", standardWebhooks: false, also: [], version: "0" }),
    open: () => ({
      post: () => {
        started++;
        clock.advance(DIAL_MS);
        return new Promise<Outcome>(() => {});
      },
      abort() {},
      close: async () => {},
    }),
    maxInFlight: 4096,
    endpointMaxInFlight: 256,
    onEnded: () => {},
  });
  for (let at = 0; at < ENDPOINTS; at++) await sender.setTarget(aTarget({ endpoint: `ep_${at}` }));
  const sends = Array.from({ length: ENDPOINTS }, (_, at) => claim({ endpoint: `ep_${at}`, delivery: `dlv_${at}` }));
  return { sender, sends, clock, started: () => started };
}

it("starts attempts for 2 ms at a time, and all of them in the end", async () => {
  const { sender, sends, clock, started } = await setUp();
  sender.send(sends);
  let longest = clock.monotonic();
  while (started() < ENDPOINTS) {
    const before = clock.monotonic();
    await turn();
    longest = Math.max(longest, clock.monotonic() - before);
  }
  expect(longest).toBeLessThanOrEqual(2);
});

it("starts nothing in a coming turn once it is paused, and goes on when it is resumed", async () => {
  const { sender, sends, started } = await setUp();
  sender.send(sends);
  await sender.pause();
  const before = started();
  await turn();
  expect(started()).toBe(before);
  sender.resume();
  while (started() < ENDPOINTS) await turn();
});

/** Returns the length of the longest turn until `isDone`. The clock moves only with the work. */
async function longestTurn(clock: ManualClock, isDone: () => boolean): Promise<number> {
  let longest = 0;
  for (let before = clock.monotonic(); !isDone(); before = clock.monotonic()) {
    await turn();
    longest = Math.max(longest, clock.monotonic() - before);
  }
  return longest;
}

it("opens connections for 2 ms at a time, in the order in which they are wanted", async () => {
  const clock = new ManualClock();
  const dialled: number[] = [];
  const egress = testEgress({
    clock,
    dial: (_ip, port) => {
      dialled.push(port);
      clock.advance(DIAL_MS);
      return new Socket();
    },
  });
  const ports = Array.from({ length: 500 }, (_, at) => 1000 + at);
  for (const port of ports) {
    const to = new Destination(new URL(`http://127.0.0.1:${port}/h`), "default");
    new Opening(egress, to, () => {}).start();
  }
  expect(dialled.length).toBeLessThanOrEqual(8);
  expect(await longestTurn(clock, () => dialled.length === ports.length)).toBeLessThanOrEqual(2);
  expect(dialled).toEqual(ports);
  egress.close();
});

it("ends attempts whose time is up for 2 ms at a time", async () => {
  const clock = new ManualClock();
  const deadlines = new Deadlines(clock, 10_000);
  let ended = 0;
  class Entry extends Timed {
    override expire(): void {
      ended++;
      clock.advance(DIAL_MS);
    }
  }
  for (let at = 0; at < 200; at++) deadlines.add(new Entry());
  clock.advance(10_000);
  expect(ended).toBeLessThanOrEqual(8);
  expect(await longestTurn(clock, () => ended === 200)).toBeLessThanOrEqual(2);
  deadlines.close();
});

it("looks up endpoints for 2 ms at a time", async () => {
  const { store, clock } = await openSqlite();
  for (let at = 0; at < 200; at++) await addEndpoint(store);
  const { target } = store.endpoints;
  let [inTurn, most] = [0, 0];
  store.endpoints.target = (endpoint) => {
    if (inTurn++ === 0) setImmediate(() => (inTurn = 0));
    most = Math.max(most, inTurn);
    clock.advance(DIAL_MS);
    return target.call(store.endpoints, endpoint);
  };
  const posted: string[] = [];
  const post = async (url: string) => {
    posted.push(url);
    return answered(200);
  };
  const dispatcher = dispatcherOn({ store, clock, post });
  await dispatcher.start();
  dispatcher.accept(await publishOne(store, {}, clock.now()));
  while (posted.length < 200) await turn();
  // The work of two turns: the one in which the look-ups were requested, and the next.
  expect(most).toBeLessThanOrEqual(16);
  await dispatcher.idle();
  await dispatcher.stop();
  await store.close();
});
