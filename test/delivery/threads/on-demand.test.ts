import { expect, it } from "vitest";
import { Sender, type SenderParts } from "../../../src/delivery/send/sender.ts";
import { ThreadsOnDemand } from "../../../src/delivery/threads/on-demand.ts";
import { SenderPool } from "../../../src/delivery/threads/sender-pool.ts";
import { serveSender } from "../../../src/delivery/threads/thread-port.ts";
import { plainSuccess, type Ended, type Outcome } from "../../../src/domain/deliveries/attempt.ts";
import type { Target } from "../../../src/domain/endpoints/endpoint.ts";
import { silentLog } from "../../../src/log.ts";
import { claim } from "../../harness/egress.ts";
import { VirtualClock } from "../../sim/clock.ts";
import { SETTINGS } from "../../sim/process.ts";
import { Random } from "../../sim/random.ts";
import { SimThread } from "../../sim/thread.ts";

const BUSY = 10;
const REST_MS = 5000;
const MAX_IN_FLIGHT = 12;
const ENDPOINT_MAX_IN_FLIGHT = 6;
/** Two endpoints without limits, one with its own cap, and one with its own rate. */
const NAMES = ["plain-1", "plain-2", "capped", "rated"];
const CAP = 2;
const RATE = 4;

interface Out {
  readonly endpoint: string;
  readonly delivery: string;
  readonly url: string;
}

/** Senders here and on threads, with one network for all of them that records each attempt. */
class World {
  readonly virtual = new VirtualClock();
  readonly clock = this.virtual.forProcess(() => true);
  readonly random: Random;
  readonly sending: ThreadsOnDemand;
  readonly threads: SimThread[] = [];
  readonly started: string[] = [];
  readonly startedAt = new Map<string, number[]>();
  readonly ended: string[] = [];
  readonly given: string[] = [];
  readonly out = new Set<Out>();
  /** No delivery in this set may start, and none at all during a pause. */
  readonly withdrawn = new Set<string>();
  pausedFor: "nobody" | "all" = "nobody";
  /** The URLs where each endpoint's attempts may go: while its URL is being changed, the old one too. */
  readonly urls = new Map<string, readonly string[]>();
  /** The longest time that an attempt takes. */
  slowest = 50;
  /** The time at which a thread made the endpoint's first attempt. */
  readonly onThreadSince = new Map<string, number>();
  /** Counts how often all threads have ended. */
  rests = 0;
  sent = 0;
  versions = 0;

