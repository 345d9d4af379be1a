import { expect, it } from "vitest";
import { TestDaemon } from "../harness/daemon.ts";
import { ManualClock } from "../harness/clock.ts";
import { TestReceiver } from "../harness/receiver.ts";

it("a client follows a delivery from its publish to its end, until the daemon stops", async () => {
  const receiver = await TestReceiver.start();
  const clock = new ManualClock();
  const daemon = await TestDaemon.start({ clock });
  const endpoint = await daemon.register(receiver.url);
  const stream = await daemon.follow();
  const event = await daemon.publish();
  await daemon.daemon.idle();
  while (!stream.text().includes('"delivered"')) {
    clock.advance(250);
    await new Promise(setImmediate);
  }
  expect(stream.text()).toContain(`"event":"${event}"`);
  expect(stream.text()).toContain(`"endpoint":"${endpoint.id}"`);
  await daemon.stop();
  await stream.ended;
});
