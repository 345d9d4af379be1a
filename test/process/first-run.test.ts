import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { ownPort } from "../harness/port.ts";
import { it, SCRIPT } from "../harness/process.ts";

const README = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
/** The three commands under "The first event", without the program's name. */
const TYPED = /\n## The first event\n[^]*?```sh\n([^]*?)```/
  .exec(README)![1]!
  .trim()
  .split("\n")
  .map((line) => line.split(" ").slice(1));

it("three commands from the README deliver a first event within a minute, from any folder and with no file", async ({
  machine,
}) => {
  const start = performance.now();
  expect(TYPED.map((words) => words.join(" "))).toEqual([
    "serve --dev",
    "listen --register",
    "trigger budget.exceeded",
  ]);
  const [serve, listen, trigger] = TYPED as [string[], string[], string[]];
  // Only the ports differ, because other programs may run on this machine too.
  const port = String(await ownPort());
  const daemon = machine.spawn(SCRIPT, serve, { settings: { SERVER_LISTEN: "127.0.0.1:0" } });
  await daemon.json(({ msg }) => msg === "listening");
  const startMs = performance.now() - start;
  const receiver = machine.spawn(SCRIPT, [...listen, "--port", port]);
  await receiver.line((line) => line.startsWith("Listening on "));
  const event = machine.spawn(SCRIPT, trigger);
  expect(await event.exit).toBe(0);
  expect(event.stdout).toMatch(/^evt_\S+ {2}budget\.exceeded\n {2}ep_.+ {2}200 in \d+ ms\nDelivered\.\n$/);
  expect(await receiver.line((line) => line.includes("budget.exceeded"))).toContain("signature ok");
  // On a machine so busy that a start takes more than six seconds, the whole run may take as long as ten starts.
  expect(performance.now() - start).toBeLessThan(Math.max(60_000, 10 * startMs));

  // A killed receiver cannot remove its endpoint. The next one on the same address removes it.
  receiver.kill("SIGKILL");
  await receiver.exit;
  const again = machine.spawn(SCRIPT, [...listen, "--port", port]);
  await again.line((line) => line.includes("was left by an earlier run"));
  again.kill("SIGTERM");
  expect(await again.exit).toBe(0);
  expect(again.stdout).toMatch(/Removed ep_\S+\.\n$/);
  expect(daemon.stderr + receiver.stderr + again.stderr + event.stderr).toBe("");
});
