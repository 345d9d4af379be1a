import { expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { parseExposition } from "../harness/exposition.ts";
import { TestReceiver } from "../harness/receiver.ts";

it.each(["0", "1"])("/metrics knows how many attempts are on the wire of %s sender threads", async (threads) => {
  const answered = Promise.withResolvers<void>();
  const receiver = await TestReceiver.start([{ until: answered.promise }, { until: answered.promise }]);
  const settings = { DELIVERY_THREADS: threads, METRICS_PUBLIC: "true" };
  const daemon = await TestDaemon.start({ clock: systemClock, settings });
  const inFlight = async () => {
    const families = parseExposition(await (await fetch(new URL("/metrics", daemon.url))).text());
    return families.get("webhookd_in_flight")!.series.get("webhookd_in_flight");
  };
  await daemon.register(receiver.url);
  expect(await inFlight()).toBe(0);
  await Promise.all([daemon.publish(), daemon.publish()]);
  await receiver.next();
  await receiver.next();
  expect(await inFlight()).toBe(2);
  answered.resolve();
  await daemon.daemon.idle();
  expect(await inFlight()).toBe(0);
  await receiver.close();
});
