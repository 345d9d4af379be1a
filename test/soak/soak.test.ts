import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "vitest";
import { Ledger } from "../../scripts/soak/ledger.ts";

const PROGRAM = resolve(import.meta.dirname, "../../scripts/soak/main.ts");

const scratch = mkdtempSync(join(tmpdir(), "webhookd-test-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe("the soak", () => {
  it("loses nothing over kills in short", async () => {
    const args = ["--json", "--minutes", "0.1", "--kill-every", "3", "--rate", "30"];
    const env = { ...process.env, TMPDIR: scratch };
    const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    expect(stderr).toBe("");
    const report = JSON.parse(stdout) as { kills: number; acked: number; lost: number; wrong: number };
    expect(report).toMatchObject({ lost: 0, wrong: 0 });
    expect(report.kills).toBeGreaterThanOrEqual(1);
    expect(report.acked).toBeGreaterThan(0);
    expect(code).toBe(0);
    expect(readdirSync(scratch)).toEqual([]);
  });
});

describe("its ledger", () => {
  const event = { id: "evt_1", created_at: "2026-11-20T09:55:00.123Z", delivery_count: 2 };
  const body = Buffer.from(`{"id":"evt_1","type":"goal.achieved","created_at":"${event.created_at}","data":{}}`);

  it("holds an event open until each delivery was answered 2xx", () => {
    const ledger = new Ledger();
    ledger.receive("evt_1", "dlv_a", body, 200);
    ledger.acknowledge("goal.achieved", "{}", event);
    ledger.receive("evt_1", "dlv_b", body, 503);
    expect(ledger.balance()).toMatchObject({ acked: 1, requests: 2, lost: ["evt_1"], wrong: [] });
    ledger.receive("evt_1", "dlv_b", body, 200);
    ledger.receive("evt_1", "dlv_b", body, 200);
    expect(ledger.balance()).toMatchObject({ requests: 4, repeated: 1, lost: [], wrong: [] });
  });

  it("accuses other bytes, and a delivery that nobody answered", () => {
    const ledger = new Ledger();
    ledger.acknowledge("goal.achieved", "{}", event);
    ledger.receive("evt_1", "dlv_a", Buffer.from("{}"), 200);
    ledger.showsDelivered("evt_1", "dlv_b");
    expect(ledger.balance().wrong).toHaveLength(2);
  });
});
