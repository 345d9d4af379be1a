import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../harness/clock.ts";
import { aDirectory, TestDaemon } from "../harness/daemon.ts";
import { mailServer } from "../harness/mail-server.ts";
import { TestReceiver } from "../harness/receiver.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

async function start(
  { url, chat = "", mail = "" }: { url: string; chat?: string; mail?: string },
  clock = new ManualClock(),
  dir = aDirectory(),
) {
  const secretFile = join(dir, "alerts.secret");
  writeFileSync(secretFile, `${SECRET}\n`);
  const settings = {
    ALERTS_URL: url,
    ALERTS_SECRET_FILE: secretFile,
    ALERTS_SLACK_URL: chat,
    ALERTS_SMTP_URL: mail,
    ALERTS_MAIL_FROM: "webhookd@example.com",
    ALERTS_MAIL_TO: "ops@example.com",
    UI_LABEL: "PROD",
    RETRY_DELAYS: "10ms",
  };
  const daemon = await TestDaemon.start({ clock, dir, settings });
  const pass = async (time: string) => {
    clock.advance(time);
    await daemon.daemon.tick();
    await daemon.daemon.idle();
  };
  /**
   * All of the deliveries fail before the first alert is due. Otherwise the counts in an alert would depend on the
   * machine's speed.
   */
  const failForGood = async (events: number) => {
    for (let count = 0; count < events; count++) await daemon.publish();
    await daemon.daemon.idle();
    clock.advance("10ms");
    await daemon.daemon.idle();
  };
  return { daemon, dir, pass, failForGood };
}