  constructor(seed: number, isSuspicious: boolean, busyInAll: number, movesPerSecond: number) {
    this.random = new Random(seed);
    const { clock } = this;
    const ended = (batch: readonly Ended[]) => void this.ended.push(...batch.map(({ delivery }) => delivery));
    this.sending = new ThreadsOnDemand({
      openHere: async (onEnded) => this.#sender(MAX_IN_FLIGHT, { onEnded }),
      openThreads: (onEnded, onDeath) =>
        new SenderPool({
          threads: 2,
          settings: { ...SETTINGS, maxInFlight: MAX_IN_FLIGHT, endpointMaxInFlight: ENDPOINT_MAX_IN_FLIGHT },
          log: silentLog,
          now: clock.now,
          clock,
          onEnded,
          onDeath,
          start: ({ onWire, settings }) => {
            const thread = new SimThread({ clock, delay: () => this.random.between(0, 3), onExit() {} });
            this.threads.push(thread);
            serveSender({
              port: thread.port,
              onWire,
              clock,
              open: (hooks) =>
                this.#sender(settings.maxInFlight, hooks, ({ endpoint }) => {
                  const since = this.onThreadSince.get(endpoint) ?? this.virtual.monotonic;
                  this.onThreadSince.set(endpoint, since);
                }),
            });
            return thread.asThread();
          },
        }),
      busyPerSecond: BUSY,
      busyInAll,
      restMs: REST_MS,
      isSuspicious,
      maxInFlight: MAX_IN_FLIGHT,
      endpointMaxInFlight: ENDPOINT_MAX_IN_FLIGHT,
      movesPerSecond,
      clock,
      onEnded: ended,
      onThreadsEnded: () => void this.rests++,
    });
  }

  get running(): number {
    return this.threads.filter(({ alive }) => alive).length;
  }

  #sender(
    maxInFlight: number,
    hooks: Pick<SenderParts, "onEnded" | "onStart">,
    onPost: (out: Out) => void = () => {},
  ): Sender {
    return new Sender({
      ...hooks,
      clock: this.clock,
      signer: ({ url }) => ({ sign: ({ delivery, endpoint }: Out) => ({ delivery, endpoint, url }) }) as never,
      open: () => ({
        post: (request) => {
          onPost(request as unknown as Out);
          return this.#post(request as unknown as Out);
        },
        abort() {},
        close: async () => {},
      }),
      maxInFlight,
      endpointMaxInFlight: ENDPOINT_MAX_IN_FLIGHT,
    });
  }

  #post(out: Out): Promise<Outcome> {
    const { delivery, endpoint, url } = out;
    expect(this.urls.get(endpoint)).toContain(url);
    expect(this.started).not.toContain(delivery);
    expect(this.given).not.toContain(delivery);
    expect(this.withdrawn).not.toContain(delivery);
    expect(this.pausedFor).toBe("nobody");
    this.started.push(delivery);
    this.out.add(out);
    expect(this.out.size).toBeLessThanOrEqual(MAX_IN_FLIGHT);
    const alike = [...this.out].filter((each) => each.endpoint === endpoint).length;
    expect(alike).toBeLessThanOrEqual(endpoint === "capped" ? CAP : ENDPOINT_MAX_IN_FLIGHT);
    const times = this.startedAt.get(endpoint) ?? [];
    this.startedAt.set(endpoint, times);
    times.push(this.virtual.monotonic);
    if (endpoint === "rated") {
      expect(times.filter((at) => at > this.virtual.monotonic - 1000).length).toBeLessThanOrEqual(RATE + 1);
    }
    const took = this.random.between(0, this.slowest);
    return new Promise((resolve) => {
      this.virtual.at(this.virtual.monotonic + took, () => {
        this.out.delete(out);
        resolve(plainSuccess(200, took, {}));
      });
    });
  }

  async target(endpoint: string): Promise<void> {
    const maxInFlight = endpoint === "capped" ? CAP : null;
    const ratePerSecond = endpoint === "rated" ? RATE : null;
    const before = this.urls.get(endpoint) ?? [];
    const url = `https://${endpoint}.example/${this.versions++}`;
    this.urls.set(endpoint, [...before, url]);
    const setting = this.sending.setTarget({ endpoint, url, enabled: true, maxInFlight, ratePerSecond } as Target);
    await this.pass(20);
    await setting;
    this.urls.set(endpoint, [url]);
  }

  send(endpoint: string, count: number): void {
    const sends = Array.from({ length: count }, () => claim({ endpoint, delivery: `${endpoint}:${this.sent++}` }));
    this.sending.send(sends);
  }

  async pass(ms: number): Promise<void> {
    for (const end = this.virtual.monotonic + ms; ;) {
      await new Promise(setImmediate);
      if (!this.virtual.runNext(end)) return;
    }
  }

  async forget(endpoint: string): Promise<void> {
    const given = this.sending.forget(endpoint);
    await this.pass(20);
    this.given.push(...(await given));
  }

  async pause(): Promise<void> {
    const paused = this.sending.pause();
    await this.pass(20);
    await paused;
    this.pausedFor = "all";
  }

  resume(): void {
    this.pausedFor = "nobody";
    this.sending.resume();
  }

  /**
   * Waits until everything has been sent. Each delivery must have ended or been given back exactly once, and each
   * endpoint's attempts must have started in the order in which they were sent.
   */
  async settle(): Promise<void> {
    await this.pass(600_000);
    expect(this.out.size).toBe(0);
    expect([...this.ended, ...this.given].toSorted()).toEqual(this.all.toSorted());
    for (const name of NAMES) {
      const starts = this.started.filter((delivery) => delivery.startsWith(`${name}:`));
      const places = starts.map((delivery) => Number(delivery.split(":")[1]));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      // With a cap of 0 no delivery would be read for the endpoint, so no attempt would end and raise the cap.
      expect(this.sending.cap(name)).toBeGreaterThanOrEqual(1);
    }
  }

  readonly all: string[] = [];
}

async function aWorld(seed: number, isSuspicious = false, busyInAll = 0, movesPerSecond = 400): Promise<World> {
  const world = new World(seed, isSuspicious, busyInAll, movesPerSecond);
  const send = world.sending.send.bind(world.sending);
  world.sending.send = (sends) => {
    world.all.push(...sends.map(({ delivery }) => delivery));
    send(sends);
  };
  for (const name of NAMES) await world.target(name);
  return world;
}

it("counts a rest from soon after the flood, and not from the next whole minute", async () => {
  const world = await aWorld(2);
  for (let spent = 0; spent < 0.3 * REST_MS; spent += 1000) {
    world.send("plain-1", 30);
    await world.pass(1000);
  }
  expect(world.running).toBe(2);
  await world.pass(1.3 * REST_MS);
  expect(world.running).toBe(0);
});

it("no thread is started while little is sent, and none is left a minute after much was", async () => {
  const world = await aWorld(1);
  for (let i = 0; i < 30; i++) {
    world.send("plain-1", 1);
    await world.pass(200);
  }
  expect(world.threads).toHaveLength(0);
  world.send("plain-1", 30);
  await world.pass(1000);
  expect(world.running).toBe(2);
  await world.pass(REST_MS);
  expect(world.running).toBe(0);
  expect(world.rests).toBe(1);
  world.send("plain-1", 1);
  await world.settle();
  expect(world.threads).toHaveLength(2);
});

