import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import type { SenderThreadData } from "../../src/delivery/threads/messages.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";

it("a payload that kills the sender ends as failed, while everything else goes on", async () => {
  const receiver = await TestReceiver.start();
  let started = 0;
  const startSender = (workerData: SenderThreadData) => {
    started++;
    return new Worker(new URL("../harness/deadly-sender.ts", import.meta.url), { workerData, execArgv: [] });
  };
  const daemon = await TestDaemon.start({
    clock: systemClock,
    startSender,
    settings: { DELIVERY_THREADS: "1", RETRY_DELAYS: "10ms" },
  });
  await daemon.register(receiver.url);
  const before = await Promise.all(Array.from({ length: 20 }, (_, at) => daemon.publish({ at })));
  const deadly = await daemon.publish({ note: "kill the sender" });
  const after = await Promise.all(Array.from({ length: 20 }, (_, at) => daemon.publish({ at })));
  while ((await daemon.event(deadly)).status === "pending") await daemon.daemon.idle();
  await daemon.daemon.idle();

  for (const id of [...before, ...after]) expect(await daemon.event(id)).toMatchObject({ status: "delivered" });
  const attempts = await daemon.attempts(deadly);
  expect(attempts.map(({ outcome, error }) => [outcome, error])).toEqual([
    ["failed", "interrupted"],
    ["failed", "interrupted"],
  ]);
  // Each of the ladder's two attempts killed three threads, and one more thread took over.
  expect(started).toBeGreaterThanOrEqual(7);
  await receiver.close();
});
