import { existsSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { it, type DaemonProcess, type Machine } from "../harness/process.ts";
import type { TestReceiver } from "../harness/receiver.ts";
import { RunningDashboard } from "./dashboard.ts";
import { inTerminal } from "./tmux.ts";
import { KEY } from "../../tui/keys/names.ts";

const FAILED = 3;

interface Site {
  readonly daemon: DaemonProcess;
  readonly receiver: TestReceiver;
  readonly again: () => Promise<DaemonProcess>;
}

async function siteOn(machine: Machine): Promise<Site> {
  const receiver = await machine.receiver(...Array<number>(2 * FAILED).fill(500));
  const again = () => machine.serve({ settings: { RETRY_DELAYS: "1ms" } });
  const daemon = await again();
  await daemon.register(receiver.url);
  for (let n = 0; n < FAILED; n++)
    await daemon.request("POST", "/v1/webhooks/events", { type: "budget.exceeded", data: { n } });
  const failed = async () => (await daemon.request("GET", "/v1/webhooks/events?status=failed")).body.data.length;
  await expect.poll(failed).toBe(FAILED);
  expect(receiver.requests).toHaveLength(2 * FAILED);
  return { daemon, receiver, again };
}

async function kill({ process }: DaemonProcess): Promise<void> {
  process.kill("SIGKILL");
  await process.exit;
}

/** Opens a socket in front of the daemon's. It can hold responses back. */
async function wire(dir: string) {
  const sockets = new Set<Socket>();
  const socket = join(dir, "wire.sock");
  const line = { socket, isCut: false, drop: () => sockets.forEach((one) => one.destroy()) };
  const server = createServer((near) => {
    const far = connect(join(dir, "webhookd.sock"));
    for (const one of [near, far]) sockets.add(one.on("error", () => one.destroy()));
    near.pipe(far);
    far.on("data", (bytes) => line.isCut || near.write(bytes)).on("close", () => line.isCut || near.destroy());
    near.on("close", () => far.destroy());
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    line.drop();
    server.close();
    if (existsSync(socket)) rmSync(socket);
  });
  return line;
}

inTerminal("a daemon that is killed under the open dashboard", () => {
  it("is told of, and the rows stay until it is back", async ({ machine }) => {
    const { daemon, receiver, again } = await siteOn(machine);
    const socket = join(daemon.dir, "webhookd.sock");
    const { terminal } = await RunningDashboard.open({ socket, shows: /1 of 3/ });
    const rows = (await terminal.screen()).match(/evt_…\w+/g)!;
    await kill(daemon);
    await terminal.until(/RECONNECTING[^]*Not connected/);
    await terminal.press("Escape");
    await terminal.until((screen) => !screen.includes("Not connected"));
    await terminal.press(KEY.replay);
    const away = await terminal.until(`${KEY.replay} is off: actions are off until the daemon answers`);
    expect(away.match(/evt_…\w+/g)).toEqual(rows);
    await again();
    await terminal.until("● live");
    expect(receiver.requests).toHaveLength(2 * FAILED);
    await terminal.press(KEY.replay);
    await terminal.until("Replay event");
    await terminal.press("y");
    await terminal.until("delivered, 200");
    expect(receiver.requests).toHaveLength(2 * FAILED + 1);
  });

  it("before it answered, is asked again under the same key", async ({ machine }) => {
    const { daemon, receiver, again } = await siteOn(machine);
    const { terminal } = await RunningDashboard.open({ socket: join(daemon.dir, "webhookd.sock"), shows: /1 of 3/ });
    await terminal.press(KEY.replay);
    await terminal.until("Replay event");
    daemon.process.kill("SIGSTOP");
    await terminal.press("y");
    await terminal.until(": asked");
    await kill(daemon);
    await terminal.until(/no answer; it will be sent again when the daemon is back/);
    const next = await again();
    await terminal.until("● live");
    const { body } = await next.request("GET", "/v1/webhooks/events?limit=1");
    await expect
      .poll(async () => (await next.request("GET", `/v1/webhooks/events/${body.data[0].id}`)).body.status)
      .toBe("delivered");
    expect(receiver.requests).toHaveLength(2 * FAILED + 1);
  });

  it("after it did what was asked, and before that could be told, does it no second time", async ({ machine }) => {
    const { daemon, receiver, again } = await siteOn(machine);
    const line = await wire(daemon.dir);
    const { terminal } = await RunningDashboard.open({ socket: line.socket, shows: /1 of 3/ });
    const { body } = await daemon.request("GET", "/v1/webhooks/events?limit=1");
    const event = `/v1/webhooks/events/${body.data[0].id}`;
    await terminal.press(KEY.replay);
    await terminal.until("Replay event");
    line.isCut = true;
    await terminal.press("y");
    await expect.poll(async () => (await daemon.request("GET", event)).body.status).toBe("delivered");
    await kill(daemon);
    line.drop();
    await terminal.until(/no answer; it will be sent again when the daemon is back/);
    line.isCut = false;
    await again();
    await terminal.until("● live");
    await terminal.until(/replay .*: (queued|delivered)/);
    expect(receiver.requests).toHaveLength(2 * FAILED + 1);
  });
});
