/** Alerts while the store accepts no event, for example because its disk is full. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Alerts, type AlertsParts } from "../../src/alerts/alerts.ts";
import { loadConfig } from "../../src/config.ts";
import { WebhookdError } from "../../src/domain/errors.ts";
import { silentLog } from "../../src/log.ts";
import type { Space, Store } from "../../src/store/store.ts";
import { aStore } from "../api/sqlite.ts";
import { inputs } from "../config/inputs.ts";
import { ManualClock } from "../harness/clock.ts";
import { aDirectory } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { withCapacity } from "../store/fixtures.ts";

interface Signed {
  readonly type: string;
  readonly data: { readonly total?: number; readonly endpoints?: readonly { readonly endpoint: string }[] };
}

/** Starts alerts with a signed hook and a chat. The store accepts signed alerts once `disk.isFull` is false. */
async function start() {
  const chat = await TestReceiver.start();
  onTestFinished(() => chat.close());
  const clock = new ManualClock();
  const store = await aStore(clock);
  const disk = { isFull: true };
  const signed: Signed[] = [];
  const publish: Store["events"]["publish"] = async ([draft]) => {
    if (disk.isFull) throw new WebhookdError("storage_full", "the disk is full");
    signed.push({ type: draft!.type, data: JSON.parse(String(draft!.data)) as Signed["data"] });
    return [{}] as never;
  };
  const events = { publish } as Store["events"];
  const deliveries = () => ({ capacity: withCapacity, accept: () => {}, refresh: async () => {} });
  const { endpoints, ownership, secrets, statistics } = store;
  const parts = { store: { endpoints, events, ownership, secrets, statistics }, clock, log: silentLog, deliveries };
  const alerts = new Alerts({ ...parts, isFirst: () => true } as AlertsParts);
  const secretFile = join(aDirectory(), "alerts.secret");
  writeFileSync(secretFile, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
  const env = {
    WEBHOOKD_ALERTS_URL: `${chat.url}/signed`,
    WEBHOOKD_ALERTS_SECRET_FILE: secretFile,
    WEBHOOKD_ALERTS_SLACK_URL: `${chat.url}/chat`,
  };
  const policy = { dev: true, allowHttp: true, ports: "any", allowIpHosts: true, address: { check: () => null } };
  await alerts.configure(loadConfig(inputs({ env })), () => policy as never);
  const attempt = (endpoint: string, outcome: "failed" | "succeeded", times = 1) => {
    const ended = { claim: { endpoint }, outcome: { outcome, error: "http_status", statusCode: 503 }, verdict: {} };
    for (; times > 0; times--) alerts.attempted(ended as never, { result: "applied" } as never);
  };
  const pass = async () => {
    await alerts.run();
    clock.advance("61s");
  };
  const titles = () =>
    chat.requests.map(({ body }) => (JSON.parse(String(body)) as { text: string }).text.split("\n")[0]);
  return { alerts, attempt, disk, pass, signed, titles };
}

describe("alerts that the store does not take", () => {
  it("do not keep a chat from hearing what happens meanwhile", async () => {
    const { alerts, pass, titles } = await start();
    alerts.space({ freeBytes: 5, floorBytes: 10 } as Space);
    await pass();
    alerts.backupFailed("no space left");
    await pass();
    alerts.storageFault("a page is damaged");
    await pass();
    await expect.poll(titles).toEqual(["The disk is filling up", "A backup failed: 1", "The store has a fault"]);
  });

  it("are one of each kind once it takes them, and count all that happened", async () => {
    const { alerts, disk, pass, signed } = await start();
    for (let times = 0; times < 3; times++) {
      alerts.backupFailed("no space left");
      await pass();
    }
    alerts.storageFault("a page is damaged");
    await pass();
    disk.isFull = false;
    await pass();
    await pass();
    expect(signed.map(({ type, data: { total } }) => [type, total])).toEqual([
      ["webhookd.backup_failed", 3],
      ["webhookd.storage_fault", undefined],
    ]);
  });

  it("say of each endpoint what was true last", async () => {
    const { attempt, disk, pass, signed } = await start();
    attempt("ep_1", "failed", 20);
    attempt("ep_2", "failed", 20);
    await pass();
    attempt("ep_1", "succeeded");
    attempt("ep_2", "succeeded");
    await pass();
    attempt("ep_1", "failed", 20);
    await pass();
    disk.isFull = false;
    await pass();
    const named = signed.map(({ type, data: { endpoints } }) => [type, endpoints!.map(({ endpoint }) => endpoint)]);
    expect(Object.fromEntries(named)).toEqual({
      "webhookd.endpoint_failing": ["ep_1"],
      "webhookd.endpoint_recovered": ["ep_2"],
    });
  });
});
