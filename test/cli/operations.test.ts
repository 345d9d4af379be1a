import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { aBackup } from "../../src/api/daemon/backups.ts";
import { aPause } from "../../src/api/daemon/sending.ts";
import { aStatus } from "../../src/api/daemon/status.ts";
import { fakeDaemon, problem } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

/** Responds with these statuses one after another, and repeats the last. Text is the code of a refusal. */
async function status(states: readonly (object | string)[], ...words: string[]) {
  let step = 0;
  const daemon = await fakeDaemon(({ path }) => {
    // Statistics of deliveries are not part of the test.
    if (path !== "/v1/status") return problem(503, "storage_unavailable", "not now");
    const state = states[Math.min(step++, states.length - 1)]!;
    return typeof state === "string"
      ? problem(state === "forbidden" ? 403 : 503, state, "not now")
      : { status: 200, body: { ...aStatus, ...state } };
  });
  const io = new FakeIo();
  const code = await webhookd(io, "status", "--socket", daemon.socket, ...words);
  const asked = daemon.seen.filter(({ path }) => path === "/v1/status").length;
  return { code, io, daemon, asked };
}

describe("webhookd status", () => {
  it("says how the daemon is on a few lines, and exits 0 when it takes publishes", async () => {
    const { code, io } = await status([{ oldest_due_at: "2023-11-14T22:11:50.000Z", departures: ["Delays are 1s."] }]);
    expect(code).toBe(EXIT.ok);
    expect(io.out).toMatch(
      /^webhookd 1\.0\.0: ready, up 1h 50m\n {2}sending {3}on\n {2}now .+\n {2}due {7}the oldest due 1m 30s ago; /,
    );
    expect(io.out).toContain("  disk      49 GiB free; new events are refused below 512 MiB\n");
    expect(io.out).toContain("  Delays are 1s.\n");
  });

  it("shouts what needs somebody: the brake, a backup that failed, careful mode", async () => {
    const failure = { at: "2023-11-14T22:13:20.000Z", detail: "/b is full" };
    const backup = { ...aStatus.backup, last: null, failure };
    const { io } = await status([{ paused: aPause, careful: true, backup }]);
    expect(io.out).toContain(`: ${aPause.reason}\n            since ${aPause.at} by ${aPause.by}\n`);
    expect(io.out).toContain("  BACKUP FAILED 0s ago: /b is full\n");
    expect(io.out).toContain("careful mode");
  });

  it("exits 8 when publishes are refused; --json has the status as it came", async () => {
    const { code, io } = await status([{ state: "disk_full" }], "--json");
    expect(code).toBe(EXIT.answer_is_no);
    const nothing = { statistics: null, failing: null, busiest: null, open_jobs: null };
    expect(JSON.parse(io.out)).toEqual({ ...aStatus, state: "disk_full", ...nothing });
  });

  it("--wait asks until the daemon is ready", async () => {
    const { code, asked } = await status(["storage_unavailable", { state: "disk_full" }, {}], "--wait");
    expect([code, asked]).toEqual([EXIT.ok, 3]);
  });

  it("--wait goes to a socket that was made after the look for it, though the port refused its key", async () => {
    const daemon = await fakeDaemon(({ path, headers }) => {
      if (path !== "/v1/status") return { status: 404, body: {} };
      return headers.authorization === undefined
        ? { status: 200, body: aStatus }
        : problem(401, "unauthenticated", "no");
    });
    const adminKey = join(daemon.dir, "admin.key");
    writeFileSync(adminKey, "whk_old\n");
    const exists = (path: string) => path === adminKey || (path === daemon.socket && daemon.seen.length > 0);
    const env = { WEBHOOKD_DATA_DIR: daemon.dir, WEBHOOKD_SERVER_LISTEN: new URL(daemon.url).host };
    const io = new FakeIo({ env, machine: { exists } });
    expect(await webhookd(io, "status", "--wait"), io.err).toBe(EXIT.ok);
    expect(daemon.seen.slice(0, 2).map(({ headers }) => headers.authorization)).toEqual(["Bearer whk_old", undefined]);
  });

  it("--wait does not wait longer for a daemon that takes the question and never answers", async () => {
    const dir = mkdtempSync(join(tmpdir(), "webhookd-hangs-"));
    const silent = createServer((connection) => connection.resume()).listen(join(dir, "s.sock"));
    await once(silent, "listening");
    const io = new FakeIo();
    let looks = 0;
    io.monotonic = () => looks++ * 29_500;
    const begun = performance.now();
    expect(await webhookd(io, "status", "--wait", "--socket", join(dir, "s.sock"))).toBe(EXIT.wait_ran_out);
    expect(io.err).toContain("no answer in time");
    // The command looked twice, for a second each. By default a request may take ten seconds.
    expect(performance.now() - begun).toBeLessThan(9000);
    silent.close();
    rmSync(dir, { recursive: true });
  });

  it("--wait exits 9 after 30 s, whether the daemon was full or never there, and at once when it may not ask", async () => {
    const { code, io } = await status([{ state: "disk_full" }], "--wait");
    expect([code, io.now()]).toEqual([EXIT.wait_ran_out, 1_700_000_030_000]);
    const nobody = new FakeIo();
    expect(await webhookd(nobody, "status", "--wait", "--socket", "/nonexistent/s")).toBe(EXIT.wait_ran_out);
    expect(nobody.err).toContain("/nonexistent/s");
    expect((await status(["forbidden"], "--wait")).code).toBe(EXIT.not_allowed);
  });
});

