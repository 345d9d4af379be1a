import { expect, it } from "vitest";
import { createLog } from "../../src/log.ts";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";

it("each attempt is one line of the log, with its outcome", async () => {
  const lines: any[] = [];
  const log = createLog({ format: "json", level: "debug", write: (line) => void lines.push(JSON.parse(line)) });
  const receiver = await TestReceiver.start([503, 200, 500]);
  const clock = new ManualClock();
  const daemon = await TestDaemon.start({ clock, log, settings: { RETRY_DELAYS: "30s" } });
  const { id: endpoint } = await daemon.register(receiver.url);
  const event = await daemon.publish();
  await daemon.daemon.idle();
  clock.advance("30s");
  await daemon.daemon.tick();
  await daemon.daemon.idle();
  await daemon.request("POST", `/v1/webhooks/${endpoint}/test`);
  await daemon.daemon.idle();
  await receiver.close();

  const attempts = lines.filter(({ msg }) => msg === "delivery.attempted");
  const [first, second, test] = attempts.map(({ time, duration_ms, ...line }) => {
    expect(time).toMatch(/Z$/);
    expect(duration_ms).toBeGreaterThanOrEqual(0);
    return line;
  });
  expect(attempts).toHaveLength(3);
  expect(first).toEqual({
    level: "info",
    msg: "delivery.attempted",
    event,
    delivery: expect.stringMatching(/^dlv_/),
    endpoint,
    tenant: "default",
    attempt: 1,
    round: 1,
    retry: 0,
    trigger: "ladder",
    outcome: "failed",
    error: "http_status",
    status_code: 503,
    status: "pending",
    next_attempt_at: "2026-11-20T09:55:30.000Z",
  });
  expect(second).toEqual({
    ...first,
    level: "debug",
    attempt: 2,
    retry: 1,
    outcome: "succeeded",
    error: null,
    status_code: 200,
    status: "delivered",
    next_attempt_at: null,
  });
  expect(test).toMatchObject({ level: "info", retry: null, trigger: "test", status: "failed", next_attempt_at: null });
});
