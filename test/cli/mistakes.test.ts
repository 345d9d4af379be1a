/** Mistakes of tired people and newcomers. The error must show them the right command. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Seen } from "../../cli/daemon/health.ts";
import { nextLine } from "../../cli/daemon/status-text.ts";
import { EXIT } from "../../cli/exit-code.ts";
import { sayTable } from "../../cli/output/table.ts";
import { aHalt } from "../../src/api/daemon/sending.ts";
import { aStatus } from "../../src/api/daemon/status.ts";
import { anEvent } from "../../src/api/events/schemas.ts";
import { aJob, aJobPlan } from "../../src/api/jobs/schemas.ts";
import type { Status } from "../../src/client/operations.ts";
import { fakeDaemon } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";
import { typed } from "./typed.ts";

const ID = "01m7w8bx02jeyjr53r14y5rmma";
const EMPTY = { data: [], next_cursor: null };

describe("an empty list", () => {
  it.each([
    ["endpoints", "listEndpoints", "webhookd endpoints add URL --events all"],
    ["events", "listEvents", "webhookd trigger budget.exceeded --all"],
    ["deliveries", "listDeliveries", "webhookd trigger budget.exceeded --all"],
    ["jobs", "listJobs", "webhookd replay --all-failed"],
    ["tenants", "listTenants", "webhookd endpoints add URL --events all --tenant TENANT"],
  ] as const)("of %s says what makes the first one", async (noun, operation, first) => {
    const { code, out, err } = await typed([noun, "list"], { answers: { [operation]: EMPTY } });
    expect({ code, out, err }).toEqual({
      code: EXIT.ok,
      out: "",
      err: `There are none yet. To create the first: ${first}\n`,
    });
  });

  it("that was narrowed says that nothing matches", async () => {
    const { err } = await typed(["events", "list", "--type", "goal.achieved"], { answers: { listEvents: EMPTY } });
    expect(err).toBe("Nothing matches.\n");
  });
});

it("asks for quotes around several words where one argument is taken", async () => {
  const { code, err, daemon } = await typed(["pause", "moving", "to", "another", "host"]);
  expect([code, daemon.seen]).toEqual([EXIT.usage, []]);
  expect(err).toContain(
    'unexpected argument "to"\n  Several words that are one argument need quotes. Nothing was done;',
  );
  expect((await typed(["resume", "now"])).err).toContain('unexpected argument "now"\n  Nothing was done;');
});

it("suggests the tenant that was meant", async () => {
  const some = {
    data: [
      { name: "acme", endpoints: 2 },
      { name: "globex", endpoints: 1 },
    ],
    next_cursor: null,
  };
  for (const name of ["ACME", "acmee"]) {
    const { code, err } = await typed(["tenants", "show", name], { answers: { listTenants: [EMPTY, some] } });
    expect(code).toBe(EXIT.not_found);
    expect(err).toContain("\n  Did you mean acme? See `webhookd tenants list`.\n");
  }
});

describe("an id", () => {
  it.each([
    [["events", "show", `ep_${ID}`], `\`webhookd endpoints show ep_${ID}\`. Nothing`],
    [["endpoints", "test", `evt_${ID}`], `webhookd events show evt_${ID}`],
    [["deliveries", "attempt", `job_${ID}`], `webhookd jobs show job_${ID}`],
    [["replay", "dlv_38g452dnj00000004"], "webhookd deliveries show dlv_38g452dnj00000004"],
    [["endpoints", "rm", "ep_nope"], "`webhookd endpoints list`"],
    [["attempts", "show", "att_nope"], "`webhookd attempts list evt_…`"],
  ])("that cannot be meant by %j is refused with %s", async (words, advice) => {
    const { code, err, daemon } = await typed(words);
    expect({ code, seen: daemon.seen }).toEqual({ code: EXIT.usage, seen: [] });
    expect(err).toContain(advice);
  });
});

describe("what is missing", () => {
  it.each([
    ["attempts list", "Event (evt_…), delivery (dlv_…) or endpoint (ep_…, or part of its URL)"],
    ["completions", "SHELL: bash, zsh or fish."],
    ["keys create --name n", "--scope: "],
  ])("from %s is described", async (line, description) => {
    const io = new FakeIo();
    expect(await webhookd(io, ...line.split(" "))).toBe(EXIT.usage);
    expect(io.err).toContain(description);
  });
});

it("a file name in place of data gets a hint how to name a file", async () => {
  const send = (data: string) => typed(["events", "send", "--type", "budget.exceeded", "--data", data]);
  expect((await send("event.json")).err).toContain("To read a file, write --data @event.json.");
  expect((await send('{"a":')).err).not.toContain("@");
});

it("a second pause says that the first one's reason stays", async () => {
  const paused = { at: "2026-11-20T09:00:00.000Z", by: "socket", reason: "the first" };
  const answers = { pauseDaemon: { paused } };
  expect((await typed(["pause", "another"], { answers })).err).toContain("It was already paused");
  expect((await typed(["pause", "the first"], { answers })).err).toBe("");
});

it("keys are as old as everything else", async () => {
  const { out } = await typed(["keys", "list"]);
  expect(out).toMatch(/ ago /);
  expect(out).not.toMatch(/\d{4}-\d\d-\d\dT/);
});

it("doctor and status say sizes in the same words", async () => {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-sizes-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const io = new FakeIo({ env: { WEBHOOKD_DATA_DIR: dir } });
  await webhookd(io, "doctor", "--offline");
  expect(io.out).toMatch(/disk: [\d.]+ [KMGT]iB free, 512 MiB needed/);
});

describe("a table that does not fit", () => {
  it.each([
    ["C", ">"],
    ["C.UTF-8", "…"],
  ])("is cut with a sign that the locale %s has", (LANG, sign) => {
    const io = new FakeIo({ isTTY: true, columns: 20, env: { LANG } });
    sayTable(io, [
      ["ID", "URL"],
      [`ep_${ID}`, "https://example.com/hook"],
    ]);
    expect(io.out.split("\n")[1]).toBe(`ep_01m7w8bx02jeyjr5${sign}`);
  });
});

describe("what status says to type next", () => {
  const next = (own: Partial<Status>) =>
    nextLine({ ...aStatus, ...own, statistics: null, deliveries: null, failing: null } as Seen);

  it("publishes nothing where publishes are refused", () => {
    expect(next({ state: "disk_full" })).toBe("webhookd doctor");
  });

  it("is a command that this daemon accepts: without --dev, trigger needs an endpoint", () => {
    expect(next({ dev: false })).toBe("webhookd trigger budget.exceeded --all");
    expect(next({ dev: true })).toBe("webhookd trigger budget.exceeded");
  });
});

it("a backup of a folder without a store is not told about flags that it does not have", async () => {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-nothing-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const io = new FakeIo();
  expect(await webhookd(io, "backup", "--offline", "--data-dir", dir)).toBe(EXIT.refused);
  expect(io.err).toContain("name another with --data-dir");
});

describe("a job whose canary failed", () => {
  const resume = (...flags: string[]) => typed(["jobs", "resume", `job_${ID}`, ...flags]);

  it("resumes in the way that is given, and refuses both ways at once", async () => {
    const bodies = [];
    for (const flags of [[], ["--canary"], ["--send-all"]]) {
      const { code, daemon } = await resume(...flags);
      bodies.push([code, daemon.seen.at(-1)!.body]);
    }
    expect(bodies).toEqual([
      [EXIT.ok, undefined],
      [EXIT.ok, { canary: true }],
      [EXIT.ok, { send_all: true }],
    ]);
    const { code, daemon } = await resume("--canary", "--send-all");
    expect([code, daemon.seen]).toEqual([EXIT.usage, []]);
  });

  it("is refused with what to type", async () => {
    const problem = { status: 409, code: "canary_failed", detail: "the canary to ep_1 failed: 503" };
    const daemon = await fakeDaemon(() => ({ status: 409, body: problem, type: "application/problem+json" }));
    const io = new FakeIo();
    const code = await webhookd(io, "jobs", "resume", `job_${ID}`, "--socket", daemon.socket);
    expect([code, io.err]).toEqual([
      EXIT.conflict,
      expect.stringMatching(/the canary to ep_1 failed[^]*--canary.*--send-all/),
    ]);
  });
});

describe("while nothing is sent", () => {
  const not_sending = [{ ...aHalt, reason: "operator", detail: "all sending was paused by socket: a flood" }];
  const answers = { getStatus: { ...aStatus, not_sending }, createJob: [aJobPlan, aJob] };

  it.each([
    ["events", "send", "--type", "budget.exceeded", "--data", "{}"],
    ["replay", anEvent.id, "--force", "--no-wait"],
    ["replay", "--status", "failed", "--yes"],
  ])("%s %s says so at once, beside what it did", async (...words) => {
    const { code, err } = await typed(words, { answers });
    expect(code).toBe(EXIT.ok);
    expect(err).toContain(
      "Nothing is being sent: all sending was paused by socket: a flood. To resume: webhookd resume.",
    );
    expect((await typed([...words, "--json"], { answers })).err).not.toContain("Nothing is sent");
  });
});
