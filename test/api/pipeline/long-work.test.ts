import { expect, it } from "vitest";
import { LongWork } from "../../../src/api/pipeline/limits.ts";
import { ManualClock } from "../../harness/clock.ts";

const PIECE_MS = 2;

function setUp() {
  const clock = new ManualClock();
  const done: string[] = [];
  const work = new LongWork(clock, new Map());
  function* pieces(name: string, count: number): Generator<void, string> {
    for (let at = 0; at < count; at++) {
      clock.advance(PIECE_MS);
      done.push(name);
      yield;
    }
    return `${name} is done`;
  }
  return { clock, done, work, pieces };
}

/** Some turns of the event loop. */
async function turns(): Promise<void> {
  for (let at = 0; at < 5; at++) await new Promise(setImmediate);
}

it("is done without a rest while nobody else publishes, and tenants take turns", async () => {
  const { done, work, pieces } = setUp();
  await work.run("a", pieces("a", 1));
  work.published("a");
  done.length = 0;
  const results = await Promise.all([work.run("a", pieces("a", 3)), work.run("b", pieces("b", 3))]);
  expect(results).toEqual(["a is done", "b is done"]);
  expect(done).toEqual(["a", "b", "a", "b", "a", "b"]);
});

it("rests for seven times as long as each piece took while another tenant publishes", async () => {
  const { clock, done, work, pieces } = setUp();
  const result = work.run("a", pieces("a", 3));
  work.published("neighbour");
  await turns();
  expect(done).toHaveLength(1);
  clock.advance(7 * PIECE_MS - 1);
  await turns();
  expect(done).toHaveLength(1);
  clock.advance(1);
  await turns();
  expect(done).toHaveLength(2);
  // The neighbour has published nothing for a while.
  clock.advance(2000);
  expect(await result).toBe("a is done");
});

it("rejects with what a piece throws, and goes on with the others", async () => {
  const { work, pieces } = setUp();
  // oxlint-disable-next-line require-yield
  function* broken(): Generator<void, void> {
    throw new RangeError("too much");
  }
  const [first, second] = await Promise.allSettled([work.run("a", broken()), work.run("b", pieces("b", 1))]);
  expect(first).toMatchObject({ reason: { message: "too much" } });
  expect(second).toMatchObject({ value: "b is done" });
});
