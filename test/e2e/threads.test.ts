import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";

describe.each(["1", "3"])("with %s sender threads", (threads) => {
  it("every event arrives once, signed, and is recorded", async () => {
    const receiver = await TestReceiver.start();
    const daemon = await TestDaemon.start({ clock: systemClock, settings: { DELIVERY_THREADS: threads } });
    const endpoints = new Map<string, string>();
    for (let at = 0; at < 5; at++) {
      const { id, signing_secret } = await daemon.register(`${receiver.url}/${at}`);
      endpoints.set(`/hook/${at}`, signing_secret);
      expect(id).toMatch(/^ep_/);
    }
    const ids = await Promise.all(Array.from({ length: 40 }, (_, at) => daemon.publish({ at })));
    await daemon.daemon.idle();
    expect(receiver.requests).toHaveLength(200);
    for (const { path, headers, body } of receiver.requests) {
      const secret = endpoints.get(path)!;
      expect(headers["x-service-signature"]).toBe(createHmac("sha256", secret).update(body).digest("hex"));
    }
    for (const id of ids) expect(await daemon.event(id)).toMatchObject({ status: "delivered" });
    await receiver.close();
  });

  it("a success says where it went, how long each step took and what the receiver was", async () => {
    const receiver = await TestReceiver.start([{ headers: { server: "theirs/1.0", "content-type": "text/plain" } }]);
    const daemon = await TestDaemon.start({ clock: systemClock, settings: { DELIVERY_THREADS: threads } });
    await daemon.register(receiver.url);
    const event = await daemon.event(await daemon.publish());
    await daemon.daemon.idle();
    const { body } = await daemon.request("GET", `/v1/webhooks/events/${event.id}/attempts`);
    expect(body.data).toMatchObject([
      {
        outcome: "succeeded",
        remote_address: "127.0.0.1",
        phases: { dns_ms: null, connect_ms: expect.any(Number), tls_ms: null, first_byte_ms: expect.any(Number) },
        response_headers: { server: "theirs/1.0", "content-type": "text/plain", date: expect.stringMatching(/GMT$/) },
      },
    ]);
    await receiver.close();
  });

  it("retries go their ladder, and a stop loses nothing", async () => {
    const receiver = await TestReceiver.start([500, 500, { delayMs: 200 }]);
    const settings = { DELIVERY_THREADS: threads, RETRY_DELAYS: "20ms,20ms,20ms" };
    const daemon = await TestDaemon.start({ clock: systemClock, settings });
    await daemon.register(receiver.url);
    const id = await daemon.publish();
    for (let attempt = 0; attempt < 3; attempt++) await receiver.next();
    await daemon.stop();
    const after = await TestDaemon.start({ clock: systemClock, settings, dir: daemon.dir });
    await after.daemon.idle();
    expect(await after.event(id)).toMatchObject({ status: "delivered", deliveries: [{ attempts: 3 }] });
    expect(receiver.requests).toHaveLength(3);
    await receiver.close();
  });
});
