import { describe, expect, it } from "vitest";
import { publish } from "../../src/api/publishing/publish.ts";
import type { ApiParts } from "../../src/api/parts.ts";
import type { SignedRequest } from "../../src/delivery/http/exchange.ts";
import { addEndpoint, again, answered, draft, withoutCapacity, withCapacity, START } from "../store/fixtures.ts";
import { openSqlite } from "../store/stores.ts";
import { dispatcherOn } from "./house.ts";
import { partly } from "../harness/partly.ts";

/** The attempts that an endpoint may have in flight, plus some that are on their way there. */
const WINDOW = 256;
const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** The real store, dispatcher and sender. The receiver answers 200 in the next turn of the event loop. */
async function setUp(maxInFlight: number) {
  const { store, clock } = await openSqlite();
  const endpoint = await addEndpoint(store, { maxInFlight });
  const started: string[] = [];
  const dispatcher = dispatcherOn({
    store,
    clock,
    post: async (_url, request: SignedRequest) => {
      started.push(JSON.parse(Buffer.from(request.body).toString("utf8")).id as string);
      await turn();
      return answered(200, { durationMs: 1 });
    },
  });
  const committed: string[] = [];
  const parts = partly<ApiParts>({ store, deliveries: dispatcher });
  const publishBatch = async (size: number) => {
    // Each commit has its own millisecond.
    clock.advance(1);
    const published = await publish(parts, Array(size).fill(draft()), { now: clock.now() });
    committed.push(...published.map(({ id }) => id));
  };
  /** Returns by how many places, at most, a first attempt started too late or too early. */
  const disorder = () => {
    const place = new Map(committed.map((event, at) => [event, at]));
    const places = started.flatMap((event) => place.get(event) ?? []);
    return Math.max(...places.map((at, start) => Math.abs(at - start)));
  };
  return { store, clock, endpoint, dispatcher, started, committed, publishBatch, disorder };
}

describe("first attempts of an endpoint", () => {
  it("start in the order of their commits, also where some had no room in memory", async () => {
    const { dispatcher, started, committed, publishBatch, disorder } = await setUp(16);
    await dispatcher.start();
    for (let batch = 0; batch < 60; batch++) await publishBatch(100);
    // These are published more slowly than they are sent, so that memory has space again long before the last of them.
    for (let batch = 0; batch < 600; batch++) {
      await publishBatch(10);
      await turn();
    }
    await dispatcher.idle();
    expect(started.length).toBe(committed.length);
    expect(new Set(started).size).toBe(committed.length);
    expect(disorder()).toBeLessThanOrEqual(WINDOW);
    await dispatcher.sweep();
    expect(dispatcher.lost).toBe(0);
    await dispatcher.stop();
  });

  it("start in the order of their commits after a restart, before those that come later", async () => {
    const { store, clock, dispatcher, committed, publishBatch, disorder } = await setUp(16);
    const published = await store.events.publish(Array(3000).fill(draft()), START, withoutCapacity);
    committed.push(...published.map(({ id }) => id));
    clock.advance(1000);
    await dispatcher.start();
    for (let batch = 0; batch < 100; batch++) {
      await publishBatch(10);
      await turn();
    }
    await dispatcher.idle();
    expect(disorder()).toBeLessThanOrEqual(WINDOW);
    await dispatcher.stop();
  });

  it("do not wait behind retries that are due, nor retries behind them", async () => {
    const { store, clock, dispatcher, started, committed, publishBatch, disorder } = await setUp(4);
    const retries = 3000;
    for (let at = 0; at < retries; at += 500) {
      const published = await store.events.publish(Array(500).fill(draft()), START, withCapacity);
      const claims = published.flatMap(({ fresh }) => fresh);
      await store.deliveries.record(claims.map((claim) => again(claim, START)));
    }
    clock.advance(1000);
    await dispatcher.start();
    for (let batch = 0; batch < 10; batch++) await publishBatch(50);
    await dispatcher.idle();
    const first = new Set(committed);
    expect(started.length).toBe(retries + first.size);
    const last = started.findLastIndex((event) => first.has(event));
    // Retries and first attempts take turns, so about as many retries have started by then.
    expect(last).toBeLessThan(3 * first.size);
    expect(last).toBeGreaterThan(1.5 * first.size);
    expect(disorder()).toBeLessThanOrEqual(WINDOW);
    await dispatcher.stop();
  });
});
