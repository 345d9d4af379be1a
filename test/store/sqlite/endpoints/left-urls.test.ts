import { expect, it } from "vitest";
import { ManualClock } from "../../../harness/clock.ts";
import { addEndpoint, ended, EVERYTHING, publishOne, START } from "../../fixtures.ts";
import { ask, open, temporaryDirectory } from "../../stores.ts";

const DAY = 86_400_000;
const [FIRST, SECOND, LAST] = ["https://first.example/", "https://second.example/", "https://last.example/"];

it("keeps a URL as long as an endpoint has it or an attempt was made to it, and a day more", async () => {
  const [dir, clock] = [temporaryDirectory(), new ManualClock()];
  const store = await open({ dir, clock });
  const endpoint = await addEndpoint(store, { url: FIRST });
  const other = await addEndpoint(store, { url: FIRST, tenant: "other" });
  const send = async (url: string, tenant = "default") => {
    const { id, fresh } = await publishOne(store, { tenant }, clock.now());
    await store.deliveries.record([ended(fresh[0]!, { status: "delivered" }, { url, startedAt: clock.now() })]);
    return id;
  };
  const urlOf = async (event: string) =>
    (await store.reads.listAttempts({ ...EVERYTHING, event }))?.data.map(({ url }) => url);
  const move = (id: string, url: string) =>
    store.endpoints.update(null, id, (settings) => ({ ...settings, url }), clock.now());
  /** Prunes events that ended before that time, and returns the number of URLs left. */
  const left = async (before: number) => {
    await store.upkeep.pruneEvents({ delivered: before, failed: before }, null);
    await store.endpoints.prune(Number.NEGATIVE_INFINITY, null);
    return ask(dir, "SELECT count(*) FROM url");
  };

  const first = await send(FIRST);
  await move(endpoint, SECOND);
  await send(SECOND);
  await send(LAST);
  clock.advance(2 * DAY);
  const second = await send(SECOND);
  // The URL stays because its event does.
  expect([await left(START), await urlOf(first)]).toEqual([3, [FIRST]]);
  // The event is gone, but another endpoint has the URL until it is deleted too.
  expect([await left(START + 1), await urlOf(first)]).toEqual([3, undefined]);
  await store.endpoints.delete(null, other, clock.now());
  clock.advance(DAY);
  await send(SECOND);
  expect([await left(clock.now()), await urlOf(second)]).toEqual([3, undefined]);
  clock.advance(1);
  await send(SECOND);
  expect(await left(clock.now())).toBe(2);

  await move(endpoint, FIRST);
  expect(await urlOf(await send(FIRST))).toEqual([FIRST]);
  expect(ask(dir, "SELECT count(*) FROM url WHERE left_at IS NULL")).toBe(2);
});