it("a burst starts no thread, and as many that go on coming do", async () => {
  const world = await aWorld(7, false, 6 * BUSY);
  const seconds = async (count: number) => {
    for (let i = 0; i < 2 * count; i++) {
      world.send("plain-1", BUSY);
      await world.pass(500);
    }
  };
  world.send("plain-1", 5 * BUSY);
  await world.pass(2000);
  await seconds(2);
  // A second with few sends restarts the count.
  world.send("plain-1", 1);
  await world.pass(1500);
  await seconds(2);
  expect(world.threads).toHaveLength(0);
  await seconds(2);
  expect(world.running).toBe(2);
  await world.settle();
});

it("a thread starts at once where a delivery is suspected, and stays", async () => {
  const world = await aWorld(2, true);
  expect(world.running).toBe(2);
  world.send("plain-1", 1);
  await world.pass(4 * REST_MS);
  expect(world.running).toBe(2);
  await world.settle();
});

it("endpoints go to threads one after the other", async () => {
  const world = await aWorld(8, false, 0, 2);
  world.slowest = 20;
  world.send("plain-1", 30);
  for (let i = 0; i < 30; i++) {
    for (const name of ["plain-1", "plain-2", "capped"]) world.send(name, 1);
    await world.pass(100);
  }
  const [first, second, third] = ["plain-1", "plain-2", "capped"].map((name) => world.onThreadSince.get(name)!);
  expect(second! - first!).toBeGreaterThanOrEqual(400);
  expect(third! - second!).toBeGreaterThanOrEqual(400);
  expect(third! - first!).toBeLessThanOrEqual(1200);
  await world.settle();
});

it("once a thread has died, threads send for as long as the process lives", async () => {
  const world = await aWorld(3);
  world.send("plain-1", 30);
  await world.pass(1000);
  world.threads[0]!.die();
  await world.pass(4 * REST_MS);
  expect(world.running).toBe(2);
  await world.settle();
});

it("an attempt that hangs here counts against its endpoint's cap on the thread", async () => {
  const world = await aWorld(4);
  world.slowest = 60_000;
  world.send("capped", 4);
  await world.pass(10);
  for (let i = 0; i < 4; i++) {
    world.send("plain-1", 8);
    world.send("capped", 1);
    await world.pass(500);
  }
  expect(world.running).toBe(2);
  await world.settle();
});

/** Returns a world in which sends are about to move back from the threads, which takes a few milliseconds. */
async function aReturn(): Promise<World> {
  const world = await aWorld(5);
  world.slowest = 3000;
  world.send("capped", 30);
  await world.pass(REST_MS - 2);
  return world;
}

it("sends that arrive while others move back queue behind the waiting ones", async () => {
  const world = await aReturn();
  for (let i = 0; i < 18; i++) {
    world.send("capped", 1);
    await world.pass(1);
  }
  await world.settle();
  expect(world.running).toBe(0);
});

it("sends after a move go to the endpoint's URL at that time", async () => {
  const world = await aWorld(6);
  world.send("rated", 20);
  // The rate makes its sends wait for a second on their way to the threads.
  for (let i = 0; i < 12; i++) {
    world.send("plain-1", 5);
    await world.pass(100);
    await world.target("rated");
  }
  expect(world.running).toBe(2);
  await world.settle();
});

it.each([0, 2, 4, 6, 8, 10, 12, 14])(
  "sends that are withdrawn while they move back (%i ms) are not started",
  async (ms) => {
    const world = await aReturn();
    await world.pass(ms);
    world.send("capped", 1);
    await world.forget("capped");
    await world.settle();
    expect(world.given.length).toBeGreaterThan(10);
  },
);

it.each(Array.from({ length: 60 }, (_, seed) => seed + 10))(
  "order, caps, rates, pauses and withdrawals hold while sends go back and forth (seed %i)",
  async (seed) => {
    const world = await aWorld(seed, false, 0, [1, 4, 400][seed % 3]);
    const { random } = world;
    for (let step = 0; step < 60; step++) {
      world.slowest = random.pick([5, 50, 500, 8000]);
      const name = random.pick(NAMES);
      const kind = random.between(0, 20);
      if (kind === 0) await world.forget(name);
      else if (kind === 1) {
        await world.pause();
        await world.pass(random.between(0, 3000));
        world.resume();
      } else if (kind === 2) await world.target(name);
      else if (kind === 3) await world.pass(random.between(0, 3 * REST_MS));
      else if (kind < 8) world.send(name, random.between(5, 40));
      else world.send(name, random.between(1, 2));
      await world.pass(random.pick([0, 0, 1, 5, 200, 1000]));
    }
    await world.settle();
    expect(world.running).toBe(0);
  },
);
