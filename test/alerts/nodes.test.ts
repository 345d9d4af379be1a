/** Alerts of several nodes, of which one tells what all have to tell. */
import { describe, expect, it, onTestFinished } from "vitest";
import { Alerts, type AlertsParts } from "../../src/alerts/alerts.ts";
import { loadConfig } from "../../src/config.ts";
import { silentLog } from "../../src/log.ts";
import { inputs } from "../config/inputs.ts";
import { ManualClock } from "../harness/clock.ts";
import { TestReceiver } from "../harness/receiver.ts";

/** What the nodes hand to each other. */
class Handed {
  #notices: { readonly at: number; readonly text: string }[] = [];

  get size(): number {
    return this.#notices.length;
  }

  on(clock: ManualClock) {
    return {
      hand: async (texts: readonly string[]) => {
        this.#notices.push(...texts.map((text) => ({ at: clock.now(), text })));
      },
      take: async (before: number) => {
        const taken = this.#notices.filter(({ at }) => at < before);
        this.#notices = this.#notices.filter(({ at }) => at >= before);
        return taken.map(({ text }) => text);
      },
    };
  }
}

async function aNode(handed: Handed, clock: ManualClock, { isFirst, isOn }: { isFirst: boolean; isOn: boolean }) {
  const chat = await TestReceiver.start();
  onTestFinished(() => chat.close());
  const store = {
    endpoints: { list: async () => ({ data: [], nextCursor: null }) },
    ownership: { alerts: handed.on(clock) },
  };
  const parts = {
    store,
    clock,
    log: silentLog,
    deliveries: () => ({ refresh: async () => {} }),
    isFirst: () => isFirst,
  };
  const alerts = new Alerts(parts as unknown as AlertsParts);
  const env = isOn ? { WEBHOOKD_ALERTS_SLACK_URL: `${chat.url}/hook` } : {};
  const policy = { dev: true, allowHttp: true, ports: "any", allowIpHosts: true, address: { check: () => null } };
  await alerts.configure(loadConfig(inputs({ env })), () => policy as never);
  return { alerts, texts: () => chat.requests.map(({ body }) => (JSON.parse(String(body)) as { text: string }).text) };
}

describe("alerts of several nodes", () => {
  it("are told by the first of them", async () => {
    const [handed, clock] = [new Handed(), new ManualClock()];
    const first = await aNode(handed, clock, { isFirst: true, isOn: true });
    const second = await aNode(handed, clock, { isFirst: false, isOn: true });
    second.alerts.backupFailed("no room");
    await second.alerts.run();
    await first.alerts.run();
    await expect.poll(first.texts).toEqual(["A backup failed: 1\nno room"]);
    expect([second.texts(), handed.size]).toEqual([[], 0]);
  });

  it("are told by another, and do not pile up, where the first tells nobody", async () => {
    const [handed, clock] = [new Handed(), new ManualClock()];
    const first = await aNode(handed, clock, { isFirst: true, isOn: false });
    const second = await aNode(handed, clock, { isFirst: false, isOn: true });
    second.alerts.backupFailed("no room");
    for (let seconds = 0; seconds < 75; seconds++) {
      await first.alerts.run();
      await second.alerts.run();
      clock.advance("1s");
    }
    await expect.poll(second.texts).toEqual(["A backup failed: 1\nno room"]);
    expect([first.texts(), handed.size]).toEqual([[], 0]);
  });
});
