import { describe, expect, it, onTestFinished } from "vitest";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { SPECIFIED_LADDER } from "../harness/ladder.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const PATH = "/v1/webhooks";

async function aReceiver(script: Parameters<typeof TestReceiver.start>[0] = []): Promise<TestReceiver> {
  const receiver = await TestReceiver.start(script);
  onTestFinished(() => receiver.close());
  return receiver;
}

async function change(daemon: TestDaemon, id: string, patch: object): Promise<any> {
  const { status, body } = await daemon.request("PATCH", `${PATH}/${id}`, patch);
  expect(status).toBe(200);
  return body;
}

async function publishMany(daemon: TestDaemon, count: number): Promise<string[]> {
  const events = Array.from({ length: count }, (_, n) => ({ type: "budget.exceeded", data: { n } }));
  const { status, body } = await daemon.request("POST", `${PATH}/events/batch`, { events });
  expect(status).toBe(202);
  return body.data.map(({ id }: { id: string }) => id);
}

async function health(daemon: TestDaemon, id: string): Promise<any> {
  return (await daemon.request("GET", `${PATH}/${id}`)).body.health;
}

const idsOf = (receiver: TestReceiver) => receiver.requests.map(({ body }) => JSON.parse(body.toString()).id as string);

describe("a disabled endpoint", () => {
  it("holds what is published meanwhile and gets every one of it, once, when it is enabled", async () => {
    const daemon = await TestDaemon.start();
    const receiver = await aReceiver();
    const { id } = await daemon.register(receiver.url);
    await change(daemon, id, { enabled: false });
    const events = await publishMany(daemon, 1000);
    await daemon.daemon.idle();
    expect(receiver.requests).toEqual([]);
    expect(await daemon.event(events[0]!)).toMatchObject({
      status: "held",
      deliveries: [{ status: "held", attempts: 0, next_attempt_at: null }],
    });
    const held = await daemon.request("GET", `${PATH}/events?status=held&limit=100`);
    expect(held.body.data).toHaveLength(100);
    expect((await health(daemon, id)).held).toBe(1000);
    await change(daemon, id, { enabled: true });
    await daemon.daemon.idle();
    expect(idsOf(receiver).sort()).toEqual(events.sort());
    expect((await daemon.request("GET", `${PATH}/events?status=held`)).body.data).toEqual([]);
    expect((await daemon.event(events[999]!)).status).toBe("delivered");
    expect(await health(daemon, id)).toMatchObject({ pending: 0, held: 0, failed: 0, consecutive_failures: 0 });
  });

  it("shadows what is published meanwhile: it is shown, counts as nothing, and is never sent", async () => {
    const daemon = await TestDaemon.start();
    const receiver = await aReceiver();
    const { id } = await daemon.register(receiver.url);
    await change(daemon, id, { enabled: false, when_disabled: "shadow" });
    const events = await publishMany(daemon, 3);
    await change(daemon, id, { enabled: true });
    const [later] = await publishMany(daemon, 1);
    await daemon.daemon.idle();
    expect(idsOf(receiver)).toEqual([later]);
    expect(await daemon.event(events[0]!)).toMatchObject({
      status: "shadowed",
      deliveries: [{ status: "shadowed", attempts: 0, next_attempt_at: null, last_attempt: null }],
    });
    const listed = await daemon.request("GET", `${PATH}/deliveries?status=shadowed&total=true`);
    expect(listed.body).toMatchObject({ total: 3 });
    expect(await health(daemon, id)).toMatchObject({ pending: 0, held: 0, failed: 0, consecutive_failures: 0 });
    const stats = (await daemon.request("GET", `${PATH}/stats`)).body;
    expect(JSON.stringify(stats)).not.toContain("shadow");
    expect(stats).toMatchObject({ deliveries: { delivered: 1 } });
    for (const force of [false, true]) {
      const replayed = await daemon.request("POST", `${PATH}/events/${events[0]}/retry`, { force });
      const detail = "the selected deliveries were shadowed or cancelled, so nothing is sent for them";
      expect(replayed).toMatchObject({ status: 409, body: { code: "event_not_failed", detail } });
    }
    const attempt = await daemon.request("POST", `${PATH}/deliveries/${listed.body.data[0].id}/attempt`);
    expect(attempt).toMatchObject({ status: 409, body: { code: "delivery_settled" } });
    expect(attempt.body.detail).toContain("it was delivered, cancelled or shadowed, so there is nothing to attempt");
  });

  it("with `held: cancel` gets none of it, and all that comes later", async () => {
    const clock = new ManualClock();
    const daemon = await TestDaemon.start({ clock });
    const receiver = await aReceiver();
    const { id } = await daemon.register(receiver.url);
    await change(daemon, id, { enabled: false });
    const held = await publishMany(daemon, 1000);
    await change(daemon, id, { enabled: true, held: "cancel" });
    expect((await daemon.event(held[0]!)).status).toBe("cancelled");
    const later = await publishMany(daemon, 20);
    // The held deliveries are cancelled in steps, with pauses, before anything new is sent.
    while (receiver.requests.length < later.length) {
      clock.advance(100);
      unawaited(daemon.daemon.tick());
      await daemon.event(later[0]!);
    }
    await daemon.daemon.idle();
    expect(idsOf(receiver).sort()).toEqual(later.sort());
    expect((await daemon.event(held[999]!)).status).toBe("cancelled");
    expect(await health(daemon, id)).toMatchObject({ pending: 0, held: 0 });
  });

  it("starts nothing more once the answer is out, records what is on the wire, and keeps the rung", async () => {
    const clock = new ManualClock();
    const daemon = await TestDaemon.start({ clock });
    const receiver = await aReceiver(["hang"]);
    const { id } = await daemon.register(receiver.url, { max_in_flight: 1 });
    const first = await daemon.publish();
    const second = await daemon.publish();
    await receiver.next();
    await change(daemon, id, { enabled: false });
    receiver.answer(500);
    receiver.dropConnections();
    await daemon.daemon.idle();
    clock.advance("2m");
    unawaited(daemon.daemon.tick());
    await daemon.daemon.idle();
    expect(receiver.requests).toHaveLength(1);
    expect(await daemon.event(first)).toMatchObject({ status: "held", deliveries: [{ attempts: 1 }] });
    expect(await daemon.event(second)).toMatchObject({ status: "held", deliveries: [{ attempts: 0 }] });
    await change(daemon, id, { enabled: true });
    await daemon.daemon.idle();
    // Both were overdue and sent at once, and whichever arrived first got the scripted 500.
    expect(receiver.requests).toHaveLength(3);
    clock.advance("2m");
    unawaited(daemon.daemon.tick());
    await daemon.daemon.idle();
    expect([(await daemon.event(first)).status, (await daemon.event(second)).status]).toEqual([
      "delivered",
      "delivered",
    ]);
  });

  it("is enabled slowly: one attempt at once, and more as it answers", async () => {
    const daemon = await TestDaemon.start();
    const receiver = await aReceiver();
    const { id } = await daemon.register(receiver.url);
    await daemon.publish();
    await daemon.daemon.idle();
    await change(daemon, id, { enabled: false });
    await publishMany(daemon, 50);
    await daemon.daemon.idle();
    receiver.answer("hang");
    await change(daemon, id, { enabled: true });
    await receiver.next();
    await receiver.next();
    // This request gives a second attempt time to arrive, if one was sent.
    await daemon.request("GET", `${PATH}/${id}`);
    expect(receiver.requests).toHaveLength(2);
    receiver.dropConnections();
  });

  it("with `skip` gets no deliveries of later events", async () => {
    const daemon = await TestDaemon.start();
    const receiver = await aReceiver();
    const { id } = await daemon.register(receiver.url, { when_disabled: "skip" });
    await change(daemon, id, { enabled: false });
    expect((await daemon.event(await daemon.publish())).status).toBe("unmatched");
    await change(daemon, id, { enabled: true });
    await daemon.daemon.idle();
    expect(receiver.requests).toEqual([]);
  });

  it("still gets a test event, and its failed deliveries are left alone by a retry", async () => {
    const daemon = await TestDaemon.start({ settings: { RETRY_DELAYS: "" } });
    const receiver = await aReceiver([500]);
    const { id } = await daemon.register(receiver.url);
    const failed = await daemon.publish();
    await daemon.daemon.idle();
    await change(daemon, id, { enabled: false });
    const retry = await daemon.request("POST", `${PATH}/events/${failed}/retry`);
    expect({ status: retry.status, code: retry.body.code }).toEqual({ status: 409, code: "endpoint_disabled" });
    const test = await daemon.request("POST", `${PATH}/${id}/test`);
    await daemon.daemon.idle();
    expect((await daemon.event(test.body.id)).status).toBe("delivered");
    await change(daemon, id, { enabled: true });
    expect((await daemon.request("POST", `${PATH}/events/${failed}/retry`)).status).toBe(202);
    await daemon.daemon.idle();
    expect((await daemon.event(failed)).status).toBe("delivered");
  });

  it("stays so through a restart, and then gets what was held", async () => {
    const first = await TestDaemon.start();
    const receiver = await aReceiver();
    const { id } = await first.register(receiver.url);
    await change(first, id, { enabled: false });
    const [event] = await publishMany(first, 3);
    await first.stop();
    const again = await TestDaemon.start({ dir: first.dir });
    await again.daemon.idle();
    expect(await again.event(event!)).toMatchObject({ status: "held" });
    await change(again, id, { enabled: true });
    await again.daemon.idle();
    expect(receiver.requests).toHaveLength(3);
  });

  it("uses the URL of the moment of the attempt for what waited", async () => {
    const daemon = await TestDaemon.start();
    const [old, young] = [await aReceiver(), await aReceiver()];
    const { id } = await daemon.register(old.url);
    await change(daemon, id, { enabled: false });
    await daemon.publish();
    await change(daemon, id, { url: young.url, enabled: true });
    await daemon.daemon.idle();
    expect([old.requests.length, young.requests.length]).toEqual([0, 1]);
  });
});