describe("webhookd pause and resume", () => {
  it("say what holds now, which may be what somebody else did before", async () => {
    const resumed = [{ was_paused: true }, { was_paused: false }];
    const daemon = await fakeDaemon(({ path }) => ({
      status: 200,
      body: path === "/v1/pause" ? { paused: aPause } : { paused: null, ...resumed.shift() },
    }));
    const io = new FakeIo();
    expect(await webhookd(io, "pause", "a flood", "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(io.out).toContain(`Sending was paused at ${aPause.at} by ${aPause.by}: ${aPause.reason}\n`);
    expect(await webhookd(io, "resume", "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(io.out).toMatch(/Sending has resumed\.\n$/);
    expect(daemon.seen.map(({ method, path, body }) => [method, path, body])).toEqual([
      ["POST", "/v1/pause", { reason: "a flood" }],
      ["POST", "/v1/resume", undefined],
    ]);
    expect(await webhookd(io, "resume", "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(io.out).toMatch(/resumed\.\nSending was not paused\. If nothing is sent: webhookd doctor\n$/);
    // An older daemon only says that sending has resumed.
    expect(await webhookd(io, "resume", "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(io.out).toMatch(/doctor\nSending has resumed\.\n$/);
  });

  it("need a reason", async () => {
    expect(await webhookd(new FakeIo(), "pause", "--socket", "/nowhere")).toBe(EXIT.usage);
  });
});

describe("webhookd backup", () => {
  it("prints the path alone on stdout", async () => {
    const daemon = await fakeDaemon(() => ({ status: 201, body: aBackup }));
    const io = new FakeIo();
    expect(await webhookd(io, "backup", "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(io.out).toBe(`${aBackup.file}\n`);
    expect(io.err).toContain(`sha256 ${aBackup.sha256}`);
    expect(io.err).toContain("It includes secret.key, sealed");
    expect(daemon.seen).toEqual([expect.objectContaining({ path: "/v1/backups", body: {} })]);
  });

  it("says when secret.key is not in it", async () => {
    const daemon = await fakeDaemon(() => ({ status: 201, body: { ...aBackup, sealed: false } }));
    const io = new FakeIo();
    expect(await webhookd(io, "backup", "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(io.err).toContain("It does not include secret.key");
  });

  const PASSPHRASE = "correct horse battery";
  it.each([
    ["piped", { input: [PASSPHRASE] }, []],
    ["typed twice, unseen", { isTTY: true, input: [PASSPHRASE, PASSPHRASE] }, ["Passphrase: ", "Again: "]],
  ])("seals with a passphrase that is %s, and prints it nowhere", async (_, how, questions) => {
    const daemon = await fakeDaemon(() => ({ status: 201, body: aBackup }));
    const io = new FakeIo(how);
    expect(await webhookd(io, "backup", "--seal-with", "-", "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(daemon.seen[0]!.body).toEqual({ passphrase: PASSPHRASE });
    expect(io.asked).toEqual(questions.map((question) => ({ question, hidden: true })));
    expect(io.out + io.err).not.toContain(PASSPHRASE);
  });

  it.each([
    ["differs the second time", { isTTY: true, input: [PASSPHRASE, "another one, mistyped"] }, [], "differ"],
    ["is too short", { input: ["short"] }, [], "12 to 1024 characters"],
    ["is in no file", {}, ["--seal-with", "/nonexistent/f"], "/nonexistent/f does not exist"],
  ])("makes none when the passphrase %s", async (_, how, words, message) => {
    const daemon = await fakeDaemon(() => ({ status: 201, body: aBackup }));
    const io = new FakeIo(how);
    const seal = words.length > 0 ? words : ["--seal-with", "-"];
    expect(await webhookd(io, "backup", ...seal, "--socket", daemon.socket)).toBe(EXIT.usage);
    expect(io.err).toContain(message);
    expect(io.err).toContain("Nothing was done");
    expect(daemon.seen).toEqual([]);
  });

  it("sends no passphrase over a network in the clear", async () => {
    const { dir } = await fakeDaemon(() => ({ status: 500 }));
    const keyFile = join(dir, "key");
    writeFileSync(keyFile, "whk_1");
    const io = new FakeIo({ input: [PASSPHRASE] });
    const target = ["--url", "http://webhooks.example", "--key-file", keyFile];
    expect(await webhookd(io, "backup", "--seal-with", "-", ...target)).toBe(EXIT.usage);
    expect(io.err).toContain("webhooks.example in the clear");
  });

  it("says why there is none", async () => {
    const daemon = await fakeDaemon(() => problem(500, "backup_failed", "/b is full: free some space"));
    const io = new FakeIo();
    expect(await webhookd(io, "backup", "--socket", daemon.socket)).toBe(EXIT.refused);
    expect(io.err).toContain("/b is full: free some space");
  });
});
