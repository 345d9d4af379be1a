/** Alerts of several nodes: each reports to the store, and one of them sends the alerts of all. */
import { describe, expect, it, onTestFinished } from "vitest";
import { Alerts, type AlertsParts } from "../../src/alerts/alerts.ts";
import { loadConfig } from "../../src/config.ts";
import { silentLog } from "../../src/log.ts";
import type { EndpointHeldKeys } from "../../src/domain/deliveries/ordering.ts";
import type { ReportedFailing, Store } from "../../src/store/store.ts";
import { inputs } from "../config/inputs.ts";
import { ManualClock } from "../harness/clock.ts";
import { TestReceiver } from "../harness/receiver.ts";

/**
 * The store's part in alerts, which the nodes share: pending notices, and the endpoints that were reported as failing.
 */
class Handed {
  readonly failing = new Map<string, ReportedFailing>();
  #notices: { readonly at: number; readonly text: string }[] = [];

  get size(): number {
    return this.#notices.length;
  }

  on(clock: ManualClock, owns: (endpoint: string) => boolean): NonNullable<Store["ownership"]["alerts"]> {
    return {
      hand: async (texts: readonly string[]) => {
        this.#notices.push(...texts.map((text) => ({ at: clock.now(), text })));
      },
      take: async (before: number) => {
        const taken = this.#notices.filter(({ at }) => at < before);
        this.#notices = this.#notices.filter(({ at }) => at >= before);
        return taken.map(({ text }) => text);
      },
      failing: async (endpoints: readonly ReportedFailing[]) => {
        const unreported = endpoints.filter(({ endpoint }) => !this.failing.has(endpoint));
        for (const one of unreported) this.failing.set(one.endpoint, one);
        return new Set(unreported.map(({ endpoint }) => endpoint));
      },
      ended: async (endpoints: readonly string[]) => {
        for (const endpoint of endpoints) this.failing.delete(endpoint);
      },
      reported: async () => [...this.failing.values()].filter(({ endpoint }) => owns(endpoint)),
    };
  }
}

interface What {
  readonly isFirst: boolean | (() => boolean);
  readonly isOn: boolean;
  readonly owns?: (endpoint: string) => boolean;
  readonly held?: () => readonly EndpointHeldKeys[];
}

async function aNode(handed: Handed, clock: ManualClock, { isFirst, isOn, owns = () => true, held = () => [] }: What) {
  const chat = await TestReceiver.start();
  onTestFinished(() => chat.close());
  const store = {
    endpoints: {
      list: async () => ({ data: [], nextCursor: null }),
      get: async () => null,
      tenantOf: async () => null,
    },
    ownership: { alerts: handed.on(clock, owns), owns },
    statistics: { heldKeys: async () => held() },
  };
  const parts = {
    store,
    clock,
    log: silentLog,
    deliveries: () => ({ refresh: async () => {} }),
    isFirst: () => (typeof isFirst === "boolean" ? isFirst : isFirst()),
  };
  const alerts = new Alerts(parts as unknown as AlertsParts);
  const env = isOn ? { WEBHOOKD_ALERTS_SLACK_URL: `${chat.url}/hook` } : {};
  const policy = { dev: true, allowHttp: true, ports: "any", allowIpHosts: true, address: { check: () => null } };
  await alerts.configure(loadConfig(inputs({ env })), () => policy as never);
  return { alerts, texts: () => chat.requests.map(({ body }) => (JSON.parse(String(body)) as { text: string }).text) };
}