describe("alerts", () => {
  it("tell of a key that is held for longer than the setting, and how it is freed", async () => {
    const [customer, operator, chat] = [
      await TestReceiver.start(Array<number>(9).fill(503)),
      await TestReceiver.start(),
      await TestReceiver.start(),
    ];
    const { daemon, pass } = await start({ url: operator.url, chat: chat.url });
    const { id } = await daemon.register(customer.url, { ordering: "by_key", after_failure: "hold" });
    const event = { type: "budget.exceeded", data: {}, ordering_key: "order_7" };
    const published = await daemon.request("POST", "/v1/webhooks/events", event);
    await daemon.daemon.idle();
    await pass("10ms");
    const held = () =>
      operator.requests
        .map(({ body }) => JSON.parse(String(body)))
        .filter(({ type }) => type === "webhookd.keys_held")
        .map(({ data }) => data);
    await pass("14m");
    expect(held()).toEqual([]);
    await pass("2m");
    await pass("2m");
    const [alert, ...others] = held();
    expect(others).toEqual([]);
    expect(alert).toMatchObject({
      total: 1,
      endpoints: [{ endpoint: id, held_keys: { count: 1, ordering_key: "order_7", event: published.body.id } }],
    });
    const text = chat.requests.map(({ body }) => JSON.parse(String(body)).text).join("\n");
    expect(text).toContain(`webhookd replay ${published.body.id} --endpoint ${id}`);
    const { body: shown } = await daemon.request("GET", `/v1/webhooks/${id}`);
    expect(shown.health.held_keys).toEqual(alert.endpoints[0].held_keys);
    const { body: status } = await daemon.request("GET", "/v1/status");
    expect(status.held_keys).toEqual([{ endpoint: id, ...shown.health.held_keys }]);
    await daemon.request("POST", `/v1/webhooks/events/${published.body.id}/cancel`);
    const after = await daemon.request("GET", `/v1/webhooks/${id}`);
    expect(after.body.health.held_keys).toBeNull();
  });

  it("are signed events of the daemon's own, and never about themselves", async () => {
    const failing = Array<number>(50).fill(503);
    const [customer, operator] = [await TestReceiver.start(failing), await TestReceiver.start(failing)];
    const { daemon, pass, failForGood } = await start({ url: operator.url });
    const { id } = await daemon.register(customer.url);
    await failForGood(12);
    for (let count = 0; count < 5; count++) await pass("61s");
    const bodies = operator.requests.map(({ body }) => JSON.parse(String(body)));
    const of = (type: string) => bodies.filter((body) => body.type === `webhookd.${type}`).map(({ data }) => data);
    expect(of("deliveries_failed")[0]).toMatchObject({
      total: 12,
      groups: [
        {
          endpoint: id,
          tenant: "default",
          error: "http_status",
          status_code: 503,
          count: 12,
          // The outlook says that no attempt follows by itself.
          advice: {
            blame: "the receiver",
            outlook: "It may pass, but no attempts are left: replay once it has passed.",
          },
        },
      ],
    });
    expect(of("endpoint_failing")[0]).toMatchObject({
      endpoints: [
        { endpoint: id, tenant: "default", url: customer.url, consecutive_failures: 24, error: "http_status" },
      ],
    });
    // The advice is that of the table, with commands that can be pasted.
    const { advice } = of("endpoint_failing")[0].endpoints[0];
    expect(advice.meaning).toMatch(/^A proxy answers/);
    expect(advice.commands[0].line).toBe(`webhookd attempts list ${id} --outcome failed --limit 1`);
    // Each alert was tried twice. Its own failure causes no alert.
    expect(bodies).toHaveLength(4);
    const { body, headers } = operator.requests[0]!;
    expect(headers["x-service-signature"]).toBe(createHmac("sha256", SECRET).update(body).digest("hex"));
  });

  it("have an endpoint that follows the configuration, and that no list shows and no caller can use", async () => {
    const [first, second] = [await TestReceiver.start(), await TestReceiver.start()];
    const { daemon, dir } = await start({ url: first.url });
    const own = async (of: TestDaemon) =>
      (await of.request("GET", "/v1/webhooks?tenant=webhookd:alerts")).body.data.map(({ url }: { url: string }) => url);
    expect((await daemon.request("GET", "/v1/webhooks")).body.data).toEqual([]);
    expect(await own(daemon)).toEqual([first.url]);
    const draft = { type: "budget.exceeded", data: {}, tenant: "webhookd:alerts" };
    expect(await daemon.request("POST", "/v1/webhooks/events", draft)).toMatchObject({ status: 403 });
    await daemon.stop();
    const moved = await start({ url: second.url }, new ManualClock(), dir);
    expect(await own(moved.daemon)).toEqual([second.url]);
    await moved.daemon.stop();
    const off = await start({ url: "" }, new ManualClock(), dir);
    expect(await own(off.daemon)).toEqual([]);
  });

  it("of what failed while the daemon stopped come after its next start", async () => {
    const { promise: until, resolve: answered } = Promise.withResolvers<void>();
    const slow = { status: 503, until };
    const [customer, operator] = [await TestReceiver.start([503, slow]), await TestReceiver.start()];
    const clock = new ManualClock();
    const { daemon, dir } = await start({ url: operator.url }, clock);
    await daemon.register(customer.url);
    await daemon.publish();
    await daemon.daemon.idle();
    clock.advance(10);
    await daemon.daemon.tick();
    await customer.next();
    await customer.next();
    const stopped = daemon.stop();
    answered();
    await stopped;
    expect(operator.requests).toHaveLength(0);
    const again = await start({ url: operator.url }, clock, dir);
    await again.daemon.daemon.idle();
    expect(operator.requests.map(({ body }) => JSON.parse(String(body)).type)).toContain("webhookd.deliveries_failed");
    await again.daemon.stop();
    for (const receiver of [customer, operator]) await receiver.close();
  });

  it("of what failed within a minute after others are not lost when the daemon stops", async () => {
    const [customer, operator] = [await TestReceiver.start([503, 503, 503, 503]), await TestReceiver.start()];
    const clock = new ManualClock();
    const { daemon, dir, pass } = await start({ url: operator.url }, clock);
    await daemon.register(customer.url);
    for (let times = 0; times < 2; times++) {
      await daemon.publish();
      await daemon.daemon.idle();
      // The first pass makes the retry, and the second sends its alert.
      for (let ticks = 0; ticks < 2; ticks++) await pass("2s");
    }
    await daemon.stop();
    const again = await start({ url: operator.url }, clock, dir);
    await again.daemon.daemon.idle();
    const bodies = operator.requests.map(({ body }) => JSON.parse(String(body)));
    expect(bodies.map(({ type, data }) => [type, data.total])).toEqual([
      ["webhookd.deliveries_failed", 1],
      ["webhookd.deliveries_failed", 1],
    ]);
    await again.daemon.stop();
    for (const receiver of [customer, operator]) await receiver.close();
  });

  it("say after a restart that an endpoint works again, and not once more that it fails", async () => {
    const [customer, operator] = [await TestReceiver.start(Array<number>(64).fill(503)), await TestReceiver.start()];
    const clock = new ManualClock();
    let { daemon, dir, pass } = await start({ url: operator.url }, clock);
    await daemon.register(customer.url);
    const publish = async (times: number) => {
      for (let count = 0; count < times; count++) await daemon.publish();
      await daemon.daemon.idle();
      for (let count = 0; count < 3; count++) await pass("61s");
    };
    const restart = async () => {
      await daemon.stop();
      ({ daemon, pass } = await start({ url: operator.url }, clock, dir));
    };
    await publish(12);
    await restart();
    await publish(20);
    await restart();
    await publish(1);
    const told = operator.requests.map(({ body }) => String(JSON.parse(String(body)).type));
    expect(told.filter((type) => type.startsWith("webhookd.endpoint_"))).toEqual([
      "webhookd.endpoint_failing",
      "webhookd.endpoint_recovered",
    ]);
    await daemon.stop();
    for (const receiver of [customer, operator]) await receiver.close();
  });

  it("report an endpoint again that was disabled across a restart", async () => {
    const [customer, operator] = [await TestReceiver.start(Array<number>(48).fill(503)), await TestReceiver.start()];
    const clock = new ManualClock();
    let { daemon, dir, pass } = await start({ url: operator.url }, clock);
    const { id } = await daemon.register(customer.url);
    const fail = async () => {
      for (let count = 0; count < 12; count++) await daemon.publish();
      await daemon.daemon.idle();
      for (let count = 0; count < 3; count++) await pass("61s");
    };
    await fail();
    await daemon.request("PATCH", `/v1/webhooks/${id}`, { enabled: false });
    await daemon.stop();
    ({ daemon, pass } = await start({ url: operator.url }, clock, dir));
    await daemon.request("PATCH", `/v1/webhooks/${id}`, { enabled: true });
    await fail();
    const told = operator.requests.map(({ body }) => String(JSON.parse(String(body)).type));
    expect(told.filter((type) => type === "webhookd.endpoint_failing")).toHaveLength(2);
    await daemon.stop();
    for (const receiver of [customer, operator]) await receiver.close();
  });

  it("report an endpoint that was failing before a restart, if it was too early at the time", async () => {
    const [customer, operator] = [await TestReceiver.start(Array<number>(50).fill(503)), await TestReceiver.start()];
    const clock = new ManualClock();
    const { daemon, dir } = await start({ url: operator.url }, clock);
    await daemon.register(customer.url);
    await daemon.publish();
    await daemon.daemon.idle();
    await daemon.stop();
    clock.advance("10m");
    const again = await start({ url: operator.url }, clock, dir);
    for (let count = 0; count < 12; count++) await again.daemon.publish();
    await again.daemon.daemon.idle();
    for (let count = 0; count < 3; count++) await again.pass("61s");
    const told = operator.requests.map(({ body }) => String(JSON.parse(String(body)).type));
    expect(told).toContain("webhookd.endpoint_failing");
    await again.daemon.stop();
    for (const receiver of [customer, operator]) await receiver.close();
  });

  it("go to a chat and by mail as text, folded the same, with what to do, and need no signed hook", async () => {
    const failing = Array<number>(50).fill(503);
    const [customer, chat] = [await TestReceiver.start(failing), await TestReceiver.start([500])];
    const mail = await mailServer();
    const { daemon, pass, failForGood } = await start({
      url: "",
      chat: `${chat.url}/T0/B0/secret`,
      mail: `smtp://127.0.0.1:${mail.port}`,
    });
    const { id } = await daemon.register(customer.url);
    await failForGood(12);
    for (let count = 0; count < 2; count++) await pass("61s");
    // The first alert is answered 500, and is sent again before the second.
    while (chat.requests.length < 3 || mail.messages.length < 2) {
      await pass("11s");
      await new Promise((resolve) => setImmediate(resolve));
    }
    const texts = chat.requests.map(({ body }) => (JSON.parse(String(body)) as { text: string }).text);
    expect(texts[0]).toBe(texts[1]);
    const host = new URL(customer.url).host;
    const said = texts.join("\n");
    expect(said).toContain(`[PROD] Deliveries have failed for good: 12\n• ${host} (tenant default, ${id}): 503 from`);
    expect(said).toContain("[PROD] Endpoints are failing: 1\n");
    expect(said).toContain(`webhookd attempts list ${id} --outcome failed --limit 1`);
    const subjects = mail.messages.map((message) => /^Subject: (.*)$/m.exec(message)![1]);
    expect(subjects.slice(0, 2).toSorted()).toEqual([
      "[PROD] Deliveries have failed for good: 12",
      "[PROD] Endpoints are failing: 1",
    ]);
    // Alerts to chats and mail are not stored as events.
    expect((await daemon.request("GET", "/v1/webhooks/events?tenant=webhookd:alerts")).body.data).toEqual([]);
    await daemon.stop();
    for (const receiver of [customer, chat]) await receiver.close();
  });

  it("are not begun without a secret or with an address that no endpoint may have", async () => {
    await expect(start({ url: "https://169.254.169.254/" })).rejects.toThrow(
      /\[alerts\] url: the address belongs to a cloud/,
    );
    await expect(start({ url: "", chat: "https://169.254.169.254/" })).rejects.toThrow(
      /\[alerts\] slack_url: the address belongs to a cloud/,
    );
    const settings = { ALERTS_URL: "https://example.com/" };
    await expect(TestDaemon.start({ settings })).rejects.toThrow(/\[alerts\] secret: is needed/);
  });
});
