import { afterEach, expect, it } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { version } from "../../src/build.ts";
import { frameOf } from "../../tui/frame.ts";
import type { Tab } from "../../tui/model/list.ts";
import { Program } from "../../tui/program.ts";
import { initialState } from "../../tui/state/reduce.ts";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver, type Answer } from "../harness/receiver.ts";
import { SETTINGS } from "./daemon.ts";
import { KEY } from "../../tui/keys/names.ts";

const EVENTS = 30;

let site: Site | undefined;
afterEach(async () => {
  site?.program.stop();
  await site?.receiver.close();
});

/** A daemon with failed deliveries, and a dashboard on it. Both use one clock, which the test moves. */
class Site {
  readonly clock = new ManualClock();
  daemon!: TestDaemon;
  receiver!: TestReceiver;
  program!: Program;

  /** Starts with events that have all failed for good. From then on the receiver gives `answers`, and then 200. */
  static async open(tab: Tab, ...answers: Answer[]): Promise<Site> {
    site = new Site();
    site.receiver = await TestReceiver.start(Array.from({ length: 2 * EVENTS }, () => 503));
    site.receiver.answer(...answers);
    site.daemon = await TestDaemon.start({ clock: site.clock, settings: { RETRY_DELAYS: "1s" } });
    await site.daemon.register(site.receiver.url);
    await site.publish(EVENTS);
    await site.daemon.daemon.idle();
    await site.second();
    site.receiver.requests.length = 0;
    site.show(tab);
    await expect.poll(() => site!.screen()).toContain("503");
    return site;
  }

  show(tab: Tab): void {
    const client = createClient({ socket: this.daemon.config.server.socket }, { version });
    const now = () => this.clock.now();
    const around = {
      now,
      after(ms: number, run: () => void) {
        const timer = setTimeout(run, Math.min(ms, 10));
        return () => clearTimeout(timer);
      },
      mouse() {},
      suspend() {},
      redraw() {},
      copy() {},
      save: (name: string) => name,
      quit() {},
    };
    const settings = { ...SETTINGS, version, look: { color: false, ascii: false } };
    const size = { columns: 120, rows: 40 };
    this.program = new Program(initialState({ now: now(), size, settings, tab }), client, around);
    this.program.start();
  }

  async publish(count: number): Promise<void> {
    const events = Array.from({ length: count }, (_, n) => ({ type: "budget.exceeded", data: { n } }));
    await this.daemon.request("POST", "/v1/webhooks/events/batch", { events });
  }

  async second(): Promise<void> {
    this.clock.advance("1s");
    await this.daemon.daemon.tick();
    await this.daemon.settle(this.clock);
  }

  screen(): string {
    return frameOf(this.program.state)
      .join("\n")
      .replaceAll(/\x1b\[[0-9;]*m/g, "");
  }

  type(...keys: string[]): void {
    for (const key of keys) this.program.keys([key]);
  }

  /** Lets seconds pass until the screen shows the text. */
  async until(text: string): Promise<void> {
    const say = async () => {
      if (!this.screen().includes(text)) await this.second();
      return this.screen();
    };
    await expect.poll(say).toContain(text);
  }

  shows(text: string): Promise<void> {
    return expect.poll(() => this.screen()).toContain(text);
  }
}

it("replays a group of failures: each once, and says what came of it", async () => {
  const { receiver } = await Site.open("failures");
  site!.type(KEY.replayMany);
  await site!.shows("Replay 30 failed deliveries");
  site!.type("3", "0", "enter");
  await site!.shows("running as job_");
  await site!.until("done; 30 delivered, 0 failed");
  expect(receiver.requests).toHaveLength(EVENTS);
  const ids = receiver.requests.map(({ headers }) => headers["webhook-id"]);
  expect(new Set(ids).size).toBe(EVENTS);
});

it("stops after a canary that failed, and goes on when somebody says so", async () => {
  const { receiver } = await Site.open("failures", 503);
  site!.type("c");
  await site!.shows("Canary replay of 30 failed deliveries");
  site!.type("enter");
  await site!.until("paused itself");
  // The ladder may have retried the failed delivery.
  expect(new Set(receiver.requests.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  site!.type("5");
  await site!.shows("paused");
  site!.type("g", "z");
  await site!.shows("answered 503");
  site!.type("enter");
  await site!.until("done; 29 delivered, 1 failed");
});

it("does nothing by a number that is not true any more, and shows the new plan", async () => {
  const { receiver } = await Site.open("failures");
  site!.type(KEY.replayMany);
  await site!.shows("Replay 30 failed deliveries");
  const { body } = await site!.daemon.request("GET", "/v1/webhooks/events?status=failed&limit=1");
  await site!.daemon.request("POST", `/v1/webhooks/events/${body.data[0].id}/retry`, {});
  await site!.daemon.daemon.idle();
  site!.type("3", "0", "enter");
  await site!.shows("The count is no longer 30, so nothing was done");
  await site!.shows("Replay 29 failed deliveries");
  expect(receiver.requests).toHaveLength(1);
  site!.type("2", "9", "enter");
  await site!.until("done; 29 delivered, 0 failed");
});

it("pulls the brake, and releases it", async () => {
  const { receiver, daemon } = await Site.open("events");
  site!.type("B");
  await site!.shows("Pause sending");
  site!.type(..."upstream", "enter");
  await site!.shows("SENDING PAUSED");
  await site!.publish(1);
  await daemon.daemon.tick();
  expect(receiver.requests).toHaveLength(0);
  expect((await daemon.request("GET", "/v1/status")).body.paused).toMatchObject({ reason: "upstream" });
  site!.type("B");
  await site!.shows("Resume sending");
  site!.type("y");
  await site!.shows("attempts start again");
  await expect.poll(async () => (await site!.second(), receiver.requests.length)).toBe(1);
});

it("cancels all that waits, and sends an endpoint what it never got", async () => {
  const { receiver, daemon } = await Site.open("endpoints");
  const { body } = await daemon.request("GET", "/v1/webhooks");
  await daemon.request("PATCH", `/v1/webhooks/${body.data[0].id}`, { enabled: false, when_disabled: "hold" });
  await site!.publish(5);
  await site!.second();
  site!.type("X");
  await site!.shows("Cancel 5 waiting deliveries");
  site!.type("5", "enter");
  await site!.until("done; 5 cancelled");
  // The newest endpoint is below the failing ones. Events of its types were published before it existed.
  await daemon.register(receiver.url);
  site!.type("ctrl+r", "G");
  await site!.shows("▶ ○ untried");
  site!.type("M");
  await site!.shows("Back-fill 35 missing deliveries");
  site!.type("3", "5", "enter");
  await site!.until("back-fill job_");
  await site!.until("done; 35 delivered, 0 failed");
  expect(receiver.requests).toHaveLength(35);
});
