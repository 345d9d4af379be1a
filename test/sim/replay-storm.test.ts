import { onTestFinished, expect, it } from "vitest";
import { plainSuccess } from "../../src/domain/deliveries/attempt.ts";
import { dispatcherOn } from "../delivery/house.ts";
import { addEndpoint, draft, failed, withCapacity } from "../store/fixtures.ts";
import { open, temporaryDirectory } from "../store/stores.ts";
import { VirtualClock } from "./clock.ts";

const DELIVERIES = 10_000;
const ENDPOINTS = 20;
const NETWORK_MS = 5;

/**
 * Replayed deliveries are due now, and in each millisecond a read moves the horizon to now. Everything happens in the
 * real order. Only time is virtual, so that a busy machine makes nothing late.
 */
it("10,000 failed deliveries that are replayed while a tick runs every millisecond start within 1 s of their 202, each once", async () => {
  const virtual = new VirtualClock();
  const clock = virtual.forProcess(() => true);
  const store = await open({ dir: temporaryDirectory(), clock });
  let passing = true;
  const pass = () => {
    virtual.runNext(virtual.monotonic + 1);
    if (passing) setImmediate(pass);
  };
  pass();
  onTestFinished(() => void (passing = false));

  const endpoints = await Promise.all(
    Array.from({ length: ENDPOINTS }, () => addEndpoint(store, { url: "https://receiver.example/hook" })),
  );
  const events: string[] = [];
  for (let at = 0; at < DELIVERIES / ENDPOINTS; at++) {
    const [publication] = await store.events.publish([draft()], clock.now(), withCapacity);
    await store.deliveries.record(publication!.fresh.map(failed));
    events.push(publication!.id);
  }

  const answeredAt = new Map<string, number>();
  const starts = new Map<string, number[]>();
  const dispatcher = dispatcherOn({
    store,
    clock,
    maxInFlight: 1024,
    onStart: ({ delivery }) => starts.set(delivery, [...(starts.get(delivery) ?? []), clock.monotonic()]),
    post: () =>
      new Promise((resolve) => {
        clock.after(NETWORK_MS, () => resolve(plainSuccess(200, NETWORK_MS, {})));
      }),
  });
  await dispatcher.start();
  const tick = () => {
    if (!passing) return;
    dispatcher.tick();
    clock.after(1, tick);
  };
  tick();

  // Twenty callers replay at once, as an operator's script would.
  const left = events.values();
  const replayAll = async () => {
    for (const event of left) {
      const replay = await store.events.replay(null, event, {}, clock.now());
      if (replay.result !== "replayed") throw new Error(`${event} was not replayed: ${replay.result}`);
      dispatcher.replayed(replay.waiting);
      answeredAt.set(event, clock.monotonic());
    }
  };
  await Promise.all(Array.from({ length: 20 }, replayAll));
  await dispatcher.idle();

  expect(starts.size).toBe(DELIVERIES);
  expect([...starts.values()].filter((times) => times.length > 1)).toEqual([]);
  const delays: number[] = [];
  for (const id of events) {
    const event = await store.reads.getEvent(null, id);
    for (const delivery of event!.deliveries) {
      expect(delivery.status).toBe("delivered");
      delays.push(starts.get(delivery.id)![0]! - answeredAt.get(id)!);
    }
  }
  expect(Math.max(...delays)).toBeLessThanOrEqual(1000);
  await dispatcher.sweep();
  expect(dispatcher.lost).toBe(0);
  expect(endpoints).toHaveLength(ENDPOINTS);
  await dispatcher.stop();
});
