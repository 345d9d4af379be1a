/**
 * The drill of an outage: from the prompt to the cause, a canary replay and a pause. This runs a tenth of it, and `npm
 * run drill` runs all. DRILL_PROGRAM names another build of webhookd for the dashboard.
 */
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { cpuMs } from "../../scripts/bench/usage.ts";
import { bundle } from "../../scripts/build.ts";
import { START } from "../../src/bundle.ts";
import { systemClock } from "../../src/clock.ts";
import { aDirectory, TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { CAUSES, fillBacklog } from "./backlog.ts";
import { RunningDashboard } from "./dashboard.ts";
import { inTerminal, type Tmux } from "./tmux.ts";

const FAILED = Number(process.env["DRILL_FAILED"] ?? 4000);
const PENDING = 5 * FAILED;
const PACE = "500";
/** Limits CPU time. The elapsed time depends on what else the machine does, so it is only printed. */
const OPEN_MS = 400;
const SLACK = 4;
/** The number of replayed deliveries that are answered before the job is paused. The others wait. */
const HALF = Math.floor(FAILED / CAUSES.length / 4);

/** Bundles the program as it is released. The source takes twice as long to load. */
async function program(dir: string): Promise<string> {
  const { directory } = await bundle(`${process.platform}-${process.arch}`, join(dir, "bundle"));
  return `node ${directory}/${START}`;
}

async function site() {
  const paused = Promise.withResolvers<void>();
  const answers = Array.from({ length: FAILED }, (_, at) => (at < HALF ? 200 : { until: paused.promise }));
  const receiver = await TestReceiver.start(answers);
  onTestFinished(() => receiver.close());
  const dir = aDirectory();
  const first = await TestDaemon.start({ dir, clock: systemClock });
  for (const place of CAUSES.keys()) await first.register(`${receiver.url}/${place}`);
  await first.stop();
  fillBacklog(dir, { failed: FAILED, pending: PENDING });
  const daemon = await TestDaemon.start({ dir, clock: systemClock });
  const run = { socket: join(dir, "webhookd.sock"), program: process.env["DRILL_PROGRAM"] ?? (await program(dir)) };
  return { daemon, receiver, run, paused };
}

inTerminal("a bad night", () => {
  it("is understood and mended from the keyboard", async () => {
    const { daemon, receiver, run, paused } = await site();
    const dashboard = await RunningDashboard.open({ ...run, screen: null, shows: "● live" });
    const { terminal } = dashboard;
    const opened = Math.round(dashboard.openedMs);
    const began = performance.now() - opened;
    const since = () => Math.round(performance.now() - began);
    const openedCpuMs = cpuMs(await terminal.foreground());
    expect(openedCpuMs).toBeLessThanOrEqual(SLACK * OPEN_MS);
    let keys = 0;
    const press = async (key: string, shows: Parameters<Tmux["until"]>[0]) => {
      keys++;
      await terminal.press(key);
      return terminal.until(shows);
    };
    await terminal.until(/0 OVERVIEW[^]*3 ENDPOINTS ARE FAILING[^]*503/);
    const named = { ms: since(), keys };
    expect(named.keys).toBe(0);
    expect(named.ms).toBeLessThanOrEqual(20_000);

    await press("c", /Canary replay of/);
    await press("p", /pace/i);
    for (let n = 0; n < PACE.length; n++) await press(PACE[n]!, PACE.slice(0, n + 1));
    await press("Enter", `${PACE}/s`);
    await press("Enter", /running as|: requested/);
    await expect.poll(() => receiver.requests.length).toBeGreaterThan(0);
    const canary = { ms: since(), keys };
    expect(canary.keys).toBeLessThanOrEqual(12);
    expect(canary.ms).toBeLessThanOrEqual(60_000);

    await press("5", /5 ACTIVITY[^]*running/);
    await expect.poll(() => receiver.requests.length).toBeGreaterThan(HALF);
    await press("z", /paused/);
    paused.resolve();
    const { body } = await daemon.request("GET", "/v1/webhooks/jobs?limit=1");
    expect(body.data[0]).toMatchObject({ status: "paused" });
    const half = body.data[0].done;
    await press("z", /it goes on|running/);
    await expect
      .poll(async () => (await daemon.request("GET", "/v1/webhooks/jobs?limit=1")).body.data[0].status)
      .toBe("done");
    expect(receiver.requests.length).toBe(body.data[0].matched);

    await press("B", /pause sending/i);
    await terminal.type("a drill");
    await terminal.until("a drill");
    await press("Enter", "SENDING PAUSED");
    await press("B", "Resume sending");
    await press("y", (screen) => !screen.includes("SENDING PAUSED"));
    process.stderr.write(
      `the drill: ${JSON.stringify({ opened, openedCpuMs, named, canary, half, of: body.data[0].matched })}\n`,
    );
    await terminal.press("q");
    await dashboard.isOver(0);
  });
});

/** The number of customers whose endpoints fail beside the one who calls, most of them more often. */
const CUSTOMERS = 40;

async function customers() {
  const [others, acme] = [
    await TestReceiver.start(Array<number>(CUSTOMERS).fill(503)),
    await TestReceiver.start([401]),
  ];
  onTestFinished(() => Promise.all([others.close(), acme.close()]).then(() => {}));
  const dir = aDirectory();
  // A retry would be delivered, so none may fall due during the test, however slow the machine is.
  const daemon = await TestDaemon.start({ dir, clock: systemClock, settings: { RETRY_DELAYS: "1h" } });
  for (let n = 0; n < CUSTOMERS; n++) {
    await daemon.register(`${others.url}/${n}`, { description: `Customer ${n}` });
  }
  await daemon.register(`${acme.url}/in`, { description: "ACME Corp, production" });
  await daemon.publish({ n: 1 });
  await expect.poll(() => others.requests.length + acme.requests.length).toBe(CUSTOMERS + 1);
  return { socket: join(dir, "webhookd.sock"), program: process.env["DRILL_PROGRAM"] ?? (await program(dir)) };
}

inTerminal("customer ACME, who says that nothing came since noon", () => {
  it("is told the cause within 15 s and 6 keys, without an id", async () => {
    const run = await customers();
    const { terminal, openedMs } = await RunningDashboard.open({
      ...run,
      screen: null,
      shows: "ENDPOINTS ARE FAILING",
    });
    const began = performance.now() - openedMs;
    const keys = ["/", "a", "c", "m", "e", "Enter"];
    await terminal.press("/");
    await terminal.until(/^ \/( |$)/m);
    for (const key of keys.slice(1)) await terminal.press(key);
    const screen = await terminal.until(/ACME Corp, production[^]* why +401 from the receiver, since \d\d-\d\d/);
    const ms = Math.round(performance.now() - began);
    process.stderr.write(`a customer calls: ${JSON.stringify({ ms, keys: keys.length })}\n`);
    expect(ms).toBeLessThanOrEqual(15_000);
    expect(screen).toMatch(/ last +success never, failure \d+[sm] ago/);
  });
});
