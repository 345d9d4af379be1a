/** A customer calls support, who has a shell and the customer's name, but no id. */
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { systemClock } from "../../src/clock.ts";
import { aDirectory, TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

/** The number of customers whose endpoints fail beside the one who calls, most of them more often. */
const CUSTOMERS = 40;

it("one command shows what is wrong with ACME, and the next one shows more", async () => {
  const others = await TestReceiver.start(Array<number>(CUSTOMERS).fill(503));
  const acme = await TestReceiver.start([401]);
  onTestFinished(() => Promise.all([others.close(), acme.close()]).then(() => {}));
  const dir = aDirectory();
  const daemon = await TestDaemon.start({ dir, clock: systemClock });
  for (let n = 0; n < CUSTOMERS; n++) await daemon.register(`${others.url}/${n}`, { description: `Customer ${n}` });
  await daemon.register(`${acme.url}/in`, { description: "ACME Corp, production" });
  await daemon.publish({ n: 1 });
  await expect.poll(() => others.requests.length + acme.requests.length).toBe(CUSTOMERS + 1);
  const run = async (...words: string[]) => {
    const io = new FakeIo({ isTTY: true, columns: 80 });
    expect(await webhookd(io, ...words, "--socket", join(dir, "webhookd.sock"))).toBe(EXIT.ok);
    return io.out;
  };
  const failures = await run("failures", "acme");
  expect(failures).toMatch(/401 from the receiv/);
  expect(failures).toMatch(/ likely fault +the receiver\n/);
  expect(failures).toMatch(/ customer +Your endpoint refuses our signature or our address\./);
  const [, compare] = / compare the secret +webhookd (.+)\n/.exec(failures)!;
  expect(await run(...compare!.split(" "))).toMatch(/^whsec_\S+\n$/);
  expect(await run("endpoints", "show", "acme")).toMatch(
    / last success +never\n[^]* description +ACME Corp, production\n/,
  );
});
