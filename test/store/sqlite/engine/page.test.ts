import { expect, it } from "vitest";
import { pageOf, type Walk } from "../../../../src/store/sqlite/engine/page.ts";
import type { Page, PageQuery } from "../../../../src/store/store.ts";
import { Cursors } from "../../../../src/store/lists/cursors.ts";

const ROWS = 10_000;
const cursors = new Cursors(() => Buffer.from("a mark of some length"));
const query: PageQuery = { tenant: null, limit: 10, order: "oldest" };

/** Lists the numbers from 1 on, of which one is wanted. Looking at a row takes a millisecond. */
function walk(clock: { now: number }, wanted: number): Walk<number, number> {
  return {
    list: "numbers",
    start: [0],
    rows: ([after], limit) => Array.from({ length: Math.min(limit, ROWS - after!) }, (_, index) => after! + index + 1),
    keysOf: (row) => [row],
    look: (row) => {
      clock.now++;
      return { item: row === wanted ? row : null, rows: 0 };
    },
  };
}

function read(clock: { now: number }, wanted: number, cursor?: string): { page: Page<number>; slices: number } {
  const means = { cursors, monotonic: () => clock.now };
  const reading = pageOf(() => walk(clock, wanted), { ...query, ...(cursor !== undefined && { cursor }) }, means);
  for (let slices = 1; ; slices++) {
    const { done, value } = reading.next();
    if (done === true) return { page: value, slices };
    // The time between slices belongs to others.
    clock.now += 10_000;
  }
}

it("a page is cut short when its time is over, says so, and goes on from there", () => {
  const clock = { now: 0 };
  const { page, slices } = read(clock, 900);
  expect(page).toMatchObject({ data: [], cutShort: true });
  expect(slices).toBe(6);
  const { page: next } = read(clock, 900, page.nextCursor!);
  expect(next).toMatchObject({ data: [900], cutShort: true });
});

it("no other page is short while there is more", () => {
  const instant = { cursors, monotonic: () => 0 };
  const reading = pageOf(() => walk({ now: 0 }, ROWS), query, instant);
  let step = reading.next();
  while (step.done !== true) step = reading.next();
  expect(step.value).toEqual({ data: [ROWS], nextCursor: null });
});

it("a total that takes long is left out, because a part of it would be another number each time", () => {
  const clock = { now: 0 };
  const means = { cursors, monotonic: () => clock.now };
  const has = () => (clock.now += 0.1) > 0;
  const wanted: Walk<number, number> = { ...walk(clock, 1), has, look: (row) => ({ item: row, rows: 0 }) };
  const reading = pageOf(() => wanted, { ...query, total: true }, means);
  let step = reading.next();
  while (step.done !== true) step = reading.next();
  expect(step.value.data).toHaveLength(10);
  expect(step.value).not.toHaveProperty("total");
});

it("a total that an index tells is not counted row by row", () => {
  const clock = { now: 0 };
  const told = { ...walk(clock, 1), count: (limit: number) => Math.min(limit, 20_000) };
  const means = { cursors, monotonic: () => clock.now };
  const reading = pageOf(() => told, { ...query, limit: 1, order: "newest", total: true }, means);
  let step = reading.next();
  while (step.done !== true) step = reading.next();
  expect(step.value.total).toEqual({ count: 10_000, atLeast: true });
});