describe("an endpoint whose receiver is gone", () => {
  const settings = { ENDPOINTS_DISABLE_ON_GONE: "true" };

  it("is disabled at a 410 if the operator wants that, and its deliveries are held", async () => {
    const daemon = await TestDaemon.start({ settings });
    // The other deliveries wait, however long the store takes to disable the endpoint.
    const receiver = await aReceiver([410, ...Array(49).fill("hang")]);
    const { id } = await daemon.register(receiver.url, { max_in_flight: 1 });
    await publishMany(daemon, 50);
    const seen = async () => (await daemon.request("GET", `${PATH}/${id}`)).body;
    await expect.poll(seen).toMatchObject({ enabled: false, disabled_reason: "gone" });
    await expect
      .poll(() => (receiver.dropConnections(), seen()))
      .toMatchObject({ enabled: false, disabled_reason: "gone", health: { pending: 0, held: 50 } });
    await daemon.daemon.idle();
    expect(receiver.requests.length).toBeLessThan(50);
  });

  it("is retried like any other by default, and a test's 410 disables nothing", async () => {
    const [plain, careful] = [await TestDaemon.start(), await TestDaemon.start({ settings })];
    const receiver = await aReceiver([410, 410]);
    const { id } = await plain.register(receiver.url);
    await plain.publish();
    await plain.daemon.idle();
    expect((await plain.request("GET", `${PATH}/${id}`)).body).toMatchObject({ enabled: true, health: { pending: 1 } });
    const other = await careful.register(receiver.url);
    await careful.request("POST", `${PATH}/${other.id}/test`);
    await careful.daemon.idle();
    expect(receiver.requests).toHaveLength(2);
    expect((await careful.request("GET", `${PATH}/${other.id}`)).body).toMatchObject({ enabled: true });
  });
});

