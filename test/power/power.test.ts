import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { buildRecorder } from "../../scripts/power/recorder.ts";
import { judge, type Contents } from "../../scripts/power/contents.ts";
import type { Expectation, Verdict } from "../../scripts/power/promises.ts";
import { lossesAt } from "../../scripts/power/cuts.ts";
import { cutsPower } from "./program.ts";

const REOPEN = resolve(import.meta.dirname, "../../scripts/power/reopen.ts");

const scratch = mkdtempSync(join(tmpdir(), "webhookd-test-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const recorder = buildRecorder(scratch);
if ("missing" in recorder) console.warn(`SKIPPED: power cuts are not tried: ${recorder.missing}`);

describe.skipIf("missing" in recorder)("a power cut", () => {
  it("loses nothing that was answered on a disk that honours fsync, and all that a lying disk dropped is missed", async () => {
    await cutsPower({ states: 4, controls: 2, seconds: 1, scratch });
  });
});

describe("a disk that lies", () => {
  const [wal, database] = [2n, 3n];
  const write = (inode: bigint, text: string, end: number) =>
    ({ kind: "write", inode, offset: 0, data: Buffer.from(text), end }) as const;
  const operations = [
    { kind: "create", inode: wal, path: "/data/webhookd.db-wal", end: 10 },
    write(wal, 'page "marker":"m1" page', 20),
    { kind: "sync", inode: wal, end: 30 },
    write(wal, 'page "marker":"m2" page', 40),
    { kind: "sync", inode: wal, end: 50 },
    write(database, '"marker":"m1" "marker":"m2"', 60),
    { kind: "sync", inode: database, end: 70 },
    write(wal, 'page "marker":"m3" page', 80),
    { kind: "sync", inode: wal, end: 90 },
  ] as const;
  const answered = [1, 2, 3, 4].map((at) => ({
    ...({ kind: "event", body: "", deliveries: 1 } as const),
    id: `evt_${at}`,
    marker: `"marker":"m${at}"`,
    end: [30, 70, 90, 90][at - 1]!,
  }));

  it.each([
    ["honest", [[], [], [], []]],
    // Only the sync before a checkpoint takes effect.
    ["normal", [["evt_1"], [], ["evt_3"], ["evt_3"]]],
    ["swallow", [["evt_1"], ["evt_1", "evt_2"], ["evt_1", "evt_2", "evt_3"], ["evt_1", "evt_2", "evt_3"]]],
  ] as const)("has dropped what it called synced: %s", (disk, dropped) => {
    const losses = lossesAt({ operations, answered }, disk);
    expect(losses.map((one) => one.dropped)).toEqual(dropped);
    expect(losses.map(({ after }) => after)).toEqual([3, 7, 9, 9]);
  });
});

describe("a rebuilt disk that nothing starts on", () => {
  it.each([true, false])("has lost all that was answered (the daemon is started: %s)", async (starts) => {
    const home = join(scratch, `refused-${starts}`);
    const data = join(home, "data");
    mkdirSync(data, { recursive: true, mode: 0o700 });
    writeFileSync(join(data, "STORE"), "", { mode: 0o600 });
    const promised = [{ kind: "key", id: "key_1", end: 1 } as const, { kind: "key", id: "key_2", end: 2 } as const];
    const expectation: Expectation = { disk: "", starts, home, data, promised, succeeded: [] };
    const child = fork(REOPEN);
    child.send(expectation);
    const [verdict] = (await once(child, "message")) as [Verdict];
    child.kill();
    expect(verdict.lost).toEqual(promised.map((one) => JSON.stringify(one)));
    expect(verdict.wrong).toEqual([expect.stringContaining("StoreRefused")]);
  });
});

describe("what a rebuilt disk is held against", () => {
  const promised = [
    { kind: "endpoint", id: "we_1" },
    { kind: "described", endpoint: "we_1", version: 2 },
    { kind: "removed", endpoint: "we_2" },
    { kind: "key", id: "key_1" },
    { kind: "backup", name: "webhookd-1.db" },
    { kind: "event", id: "evt_1", body: "hash", deliveries: 2, marker: "m1" },
    { kind: "settled", delivery: "dlv_2", status: "delivered" },
  ] as const;
  const sound: Contents = {
    endpoints: new Map([["we_1", "2"]]),
    keys: new Set(["key_1"]),
    backups: new Set(["webhookd-1.db"]),
    events: new Map([
      [
        "evt_1",
        [
          { id: "dlv_1", status: "pending" },
          { id: "dlv_2", status: "delivered" },
        ],
      ],
    ]),
    pending: new Map([["dlv_1", "hash"]]),
  };
  const verdictOn = (change: Partial<Contents>) => judge({ ...sound, ...change }, { promised, succeeded: ["dlv_2"] });
  const of = (...deliveries: [id: string, status: string][]) =>
    new Map([["evt_1", deliveries.map(([id, status]) => ({ id, status }))]]);

  it("finds nothing wrong with what is as it was answered", () => {
    expect(verdictOn({})).toEqual({ lost: [], wrong: [] });
    expect(verdictOn({ pending: null })).toEqual({ lost: [], wrong: [] });
  });

  it.each<[string, Partial<Contents>, lost: string[]]>([
    ["an endpoint", { endpoints: new Map() }, ["endpoint", "described"]],
    ["a change", { endpoints: new Map([["we_1", "1"]]) }, ["described"]],
    ["a removal", { endpoints: new Map([...sound.endpoints, ["we_2", null]]) }, ["removed"]],
    ["a key", { keys: new Set() }, ["key"]],
    ["a backup", { backups: new Set() }, ["backup"]],
    ["an event", { events: new Map(), pending: new Map() }, ["event", "settled"]],
    ["a delivery", { events: of(["dlv_2", "delivered"]), pending: new Map() }, ["event"]],
    ["a status", { events: of(["dlv_1", "pending"], ["dlv_2", "failed"]) }, ["settled"]],
  ])("misses %s", (_, change, lost) => {
    expect(verdictOn(change).lost.map((text) => (JSON.parse(text) as { kind: string }).kind)).toEqual(lost);
  });

  it.each<[string, Partial<Contents>, RegExp]>([
    ["pending and never sent", { pending: new Map() }, /^dlv_1 is pending, and would never be sent$/],
    ["sent with other bytes", { pending: new Map([["dlv_1", "other"]]) }, /^dlv_1 would be sent with other bytes$/],
    [
      "sent once more",
      { pending: new Map([...sound.pending!, ["dlv_2", "hash"]]) },
      /^dlv_2 would be sent, and is not/,
    ],
    [
      "delivered to nobody",
      { events: of(["dlv_1", "delivered"], ["dlv_2", "delivered"]), pending: new Map() },
      /^dlv_1 is delivered, and nobody/,
    ],
  ])("sees what is %s", (_, change, wrong) => {
    expect(verdictOn(change)).toEqual({ lost: [], wrong: [expect.stringMatching(wrong)] });
  });
});
