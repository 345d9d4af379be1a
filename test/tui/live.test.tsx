/** Managing endpoints by keyboard, with the real daemon and a real receiver. */
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { systemClock } from "../../src/clock.ts";
import { version } from "../../src/build.ts";
import { openDashboard } from "../../tui/main.tsx";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver, type Answer } from "../harness/receiver.ts";
import { SETTINGS } from "./daemon.ts";
import { FakeTerminal } from "./terminal.ts";

const open: { terminal: FakeTerminal; end: Promise<number>; receiver: TestReceiver; daemon: TestDaemon }[] = [];

async function dashboard(script: readonly Answer[] = []) {
  const daemon = await TestDaemon.start({ clock: systemClock });
  const receiver = await TestReceiver.start(script);
  const terminal = new FakeTerminal({ columns: 80, rows: 24 });
  const client = createClient({ socket: join(daemon.dir, "webhookd.sock") }, { version });
  const { stdin, stdout } = terminal;
  const settings = { ...SETTINGS, version, session: "live" };
  const end = openDashboard({ client, settings, tab: "endpoints", filter: "", stdin, stdout });
  const opened = { terminal, end, receiver, daemon };
  open.push(opened);
  return { ...opened, shows: (text: string | RegExp) => shows(terminal, text) };
}

/** Waits until the text is on the screen. */
const shows = (terminal: FakeTerminal, text: string | RegExp) => expect.poll(() => terminal.text()).toMatch(text);

/** Each text shows that a field below the event types is being filled. Enter takes its default. */
const FIELDS_BELOW = ["JSON such as", "for people", "▶ hmac", "▶ envelope", "▶ none", "▶ continue"];

async function fillTheRest(terminal: FakeTerminal): Promise<void> {
  for (const field of FIELDS_BELOW) {
    await shows(terminal, field);
    terminal.type("\r");
  }
}

/**
 * Closes the box with the secret, of which nothing may stay. Esc is sent alone: together with another key it would mean
 * Alt.
 */
async function leave(terminal: FakeTerminal): Promise<void> {
  terminal.type("\x1b");
  await expect.poll(() => terminal.text()).not.toContain("whsec_");
}

afterEach(async () => {
  for (const { terminal, end, receiver, daemon } of open.splice(0)) {
    terminal.type("\x03");
    await end;
    await daemon.stop();
    await receiver.close();
  }
});

it("adds the first endpoint, tests, pauses, enables and deletes it, and keeps its secret nowhere", async () => {
  const { terminal, receiver, daemon, shows } = await dashboard();
  await shows("No endpoints yet");
  terminal.type("a");
  await shows("Add endpoint");
  terminal.type(`\x1b[200~${receiver.url}\n\x1b[201~`);
  terminal.type("\t");
  await shows("budget.exceeded");
  terminal.type("budget.exceeded\r");
  await fillTheRest(terminal);
  await shows(/whsec_\S+/);
  const secret = /whsec_\S+/.exec(await terminal.text())![0];
  const [{ id }] = (await daemon.request("GET", "/v1/webhooks")).body.data;
  expect(secret).toBe((await daemon.request("GET", `/v1/webhooks/${id}/secret`)).body.signing_secret);
  await leave(terminal);
  await shows(/▶ . untried/);

  terminal.type("t");
  await shows("Send a test event to");
  terminal.type("\r");
  await shows(/test ep_\S+: 200 in \d+ ms/);
  expect(receiver.requests).toHaveLength(1);

  terminal.type("z");
  await shows("Disable ep_");
  terminal.type("h");
  await shows("nothing more is sent to it; its new events are held");
  await daemon.publish();
  await shows(/‖ disabled/);
  terminal.type("z");
  await shows("1 delivery is waiting for it, and will be sent now");
  terminal.type("y");
  await expect.poll(() => receiver.requests.length).toBe(2);

  terminal.type("D");
  await shows("Delete ep_");
  terminal.type(`${id.slice(-8)}\r`);
  await expect.poll(async () => (await daemon.request("GET", "/v1/webhooks")).body.data).toEqual([]);
  await shows("No endpoints yet");
});

it("says at its field what the daemon refuses, and what a receiver says that refuses a test", async () => {
  const { terminal, receiver, daemon, shows } = await dashboard([{ status: 503, body: "out of order" }]);
  await shows("No endpoints yet");
  terminal.type("a");
  await shows("Add endpoint");
  terminal.type("http://10.0.0.5/hook\t");
  terminal.type("all\r");
  await fillTheRest(terminal);
  await shows(/must be https|not allowed|private|public/);
  expect((await daemon.request("GET", "/v1/webhooks")).body.data).toEqual([]);
  terminal.type("\x15");
  terminal.type(receiver.url);
  terminal.type("\t");
  terminal.type("\t");
  await fillTheRest(terminal);
  await shows(/whsec_/);
  await leave(terminal);
  await shows(/▶ . untried/);
  terminal.type("t");
  await shows("Send a test event to");
  terminal.type("\r");
  await shows("out of order");
});

it("rotates a secret with an overlap, and completes it", async () => {
  const { terminal, receiver, daemon, shows } = await dashboard();
  const { id, signing_secret: first } = await daemon.register(receiver.url);
  const secrets = async () => (await daemon.request("GET", `/v1/webhooks/${id}/secret`)).body;
  await shows(/▶ . untried/);
  terminal.type("S");
  await shows("Rotate the secret");
  terminal.type("\r");
  terminal.type(`${id}\r`);
  await shows("The next secret");
  const next = /whsec_\S+/.exec(await terminal.text())![0];
  expect(await secrets()).toMatchObject({ signing_secret: first, next_signing_secret: next });
  await leave(terminal);
  terminal.type("S");
  await shows("complete: the next secret takes over now");
  terminal.type("c");
  await shows("the next secret has taken over");
  expect(await secrets()).toEqual({ signing_secret: next });
  expect(await terminal.text()).not.toContain("whsec_");
});
