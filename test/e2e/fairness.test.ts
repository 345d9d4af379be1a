import { expect, it } from "vitest";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver, type Answer } from "../harness/receiver.ts";

const HANGING = 20;
const EVENTS = 2000;

it("twenty endpoints that hang and owe 40,000 deliveries do not delay a healthy endpoint's first attempt", async () => {
  const hanging = await TestReceiver.start(Array.from({ length: HANGING * 64 }, (): Answer => "hang"));
  const healthy = await TestReceiver.start();
  // Time stands still, so no hanging attempt times out and frees its slot.
  const daemon = await TestDaemon.start({ settings: { DELIVERY_MAX_IN_FLIGHT: "1000" } });
  for (let at = 0; at < HANGING; at++) await daemon.register(hanging.url, { events: ["goal.achieved"] });
  await daemon.register(healthy.url, { events: ["budget.exceeded"] });
  for (let sent = 0; sent < EVENTS; sent += 1000) {
    const events = Array.from({ length: 1000 }, (_, at) => ({ type: "goal.achieved", data: { at } }));
    const { status, body } = await daemon.request("POST", "/v1/webhooks/events/batch", { events });
    expect(status).toBe(202);
    expect(body.data[0].delivery_count).toBe(HANGING);
  }

  for (let at = 0; at < 100; at++) {
    const event = await daemon.publish();
    expect((await healthy.next()).headers["webhook-id"]).toBe(event);
  }
  // The hanging endpoints' deliveries are still pending, so the daemon was not idle.
  expect(
    (await daemon.request("GET", "/v1/webhooks/events?type=goal.achieved&status=pending&limit=1")).body.data,
  ).toHaveLength(1);
  daemon.daemon.abort();
  await daemon.stop();
  await hanging.close();
  await healthy.close();
});