describe("an endpoint that has failed for too long", () => {
  it("is disabled where the operator wants it, and not before", async () => {
    const clock = new ManualClock();
    const [first, second, third, fourth, fifth] = SPECIFIED_LADDER;
    const settings = { ENDPOINTS_DISABLE_AFTER: `${first! + second! + third! + 60_000}ms` };
    const daemon = await TestDaemon.start({ clock, settings });
    const receiver = await aReceiver(Array(9).fill(500));
    const { id } = await daemon.register(receiver.url);
    await daemon.publish();
    for (const [rung, enabled] of [
      [first!, true],
      [second!, true],
      [third!, true],
      [fourth!, false],
    ] as const) {
      await daemon.daemon.idle();
      expect((await daemon.request("GET", `${PATH}/${id}`)).body.enabled).toBe(true);
      clock.advance(rung);
      unawaited(daemon.daemon.tick());
      await expect.poll(async () => (await daemon.request("GET", `${PATH}/${id}`)).body.enabled).toBe(enabled);
    }
    expect((await daemon.request("GET", `${PATH}/${id}`)).body).toMatchObject({ disabled_reason: "failing" });
    // After it was enabled again, an endpoint gets as long as before until it is disabled.
    await change(daemon, id, { enabled: true });
    clock.advance(fifth!);
    unawaited(daemon.daemon.tick());
    await daemon.daemon.idle();
    expect(receiver.requests).toHaveLength(6);
    expect((await daemon.request("GET", `${PATH}/${id}`)).body).toMatchObject({ enabled: true, disabled_reason: null });
  });
});