describe("alerts of several nodes", () => {
  it("are sent by the first of them", async () => {
    const [handed, clock] = [new Handed(), new ManualClock()];
    const first = await aNode(handed, clock, { isFirst: true, isOn: true });
    const second = await aNode(handed, clock, { isFirst: false, isOn: true });
    second.alerts.backupFailed("no room");
    await second.alerts.run();
    await first.alerts.run();
    await expect.poll(first.texts).toEqual(["A backup failed: 1\nno room"]);
    expect([second.texts(), handed.size]).toEqual([[], 0]);
  });

  it("are sent by another node, and do not pile up, if the first one sends none", async () => {
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

  it("report once that an endpoint is failing, and once that it recovered, wherever it moves in between", async () => {
    const [handed, clock] = [new Handed(), new ManualClock()];
    let owner = 0;
    const nodes = [
      await aNode(handed, clock, { isFirst: true, isOn: true, owns: () => owner === 0 }),
      await aNode(handed, clock, { isFirst: false, isOn: true, owns: () => owner === 1 }),
    ];
    const run = async (seconds = 75) => {
      for (; seconds > 0; seconds--) {
        for (const { alerts } of nodes) await alerts.run();
        clock.advance("1s");
      }
    };
    const attempt = (outcome: "failed" | "succeeded") =>
      nodes[owner]!.alerts.attempted(
        {
          claim: { endpoint: "ep_1" },
          outcome: { outcome, error: "http_status", statusCode: 503 },
          verdict: {},
        } as never,
        { result: "applied" } as never,
      );
    const fail = () => {
      for (let times = 20; times > 0; times--) attempt("failed");
    };
    const kinds = () => nodes.flatMap(({ texts }) => texts().map((text) => text.split(":")[0]));
    fail();
    // The endpoint moves to the other node after its failures were reported and before an alert was sent.
    await run(1);
    owner = 1;
    fail();
    await run();
    owner = 0;
    fail();
    await run();
    owner = 1;
    await run();
    await expect.poll(kinds).toEqual(["Endpoints are failing"]);
    attempt("succeeded");
    await run();
    await expect.poll(kinds).toHaveLength(2);
    owner = 0;
    attempt("succeeded");
    await run();
    expect(kinds()).toEqual(["Endpoints are failing", "Endpoints work again"]);
    fail();
    await run();
    await expect.poll(kinds).toHaveLength(3);
  });

  it("report a recovery even if it comes before a node has learnt that the failures were reported", async () => {
    const [handed, clock] = [new Handed(), new ManualClock()];
    handed.failing.set("ep_1", { endpoint: "ep_1", failingSince: clock.now() });
    const node = await aNode(handed, clock, { isFirst: true, isOn: true });
    const ended = { claim: { endpoint: "ep_1" }, outcome: { outcome: "succeeded" }, verdict: {} };
    node.alerts.attempted(ended as never, { result: "applied" } as never);
    await node.alerts.run();
    await expect.poll(node.texts).toEqual([expect.stringMatching(/^Endpoints work again: 1\n/)]);
    expect(handed.failing.size).toBe(0);
  });

  it("leave an endpoint out of a notice if another node has already reported it", async () => {
    const [handed, clock] = [new Handed(), new ManualClock()];
    // The node still reports both endpoints, because it has not read yet that an alert was sent for ep_1.
    const node = await aNode(handed, clock, { isFirst: true, isOn: true, owns: () => false });
    handed.failing.set("ep_1", { endpoint: "ep_1", failingSince: clock.now() });
    for (const endpoint of ["ep_1", "ep_2"]) {
      for (let times = 20; times > 0; times--) {
        node.alerts.attempted(
          {
            claim: { endpoint },
            outcome: { outcome: "failed", error: "http_status", statusCode: 503 },
            verdict: {},
          } as never,
          { result: "applied" } as never,
        );
      }
    }
    await node.alerts.run();
    await expect.poll(node.texts).toEqual([expect.stringMatching(/^Endpoints are failing: 1\n/)]);
  });

  it("name a held key once for each time that a node becomes the first", async () => {
    const [handed, clock] = [new Handed(), new ManualClock()];
    let first = 0;
    const since = clock.now() - 3_600_000;
    const held = () => [{ endpoint: "ep_1", count: 1, since, orderingKey: "a", event: "evt_1" }];
    const node = (number: number) => aNode(handed, clock, { isFirst: () => first === number, isOn: true, held });
    const nodes = [await node(0), await node(1)];
    const run = async (now: number) => {
      first = now;
      for (let seconds = 0; seconds < 75; seconds++) {
        for (const { alerts } of nodes) await alerts.run();
        clock.advance("1s");
      }
    };
    const told = () => nodes.map(({ texts }) => texts().length);
    await run(0);
    await expect.poll(told).toEqual([1, 0]);
    await run(1);
    await expect.poll(told).toEqual([1, 1]);
    await run(0);
    await expect.poll(told).toEqual([2, 1]);
  });
});
