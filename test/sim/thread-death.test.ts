import { expect, it } from "vitest";
import { noResponse, type Ended, type Outcome } from "../../src/domain/deliveries/attempt.ts";
import { Sender } from "../../src/delivery/send/sender.ts";
import { serveSender } from "../../src/delivery/threads/thread-port.ts";
import { SenderPool } from "../../src/delivery/threads/sender-pool.ts";
import type { Target } from "../../src/domain/endpoints/endpoint.ts";
import { silentLog } from "../../src/log.ts";
import { claim } from "../harness/egress.ts";
import { VirtualClock } from "./clock.ts";
import { SETTINGS } from "./process.ts";
import { SimThread } from "./thread.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

/** One thread after another, on which attempts end when the test says so. `started` has every start, by delivery. */
function world() {
  const virtual = new VirtualClock();
  const clock = virtual.forProcess(() => true);
  const threads: SimThread[] = [];
  const started: string[] = [];
  const posts: ((outcome: Outcome) => void)[] = [];
  const ended: Ended[] = [];
  const sending = new SenderPool({
    threads: 1,
    settings: SETTINGS,
    log: silentLog,
    now: clock.now,
    clock,
    onEnded: (batch) => ended.push(...batch),
    start: ({ onWire }) => {
      const thread = new SimThread({ clock, delay: () => 1, onExit() {} });
      threads.push(thread);
      serveSender({
        port: thread.port,
        onWire,
        clock,
        open: ({ onStart, onEnded }) =>
          new Sender({
            clock,
            onEnded,
            onStart: (send) => {
              started.push(send.delivery);
              onStart(send);
            },
            signer: () => ({ sign: () => ({}) }) as never,
            open: () => ({
              post: () => new Promise((resolve) => posts.push(resolve)),
              abort() {},
              close: async () => {},
            }),
            maxInFlight: 8,
            endpointMaxInFlight: 8,
          }),
      });
      return thread.asThread();
    },
  });
  const pass = async () => {
    for (const end = virtual.monotonic + 20; virtual.runNext(end);) await new Promise(setImmediate);
  };
  const target = {
    endpoint: "ep_01",
    url: "https://receiver.example/",
    maxInFlight: null,
    ratePerSecond: null,
  } as Target;
  unawaited(sending.setTarget(target));
  /** Ends the attempt that was started last, this many milliseconds from now. */
  const endLastIn = (ms: number) => {
    virtual.at(virtual.monotonic + ms, () => posts.at(-1)!(noResponse("timeout", "no answer", ms)));
  };
  return { sending, threads, started, ended, pass, endLastIn };
}

it("attempts that were on the wire of a thread that died are made again", async () => {
  const { sending, threads, started, ended, pass } = world();
  sending.send([claim()]);
  await pass();
  threads[0]!.die();
  await pass();
  expect(started).toEqual(["dlv_01", "dlv_01"]);
  expect(ended).toEqual([]);
});

it("what was on the wire of a thread that died is not tried again once its endpoint's deliveries were taken back", async () => {
  const { sending, threads, started, ended, pass } = world();
  sending.send([claim()]);
  await pass();
  const forgotten = sending.forget("ep_01");
  await pass();
  expect(await forgotten).toEqual([]);
  threads[0]!.die();
  await pass();
  expect(started).toEqual(["dlv_01"]);
  expect(ended).toMatchObject([{ delivery: "dlv_01", outcome: { outcome: "interrupted", ours: false } }]);
  // A delivery that is sent again is no longer marked as taken back.
  sending.send([claim()]);
  await pass();
  threads.at(-1)!.die();
  await pass();
  expect(started).toEqual(["dlv_01", "dlv_01", "dlv_01"]);
});

it("what was taken back on the wire is not tried again, whatever else its endpoint was sent since", async () => {
  const { sending, threads, started, ended, pass } = world();
  sending.send([claim()]);
  await pass();
  const forgotten = sending.forget("ep_01");
  await pass();
  expect(await forgotten).toEqual([]);
  sending.send([claim({ delivery: "dlv_02" })]);
  await pass();
  threads[0]!.die();
  await pass();
  expect(ended).toMatchObject([{ delivery: "dlv_01", outcome: { outcome: "interrupted", ours: false } }]);
  expect(started).toEqual(["dlv_01", "dlv_02", "dlv_02"]);
});

// Messages take 1 ms, so at any of these times the attempt's end may cross the message that takes deliveries back.
it.each([0, 1, 2, 3])("a suspect that is taken back is not tried when the one before it ends in %i ms", async (ms) => {
  const { sending, threads, started, pass, endLastIn } = world();
  sending.send([claim(), claim({ delivery: "dlv_02" })]);
  await pass();
  threads[0]!.die();
  await pass();
  expect(started).toEqual(["dlv_01", "dlv_02", "dlv_01"]);
  endLastIn(ms);
  let before: string[] = [];
  const forgotten = sending.forget("ep_01").finally(() => (before = [...started]));
  await pass();
  await forgotten;
  expect(started).toEqual(before);
});

it("what waits in a thread that dies while all is paused is sent once that is over", async () => {
  const { sending, threads, started, pass } = world();
  const paused = sending.pause();
  await pass();
  await paused;
  sending.send([claim()]);
  await pass();
  threads[0]!.die();
  await pass();
  expect(started).toEqual([]);
  sending.resume();
  await pass();
  expect(started).toEqual(["dlv_01"]);
});
