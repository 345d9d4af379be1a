import { describe, expect } from "vitest";
import { it } from "../harness/process.ts";

describe("after process deaths in quick succession", () => {
  it("only what was on the wire at a death is suspected of it", async ({ machine }) => {
    const receiver = await machine.receiver("hang", "hang", "hang");
    let daemon = await machine.serve();
    // Only one attempt is in flight. The sender has the other deliveries too, marked as started, but they wait for
    // their turn.
    await daemon.register(receiver.url, { max_in_flight: 1 });
    await daemon.kill9();
    daemon = await machine.serve();
    await daemon.kill9();

    daemon = await machine.serve();
    const events = [await daemon.publish(), await daemon.publish(), await daemon.publish()];
    for (let death = 0; death < 3; death++) {
      const { body } = await receiver.next();
      expect(JSON.parse(body.toString())).toMatchObject({ id: events[0] });
      await daemon.kill9();
      daemon = await machine.serve();
    }
    for (const bystander of events.slice(1)) {
      expect(await daemon.settled(bystander)).toMatchObject({ status: "delivered" });
      const attempts = await daemon.attempts(bystander);
      expect(attempts.map(({ outcome, error }) => ({ outcome, error }))).toEqual([
        { outcome: "succeeded", error: null },
      ]);
    }
  });
});
