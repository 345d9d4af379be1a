import { describe, expect, it } from "vitest";
import { publish } from "../../src/api/publishing/publish.ts";
import type { ApiParts } from "../../src/api/parts.ts";
import type { Dispatcher } from "../../src/delivery/dispatcher.ts";
import type { SignedRequest } from "../../src/delivery/http/exchange.ts";
import type { Store } from "../../src/store/store.ts";
import { ManualClock } from "../harness/clock.ts";
import { addEndpoint, answered, draft, withoutCapacity, START } from "../store/fixtures.ts";
import { openSqlite } from "../store/stores.ts";
import { dispatcherOn } from "./house.ts";
import { around } from "../harness/store.ts";
import { partly } from "../harness/partly.ts";

const DUE = 100_000;
const [DISABLED, OTHER] = ["https://disabled.example/", "https://other.example/"];

/** The real store, dispatcher and sender. Receivers answer 200 in the next turn of the event loop, and are counted. */
class House {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  /** The number of times that each event has arrived, by URL. */
  readonly arrived = new Map<string, Map<string, number>>();
  /** The largest number of rows that one call of the store read or wrote, by method. */
  readonly most: Record<string, number> = {};

  constructor(store: Store, clock: ManualClock) {
    this.store = this.#counting(store);
    this.dispatcher = dispatcherOn({ store: this.store, clock, post: (url, request) => this.#post(url, request) });
  }

  count(url: string): number {
    return this.arrived.get(url)?.size ?? 0;
  }

  async change(id: string, enabled: boolean): Promise<void> {
    await this.store.endpoints.update(null, id, (settings) => ({ ...settings, enabled, maxInFlight: null }), START);
    await this.dispatcher.refresh(id);
  }

  /** Publishes events one by one as the API does: each is acknowledged before the next. */
  async publishToOther(count: number): Promise<void> {
    const parts = partly<ApiParts>({ store: this.store, deliveries: this.dispatcher });
    for (let n = 0; n < count; n++) await publish(parts, [draft({ type: "goal.achieved" })], { now: START });
  }

  async #post(url: string, request: SignedRequest) {
    const event = JSON.parse(Buffer.from(request.body).toString("utf8")).id as string;
    const seen = this.arrived.get(url) ?? new Map<string, number>();
    this.arrived.set(url, seen.set(event, (seen.get(event) ?? 0) + 1));
    await new Promise(setImmediate);
    return answered(200, { durationMs: 1 });
  }

  #counting(store: Store): Store {
    const rowsOf: Record<string, (given: any[], result: any) => number> = {
      "deliveries.due": (_, page) => page.claims.length,
      "deliveries.waiting": (_, page) => page.length,
      "deliveries.park": ([deliveries]) => deliveries.length,
    };
    return around(store, (verb, call, given) => {
      const rows = rowsOf[verb];
      if (rows === undefined) return call();
      return (call() as Promise<unknown>).then((result) => {
        this.most[verb] = Math.max(this.most[verb] ?? 0, rows(given as any[], result));
        return result;
      });
    });
  }
}

describe("an endpoint that is disabled with 100,000 deliveries due", () => {
  it("stalls nobody, is sent nothing, and gets each of them once when it is enabled", async () => {
    const { store, clock } = await openSqlite();
    const id = await addEndpoint(store, { url: DISABLED });
    await addEndpoint(store, { url: OTHER, events: ["goal.achieved"] });
    const events: string[] = [];
    while (events.length < DUE) {
      const published = await store.events.publish(Array(1000).fill(draft()), START, withoutCapacity);
      events.push(...published.map((event) => event.id));
    }
    const house = new House(store, clock);
    await house.dispatcher.start();
    await expect.poll(() => house.count(DISABLED), { interval: 1 }).toBeGreaterThan(0);

    await house.change(id, false);
    const sent = house.count(DISABLED);
    await house.publishToOther(50);
    await house.dispatcher.idle();
    expect(house.count(OTHER)).toBe(50);
    expect(house.count(DISABLED)).toBe(sent);
    expect(sent).toBeLessThan(DUE / 2);

    await house.change(id, true);
    await house.publishToOther(50);
    // The enabled endpoint's backlog is sent while the other one's publishes wait for their commits. It is far from
    // finished.
    expect(house.count(DISABLED)).toBeLessThan(DUE);
    await house.dispatcher.idle();
    expect(house.count(OTHER)).toBe(100);
    expect([...house.arrived.get(DISABLED)!.keys()].sort()).toEqual(events.sort());
    expect([...house.arrived.values()].flatMap((seen) => [...seen.values()]).filter((times) => times > 1)).toEqual([]);
    expect(house.most["deliveries.due"]).toBeLessThanOrEqual(256);
    expect(house.most["deliveries.park"] ?? 0).toBeLessThanOrEqual(500);
    await house.dispatcher.sweep();
    expect(house.dispatcher.lost).toBe(0);
    await house.dispatcher.stop();
  });

  it("is written back when its deliveries were fresh, and found again", async () => {
    const { store, clock } = await openSqlite();
    const id = await addEndpoint(store, { url: DISABLED, maxInFlight: 1 });
    const house = new House(store, clock);
    await house.dispatcher.start();
    const parts = partly<ApiParts>({ store: house.store, deliveries: house.dispatcher });
    await publish(parts, Array(900).fill(draft()), { now: START });
    await house.change(id, false);
    const sent = house.count(DISABLED);
    await house.dispatcher.idle();
    expect(house.count(DISABLED)).toBe(sent);
    expect(house.most["deliveries.park"]).toBe(500);
    expect(await store.deliveries.fresh(null, 10)).toEqual([]);
    await house.change(id, true);
    await house.dispatcher.idle();
    expect(house.count(DISABLED)).toBe(900);
    await house.dispatcher.stop();
  });
});
