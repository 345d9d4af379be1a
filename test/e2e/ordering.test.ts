import { describe, expect, it, onTestFinished } from "vitest";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver, type Received } from "../harness/receiver.ts";

const PATH = "/v1/webhooks";
const BY_KEY = { ordering: "by_key" };

async function aReceiver(script: Parameters<typeof TestReceiver.start>[0] = []): Promise<TestReceiver> {
  const receiver = await TestReceiver.start(script);
  onTestFinished(() => receiver.close());
  return receiver;
}

async function started(more: object = BY_KEY, script: Parameters<typeof TestReceiver.start>[0] = []) {
  const clock = new ManualClock();
  const daemon = await TestDaemon.start({ clock });
  const receiver = await aReceiver(script);
  const { id } = await daemon.register(receiver.url, { ...more });
  return { clock, daemon, receiver, endpoint: id };
}

/** Publishes one event for each key in one batch, with its place in the batch as its data. */
async function publish(daemon: TestDaemon, keys: readonly (string | undefined)[]): Promise<string[]> {
  const events = keys.map((key, n) => ({ type: "budget.exceeded", data: { n }, ordering_key: key }));
  const { status, body } = await daemon.request("POST", `${PATH}/events/batch`, { events });
  expect(status).toBe(202);
  return body.data.map(({ id }: { id: string }) => id);
}

const eventOf = ({ body }: Received) => JSON.parse(body.toString()).id as string;
const got = (receiver: TestReceiver) => receiver.requests.map(eventOf);
const numbers = (receiver: TestReceiver) => receiver.requests.map(({ headers }) => headers["webhook-sequence"]);

async function settle(daemon: TestDaemon, clock: ManualClock, by: string) {
  await daemon.daemon.idle();
  clock.advance(by);
  await daemon.daemon.tick();
  await daemon.daemon.idle();
}

