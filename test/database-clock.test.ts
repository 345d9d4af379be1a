import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { DatabaseClock, hostAheadMs, systemClock } from "../src/clock.ts";
import { skewText } from "../src/domain/time/skew.ts";
import { ManualClock } from "./harness/clock.ts";

const HOUR = 3_600_000;

/**
 * A host whose clock is an hour ahead. Its queries reach the database, and the answers return, after the given delays.
 */
function aHost() {
  const host = new ManualClock();
  const clock = new DatabaseClock(host);
  const database = { ahead: -HOUR };
  const ask = (there: number, back: number) => {
    const asked = clock.monotonic();
    host.advance(there);
    const instant = host.now() + database.ahead;
    host.advance(back);
    clock.observe(instant, asked, clock.monotonic());
  };
  const offBy = () => clock.now() - (host.now() + database.ahead);
  return { host, clock, database, ask, offBy };
}

describe("the clock of a database", () => {
  it("is the host's until the database has answered", () => {
    const { clock, host } = aHost();
    expect([clock.now(), clock.aheadMs]).toEqual([host.now(), null]);
    expect(hostAheadMs(host)).toBeNull();
  });

  it("is known as well as the best of several answers allows", () => {
    const { ask, clock, host, offBy } = aHost();
    ask(0, 900);
    expect(Math.abs(offBy())).toBeLessThanOrEqual(450);
    for (const [there, back] of [
      [40, 0],
      [3, 5],
      [0, 200],
      [80, 10],
    ] as const) {
      host.advance(1000);
      ask(there, back);
    }
    expect(Math.abs(offBy())).toBeLessThanOrEqual(5);
    expect(clock.aheadMs).toBe(HOUR - offBy());
    expect(Number.isInteger(clock.now())).toBe(true);
  });

  it("does not move when the host's clock is set", () => {
    const { ask, clock, host } = aHost();
    ask(1, 1);
    const before = clock.now();
    host.step(24 * HOUR);
    expect(clock.now()).toBe(before);
    expect(clock.aheadMs).toBe(25 * HOUR);
    host.advance(500);
    expect(clock.now()).toBe(before + 500);
  });

  it("follows the database's when that is set, forward and back, and after a host was suspended", () => {
    const { ask, clock, database, host, offBy } = aHost();
    clock.settle();
    for (const by of [24 * HOUR, -48 * HOUR, 2000, -1000]) {
      ask(1, 1);
      database.ahead += by;
      host.advance(1000);
      ask(1, 1);
      expect(Math.abs(offBy())).toBeLessThanOrEqual(1);
    }
  });

  it("moves by 5 ms at a time where it turns out to be off, so that no retry is early", () => {
    const { ask, clock, host, offBy } = aHost();
    ask(0, 200);
    clock.settle();
    const off = offBy();
    expect(Math.abs(off)).toBe(100);
    for (let seconds = 1; seconds <= 40; seconds++) {
      const before = clock.now();
      host.advance(998);
      ask(1, 1);
      expect(Math.abs(clock.now() - before - 1000)).toBeLessThanOrEqual(6);
    }
    expect(Math.abs(offBy())).toBeLessThanOrEqual(2);
    expect(clock.uncertaintyMs).toBeLessThan(3);
  });

  it("follows a clock that drifts for days", () => {
    const { ask, clock, database, host, offBy } = aHost();
    clock.settle();
    for (let seconds = 0; seconds < 3600; seconds++) {
      database.ahead += 0.1;
      host.advance(1000);
      ask(1, 1);
      expect(Math.abs(offBy())).toBeLessThanOrEqual(3);
    }
  });

  it("is the same on all threads of a process", async () => {
    const real = new DatabaseClock({ ...systemClock, now: () => 0 });
    real.observe(1e12, systemClock.monotonic(), systemClock.monotonic());
    const source = `
      const { parentPort, workerData } = require("node:worker_threads");
      import(workerData.module).then(({ DatabaseClock, systemClock }) => {
        const clock = new DatabaseClock(systemClock, workerData.distance);
        parentPort.on("message", () => parentPort.postMessage(clock.now()));
        parentPort.postMessage("ready");
      });`;
    const workerData = { module: new URL("../src/clock.ts", import.meta.url).href, distance: real.distance };
    const worker = new Worker(source, { eval: true, workerData });
    const answer = () => new Promise<number>((resolve) => worker.once("message", resolve));
    await answer();
    for (const instant of [2e12, 3e12]) {
      real.observe(instant, systemClock.monotonic(), systemClock.monotonic());
      const [asked, answered] = [real.now(), answer()];
      worker.postMessage("now");
      const there = await answered;
      // Rounding to milliseconds may add one.
      expect(there).toBeGreaterThanOrEqual(asked - 1);
      expect(there).toBeLessThanOrEqual(real.now() + 1);
    }
    await worker.terminate();
  });
});

it.each([
  [null, null],
  [1000, null],
  [-1000, null],
  [1001, "1.0 s ahead of"],
  [-3240, "3.2 s behind"],
  [86_400_000, "86400.0 s ahead of"],
])("a host that is %s ms ahead is %s the one that counts", (aheadMs, text) => {
  expect(skewText(aheadMs)).toBe(text);
});
