import { expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { webhookd } from "../cli/runs.ts";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";

it("a tail shows every attempt once, also those made while the daemon was another process", async () => {
  const receiver = await TestReceiver.start();
  const clock = new ManualClock();
  const first = await TestDaemon.start({ clock });
  await first.register(receiver.url);
  const publish = async (daemon: TestDaemon) => {
    clock.advance("1s");
    const id = await daemon.publish();
    await daemon.daemon.idle();
    return id;
  };
  const before = await publish(first);

  const io = new FakeIo();
  let goOn = () => {};
  const restarted = new Promise<void>((resolve) => (goOn = resolve));
  io.sleep = () => restarted;
  const words = ["events", "tail", "--attempts", "-n", "1", "--exit-after", "3"];
  const ended = webhookd(io, ...words, "--socket", first.config.server.socket);
  const said = async (text: string) => {
    while (!`${io.out}${io.err}`.includes(text)) {
      clock.advance(250);
      await new Promise(setImmediate);
    }
  };
  await said(before);
  const live = await publish(first);
  await said(live);
  await first.stop();
  await said("-- connection lost");
  const second = await TestDaemon.start({ clock, dir: first.dir });
  const between = await publish(second);
  goOn();
  expect(await ended).toBe(EXIT.ok);
  expect(io.out.split("\n").map((line) => /evt_\w+/.exec(line)?.[0])).toEqual([before, live, between, undefined]);
  expect(io.err).toContain("1 delivery has changed; ");
  await receiver.close();
});