describe("order by key", () => {
  it("sends the events of a key one after another, and numbers them, while others go on", async () => {
    const { clock, daemon, receiver } = await started(BY_KEY, [500]);
    const [a1, b1, a2, free, a3] = await publish(daemon, ["a", "b", "a", undefined, "a"]);
    await daemon.daemon.idle();
    expect(new Set(got(receiver))).toEqual(new Set([a1, b1, free]));
    expect((await daemon.event(a2!)).deliveries[0]).toMatchObject({ status: "pending", next_attempt_at: null });
    await settle(daemon, clock, "29s");
    expect(receiver.requests).toHaveLength(3);
    await settle(daemon, clock, "1s");
    expect(got(receiver).slice(3)).toEqual([a1, a2, a3]);
    expect(numbers(receiver).slice(3)).toEqual(["1", "2", "3"]);
    const unordered = receiver.requests.find((request) => eventOf(request) === free)!;
    expect(unordered.headers).not.toHaveProperty("webhook-sequence");
    expect((await daemon.event(a3!)).status).toBe("delivered");
  });

  it("does not send the next one while an attempt of one that was cancelled is on the wire", async () => {
    const answered = Promise.withResolvers<void>();
    const { daemon, receiver } = await started(BY_KEY, [{ until: answered.promise }]);
    const [a1, a2] = await publish(daemon, ["a", "a"]);
    await receiver.next();
    expect((await daemon.request("POST", `${PATH}/events/${a1}/cancel`)).status).toBe(200);
    await daemon.daemon.tick();
    // Another key's event shows that the endpoint is not stuck.
    const [b1] = await publish(daemon, ["b"]);
    expect(eventOf(await receiver.next())).toBe(b1);
    expect(got(receiver)).not.toContain(a2);
    answered.resolve();
    await daemon.daemon.idle();
    expect(got(receiver).at(-1)).toBe(a2);
    expect((await daemon.event(a1!)).status).toBe("delivered");
  });

  it("sends a replayed event before what waits, once the attempt that is on the wire has ended", async () => {
    const answered = Promise.withResolvers<void>();
    const failing = Array.from({ length: 7 }, () => 500);
    const { clock, daemon, receiver } = await started(BY_KEY, [...failing, { status: 500, until: answered.promise }]);
    const [a1] = await publish(daemon, ["a"]);
    for (const by of ["30s", "2m", "10m", "1h", "6h", "24h"]) await settle(daemon, clock, by);
    const [a2, a3] = await publish(daemon, ["a", "a"]);
    while (got(receiver).at(-1) !== a2) await receiver.next();
    expect((await daemon.request("POST", `${PATH}/events/${a1}/retry`)).status).toBe(202);
    await daemon.daemon.tick();
    expect(got(receiver).at(-1)).toBe(a2);
    answered.resolve();
    await daemon.daemon.idle();
    expect(got(receiver).slice(7)).toEqual([a2, a1]);
    await settle(daemon, clock, "30s");
    expect(got(receiver).slice(7)).toEqual([a2, a1, a2, a3]);
  });

  it("holds a key after a failure until the failed event is replayed or cancelled", async () => {
    const { clock, daemon, receiver } = await started({ ...BY_KEY, after_failure: "hold" }, Array(7).fill(500));
    const [a1, a2] = await publish(daemon, ["a", "a"]);
    for (const by of ["30s", "2m", "10m", "1h", "6h", "24h"]) await settle(daemon, clock, by);
    expect((await daemon.event(a1!)).status).toBe("failed");
    expect(got(receiver)).toEqual(Array(7).fill(a1));
    const [a3, b1] = await publish(daemon, ["a", "b"]);
    await daemon.daemon.idle();
    expect(got(receiver).slice(7)).toEqual([b1]);
    expect((await daemon.request("POST", `${PATH}/events/${a1}/retry`)).status).toBe(202);
    await daemon.daemon.idle();
    expect(got(receiver).slice(8)).toEqual([a1, a2, a3]);
  });

  it("keeps the order through a pause, a rate limit and a disabled endpoint", async () => {
    const { clock, daemon, receiver, endpoint } = await started({ ...BY_KEY, rate_per_second: 2 });
    await daemon.request("POST", "/v1/pause");
    const events = await publish(daemon, ["a", "a", "a", "a"]);
    await daemon.request("POST", "/v1/resume");
    const until = async (count: number) => {
      while (receiver.requests.length < count) {
        clock.advance(100);
        await daemon.daemon.tick();
        await daemon.event(events[0]!);
      }
    };
    await until(2);
    await daemon.request("PATCH", `${PATH}/${endpoint}`, { enabled: false });
    await daemon.request("PATCH", `${PATH}/${endpoint}`, { enabled: true });
    await until(4);
    expect(got(receiver)).toEqual(events);
  });

  it("refuses an ordering key that is empty, too long or has control characters, and an attempt out of turn", async () => {
    const answered = Promise.withResolvers<void>();
    const { daemon, receiver } = await started(BY_KEY, [{ until: answered.promise }]);
    for (const [key, code] of [
      ["", "too_few"],
      ["é".repeat(129), "too_long"],
      ["a\u0007", "forbidden_char"],
      [7, "invalid_type"],
    ] as const) {
      const event = { type: "budget.exceeded", data: {}, ordering_key: key };
      const { status, body } = await daemon.request("POST", `${PATH}/events`, event);
      expect([status, body.errors]).toMatchObject([422, [{ pointer: "/ordering_key", code }]]);
    }
    const [, second] = await publish(daemon, ["é".repeat(128), "é".repeat(128)]);
    await receiver.next();
    const { deliveries, ordering_key: key } = await daemon.event(second!);
    expect(key).toBe("é".repeat(128));
    const refused = await daemon.request("POST", `${PATH}/deliveries/${deliveries[0].id}/attempt`);
    expect(refused).toMatchObject({ status: 409, body: { code: "delivery_behind" } });
    answered.resolve();
    await daemon.daemon.idle();
    expect((await daemon.event(second!)).status).toBe("delivered");
  });
});
