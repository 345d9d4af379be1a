import { expect, it } from "vitest";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";

const JOBS = "/v1/webhooks/jobs";
const EVENTS = 30;

/** Creates events whose first attempt failed, and that wait on a late rung. */
async function aScene() {
  const clock = new ManualClock();
  const receiver = await TestReceiver.start(Array.from({ length: EVENTS }, () => 500));
  const daemon = await TestDaemon.start({ clock, settings: { RETRY_DELAYS: "6h" } });
  const { id: endpoint } = await daemon.register(receiver.url);
  const events = Array.from({ length: EVENTS }, (_, n) => ({ type: "budget.exceeded", data: { n } }));
  await daemon.request("POST", "/v1/webhooks/events/batch", { events });
  await daemon.daemon.idle();
  return { clock, receiver, daemon, endpoint };
}

/** Lets a second pass, and the job's paced attempts start. */
async function second(clock: ManualClock, daemon: TestDaemon): Promise<void> {
  clock.advance("1s");
  await daemon.daemon.tick();
  await daemon.settle(clock);
}

/** Returns the largest number of starts within any 1,000 ms. */
function mostInASecond(times: readonly number[]): number {
  return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1000).length));
}

it("a receiver gets no more of a job in any second than its pace and one", async () => {
  const clock = new ManualClock();
  const receiver = await TestReceiver.start(Array.from({ length: 150 }, () => 500));
  const daemon = await TestDaemon.start({ clock, settings: { RETRY_DELAYS: "6h" } });
  await daemon.register(receiver.url);
  const events = Array.from({ length: 75 }, (_, n) => ({ type: "budget.exceeded", data: { n } }));
  for (let batch = 0; batch < 2; batch++) await daemon.request("POST", "/v1/webhooks/events/batch", { events });
  await daemon.daemon.idle();
  const times: number[] = [];
  receiver.onRequest = () => void times.push(clock.now());
  await daemon.request("POST", JOBS, { action: "attempt_now", filter: {}, rate_per_second: 50 });
  while (times.length < 150) await second(clock, daemon);
  expect(mostInASecond(times)).toBeLessThanOrEqual(51);
  const gaps = times.slice(1).map((at, place) => at - times[place]!);
  expect(gaps.toSorted((a, b) => a - b)[75]).toBeGreaterThanOrEqual(10);
  await receiver.close();
});

it("a receiver that is back gets what waits for it, at the pace of a job, across a restart", async () => {
  const { clock, receiver, daemon } = await aScene();
  const made = await daemon.request("POST", JOBS, { action: "attempt_now", filter: {}, rate_per_second: 10 });
  expect(made).toMatchObject({ status: 202, body: { matched: EVENTS } });
  await second(clock, daemon);
  expect(receiver.requests).toHaveLength(EVENTS + 10);
  await daemon.stop();
  const again = await TestDaemon.start({ clock, dir: daemon.dir });
  for (let left = 3; left > 0; left--) await second(clock, again);
  expect((await again.request("GET", `${JOBS}/${made.body.id}`)).body).toMatchObject({
    status: "done",
    done: EVENTS,
    delivered: EVENTS,
  });
  expect(new Set(receiver.requests.slice(EVENTS).map(({ headers }) => headers["webhook-id"])).size).toBe(EVENTS);
  expect(receiver.requests).toHaveLength(2 * EVENTS);
  await receiver.close();
});

it("a job that cancels takes back what is still to be sent, in memory too", async () => {
  const { clock, receiver, daemon, endpoint } = await aScene();
  receiver.answer("hang");
  await daemon.request("PATCH", `/v1/webhooks/${endpoint}`, { max_in_flight: 1 });
  clock.advance("6h");
  await daemon.daemon.tick();
  await receiver.next();
  while (receiver.requests.length <= EVENTS) await receiver.next();
  const made = await daemon.request("POST", JOBS, { action: "cancel", filter: { endpoint } });
  expect(made.body).toMatchObject({ matched: EVENTS });
  await daemon.daemon.tick();
  clock.advance("10s");
  await second(clock, daemon);
  expect((await daemon.request("GET", `${JOBS}/${made.body.id}`)).body).toMatchObject({ status: "done", done: EVENTS });
  expect((await daemon.request("GET", "/v1/webhooks/deliveries?status=cancelled&limit=100")).body.data).toHaveLength(
    EVENTS,
  );
  expect(receiver.requests).toHaveLength(EVENTS + 1);
  await receiver.close();
});
