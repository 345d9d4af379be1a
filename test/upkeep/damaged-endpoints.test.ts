import { expect, it } from "vitest";
import { WebhookdError } from "../../src/domain/errors.ts";
import type { Endpoint } from "../../src/domain/endpoints/endpoint.ts";
import { silentLog } from "../../src/log.ts";
import type { EndpointQuery, Page } from "../../src/store/store.ts";
import { DamagedEndpoints } from "../../src/upkeep/watches.ts";
import { ManualClock } from "../harness/clock.ts";

const HOUR = 60 * 60_000;
const PAGE_EVERY = 10_000;

/** A store with `count` endpoints, some of them damaged, that records the sizes of the pages read. */
function setUp(count: number, damaged: Set<number>) {
  const read: number[] = [];
  const found: string[] = [];
  const clock = new ManualClock();
  const world = { fails: false };
  const endpoint = (at: number): Endpoint =>
    ({
      id: `ep_${at}`,
      tenant: "default",
      damaged: damaged.has(at) ? { parts: ["secrets"], reason: "altered" } : null,
    }) as never;
  const list = async ({ cursor, limit }: EndpointQuery): Promise<Page<Endpoint>> => {
    if (world.fails) throw new WebhookdError("storage_unavailable", "for now");
    const from = Number(cursor ?? 0);
    const to = Math.min(count, from + limit);
    read.push(to - from);
    const data = Array.from({ length: to - from }, (_, at) => endpoint(from + at));
    return { data, nextCursor: to < count ? String(to) : null };
  };
  const get = async (_: string | null, id: string) => endpoint(Number(id.slice(3)));
  const looks = new DamagedEndpoints({
    store: { endpoints: { list, get } as never },
    clock,
    log: silentLog,
    onFound: ({ id }) => found.push(id),
  });
  return { clock, damaged, found, looks, read, world };
}

it("endpoints are looked at a page at a time, from the first to the last, and again after an hour", async () => {
  const { clock, found, looks, read } = setUp(250, new Set([3, 249]));
  await looks.run();
  await looks.run();
  expect([read, found]).toEqual([[100], ["ep_3"]]);
  for (let page = 0; page < 3; page++) {
    clock.advance(PAGE_EVERY);
    await looks.run();
  }
  expect([read, found]).toEqual([
    [100, 100, 50],
    ["ep_3", "ep_249"],
  ]);
  clock.advance(HOUR);
  for (let page = 0; page < 4; page++) {
    await looks.run();
    clock.advance(PAGE_EVERY);
  }
  expect(read).toEqual([100, 100, 50, 100, 100, 50]);
  expect(found).toHaveLength(2);
});

it("a look that the store refuses begins anew with the next second, and leaves nothing out", async () => {
  const { clock, found, looks, read, world } = setUp(150, new Set([149]));
  await looks.run();
  clock.advance(PAGE_EVERY);
  world.fails = true;
  await looks.run();
  expect(read).toEqual([100]);
  world.fails = false;
  await looks.run();
  clock.advance(PAGE_EVERY);
  await looks.run();
  expect([read, found]).toEqual([[100, 100, 50], ["ep_149"]]);
});

it("what is mended is seen no more within a second, wherever the look is", async () => {
  const { damaged, looks } = setUp(250, new Set([0]));
  await looks.run();
  expect(looks.all.map(({ id }) => id)).toEqual(["ep_0"]);
  damaged.clear();
  await looks.run();
  expect(looks.all).toEqual([]);
});
