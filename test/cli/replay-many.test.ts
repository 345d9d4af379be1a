import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { anAttempt } from "../../src/api/deliveries/attempts.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { aHalt } from "../../src/api/daemon/sending.ts";
import { aStatus } from "../../src/api/daemon/status.ts";
import { aJob, aJobPlan } from "../../src/api/jobs/schemas.ts";
import { fakeDaemon, problem, type Seen } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { typed } from "./typed.ts";
import { webhookd } from "./runs.ts";

const EVENT = "evt_01m7w8bx02jeyjr53r14y5rmma";
const JOBS = "/v1/webhooks/jobs";
const ended = {
  status: "done",
  ended_at: "2026-11-20T09:55:40.000Z",
  done: 441,
  delivered: 441,
  failed: 0,
  skipped: 0,
};

interface Scene {
  readonly plan?: object;
  /** The job's state at each look. The last one is repeated. Text is the code of a 503. */
  readonly looks?: readonly (object | string)[];
  readonly io?: ConstructorParameters<typeof FakeIo>[0];
}

function replay(scene: Scene, ...words: string[]) {
  return bulk(["replay"], scene, ...words);
}

async function bulk(command: string[], { plan = {}, looks = [ended], io: options = {} }: Scene, ...words: string[]) {
  let step = 0;
  const daemon = await fakeDaemon(({ method, path, body }) => {
    if (method === "POST" && path.startsWith(JOBS)) {
      const isPlan = (body as { dry_run?: boolean }).dry_run;
      return isPlan
        ? { status: 200, body: { ...aJobPlan, ...plan } }
        : { status: 202, body: { ...aJob, action: (body as typeof aJob).action } };
    }
    if (!path.startsWith(JOBS)) return problem(404, "not_found", "not here");
    const look = looks[Math.min(step++, looks.length - 1)]!;
    return typeof look === "string" ? problem(503, look, "not now") : { status: 200, body: { ...aJob, ...look } };
  });
  const io = new FakeIo(options);
  const code = await webhookd(io, ...command, "--socket", daemon.socket, ...words);
  return { code, io, drafts: daemon.seen.filter(({ method }) => method === "POST").map(({ body }: Seen) => body) };
}

const person = (...input: string[]) => ({ isTTY: true, input });

describe("webhookd replay of many", () => {
  it("shows the plan, asks for the number, and has exactly what was planned done", async () => {
    const { code, io, drafts } = await replay({ io: person("441") }, "--status-code", "5xx", "--since", "2h");
    expect(code).toBe(EXIT.ok);
    expect(io.asked).toEqual([{ question: "Type 441 to continue: ", hidden: false }]);
    const draft = { action: "replay", filter: { status_code: "5xx", since: "2023-11-14T20:13:20.000Z" } };
    const pace = { rate_per_second: 20, canary: false };
    expect(drafts).toEqual([
      { ...draft, ...pace, dry_run: true },
      { ...draft, ...pace, expect: 441 },
    ]);
    expect(io.err).toContain("441 deliveries to replay:\n  390  ep_06fbqxvx8r4m8q2v6ng0c3kz7t\n");
    expect(io.err).toContain("38 of them timed out");
    // A person who confirmed the job sees its result.
    expect(io.out).toBe(`${aJob.id} done in 39s: 441 delivered, 0 failed of 441.\n`);
  });

  it("ends with how to see what comes of it, where nobody waits for it", async () => {
    const piped = await replay({}, "--all-failed", "--yes", "--canary");
    const watch = `The job continues without this command. To watch it: webhookd jobs show ${aJob.id} --watch.`;
    expect([piped.code, piped.io.out]).toEqual([EXIT.ok, `${aJob.id}\n`]);
    expect(piped.io.err.trim().split("\n").at(-1)).toContain(watch);
    expect(piped.io.err).toContain(`To pause it: webhookd jobs pause ${aJob.id}. `);
    const left = await replay({ io: person("441") }, "--all-failed", "--no-wait");
    expect([left.code, left.io.out]).toEqual([EXIT.ok, `${aJob.id}\n`]);
    const cancelled = await bulk(["deliveries", "cancel"], { io: person("441") }, "--all-open", "--no-wait");
    expect(cancelled.io.err).toContain(watch);
  });

  it.each([[["44"]], [[""]], [[]]])("does nothing when %j is typed for 441", async (input) => {
    const { code, io, drafts } = await replay({ io: person(...input) }, "--all-failed");
    expect([code, drafts.length]).toEqual([EXIT.refused, 1]);
    expect(io.err).toContain("Nothing was done.");
  });

  it("needs --yes for more than one where nobody can be asked", async () => {
    const { code, io, drafts } = await replay({}, "--all-failed");
    expect([code, drafts.length]).toEqual([EXIT.usage, 1]);
    expect(io.err).toContain("add --yes, preferably with --expect 441");
    expect((await replay({}, "--all-failed", "--yes")).code).toBe(EXIT.ok);
    expect((await replay({ plan: { matched: 1 } }, "--all-failed")).code).toBe(EXIT.ok);
  });

  it("--yes alone holds to no count, because a set that is being retried has another one each second", async () => {
    const expected = async (command: string[], ...words: string[]) =>
      ((await bulk(command, {}, ...words)).drafts.at(-1) as { expect?: number }).expect;
    expect(await expected(["replay"], "--all-failed", "--yes")).toBeUndefined();
    expect(await expected(["deliveries", "attempt"], "--all-pending", "--yes")).toBeUndefined();
    expect(await expected(["replay"], "--all-failed", "--yes", "--expect", "441")).toBe(441);
    expect(await expected(["deliveries", "cancel"], "--all-open", "--yes")).toBe(441);
  });

  it("--expect refuses a plan of another size", async () => {
    const { code, io, drafts } = await replay({}, "--all-failed", "--yes", "--expect", "440");
    expect([code, drafts.length]).toEqual([EXIT.conflict, 1]);
    expect(io.err).toMatch(
      /the plan contains 441 deliveries, not 440\n {2}Nothing was done\.\n {2}Look at the plan again with --dry-run, .+\n$/,
    );
    expect((await replay({}, "--all-failed", "--yes", "--expect", "441")).code).toBe(EXIT.ok);
  });

  it("--dry-run shows the plan on stdout and stops", async () => {
    const { code, io, drafts } = await replay({}, "--endpoint", "ep_06fbqxvx8r4m8q2v6ng0c3kz7t", "--dry-run");
    expect([code, drafts.length, io.err]).toEqual([EXIT.ok, 1, ""]);
    expect(io.out).toContain("  at 20/s per endpoint, about 20s\n");
  });

  it("says that a failing endpoint has answered a test since", async () => {
    const health = { ...aHealth, consecutive_failures: 5, last_failure_at: "2023-11-14T22:10:00.000Z" };
    const say = async (...attempts: object[]) => {
      const answers = {
        createJob: aJobPlan,
        getEndpoint: { ...anEndpoint, health },
        listEndpointAttempts: { data: attempts.map((one) => ({ ...anAttempt, ...one })), next_cursor: null },
      };
      const { out, daemon } = await typed(["replay", "--all-failed", "--dry-run"], { answers });
      // Attempts of tests are listed only with `test=true`.
      expect(daemon.seen.map(({ path }) => path)).toContainEqual(
        expect.stringContaining("/attempts?test=true&limit=1"),
      );
      return out;
    };
    const worked = { outcome: "succeeded", started_at: "2023-11-14T22:12:20.000Z" };
    expect(await say(worked)).toContain("answered a test event 1m ago, after 5 failures");
    const still = "still failing: 5 in a row";
    expect(await say({ ...worked, started_at: "2023-11-14T22:09:00.000Z" })).toContain(still);
    expect(await say({ ...worked, outcome: "failed" })).toContain(still);
    expect(await say()).toContain(still);
  });

  it("does not say that an endpoint answers that was enabled again and not tried since", async () => {
    const say = async (health: object) => {
      const answers = { createJob: aJobPlan, getEndpoint: { ...anEndpoint, health: { ...aHealth, ...health } } };
      return (await typed(["replay", "--all-failed", "--dry-run"], { answers })).out;
    };
    const [early, late] = ["2023-11-14T22:00:00.000Z", "2023-11-14T22:10:00.000Z"];
    expect(await say({ last_success_at: early, last_failure_at: late })).toContain("  not tried since it failed 3m");
    expect(await say({ last_success_at: null, last_failure_at: late })).toContain("  not tried since it failed 3m");
    expect(await say({ last_success_at: null })).toContain("  not tried yet\n");
    expect(await say({ last_success_at: late, last_failure_at: early })).toContain("  answers\n");
    expect(await say({ last_success_at: early })).toContain("  answers\n");
  });

  it("says of an empty plan only that it is empty", async () => {
    const createJob = { ...aJobPlan, matched: 0, endpoints: [], left_alone: [], timed_out: 0 };
    const { out } = await typed(["replay", "--all-failed", "--dry-run"], { answers: { createJob } });
    expect(out).toMatch(/^0 deliveries to replay(, the oldest .+)?\.\n$/);
  });

  it("takes ids from arguments and from stdin, each once, up to what one job takes", async () => {
    const ids = Array.from({ length: 1000 }, (_, n) => EVENT.slice(0, -4) + String(n).padStart(4, "0"));
    const piped = { io: { input: [...ids, "", ids[0]!] } };
    const { code, drafts } = await replay(piped, "-", "--yes", "--pace", "30/m", "--canary");
    expect(code).toBe(EXIT.ok);
    expect(drafts[1]).toMatchObject({ filter: { events: ids }, rate_per_second: 0.5, canary: true });
    const tooMany = await replay(piped, EVENT, "-", "--yes");
    expect([tooMany.code, tooMany.drafts.length]).toEqual([EXIT.usage, 0]);
    expect(tooMany.io.err).toContain(
      "one job takes at most 1000 ids, but you gave 1001\n  Use a filter that matches them",
    );
  });

  it.each([
    [[], [], EXIT.usage, "nothing was selected: give event ids, - for ids from stdin, or a filter"],
    [["--all-failed", "--since", "2h"], [], EXIT.usage, "--all-failed cannot be combined with ids or filters"],
    [["--status", "pending"], [], EXIT.usage, "--status pending cannot be replayed"],
    [["--filter", "stats:failed"], [], EXIT.usage, "Did you mean status?"],
    [["--all-failed", "--pace", "9000/s"], [], EXIT.usage, "must be a pace such as 20/s"],
    [["--all-failed", "--force"], [], EXIT.usage, "--force needs exactly one event"],
    [["-"], [EVENT, "dlv_1"], EXIT.usage, "line 2 of stdin: dlv_1 is not the id of an event"],
    [["-"], [""], EXIT.conflict, "no ids on stdin"],
  ])("refuses %j with %j on stdin", async (words, input, exit, message) => {
    const { code, io, drafts } = await replay({ io: { input } }, ...words);
    expect([code, drafts.length, io.out]).toEqual([exit, 0, ""]);
    expect(io.err).toContain(message);
  });

  it("exits 6 when there is nothing to replay, and says where the rest is", async () => {
    const left = [{ endpoint: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t", deliveries: 7, reason: "endpoint_disabled" }];
    const { code, io } = await replay(
      { plan: { matched: 0, endpoints: [], left_alone: left } },
      "--all-failed",
      "--yes",
    );
    expect(code).toBe(EXIT.conflict);
    expect(io.err).toContain(
      "ep_06fbqxvx8r4m8q2v6ng0c3kz7t: it is disabled; to enable it: webhookd endpoints enable ep_06fbqxvx8r4m8q2v6ng0c3kz7t\n",
    );
  });
});

describe("webhookd replay --wait", () => {
  const words = ["--all-failed", "--yes", "--wait"];

  it("says how far it is until all is delivered", async () => {
    const { code, io } = await replay({ looks: [{ done: 200 }, ended] }, ...words);
    expect(code).toBe(EXIT.ok);
    expect(io.err).toContain(`${aJob.id}  ####------------  121/441  118 delivered, 2 failed, 1 skipped\n`);
    expect(io.out).toBe(`${aJob.id} done in 39s: 441 delivered, 0 failed of 441.\n`);
  });

  it.each([
    [
      { ...ended, delivered: 437, failed: 4 },
      "To see why they failed: webhookd failures --since 2026-11-20T07:55:00.000Z\n",
    ],
    [{ ...ended, delivered: 440, skipped: 1 }, "440 delivered, 0 failed, 1 skipped of 441"],
    [{ status: "cancelled", ended_at: "2026-11-20T09:56:00.000Z" }, "cancelled in 59s: 118 delivered"],
    [
      { status: "paused", paused_reason: "the canary to ep_1 failed" },
      "paused itself because the canary to ep_1 failed",
    ],
  ])("exits 7 when it ends as %j", async (look, message) => {
    const { code, io } = await replay({ looks: [look] }, ...words);
    expect(code).toBe(EXIT.partly_done);
    expect(io.out).toContain(message);
  });

  it("exits 9 when --timeout is over, and waits for a job that somebody paused", async () => {
    const { code, io } = await replay({ looks: [{ status: "paused" }] }, ...words, "--timeout", "2m");
    expect([code, io.now()]).toEqual([EXIT.wait_ran_out, 1_700_000_120_000]);
    expect(io.err).toContain(`${aJob.id} is not done yet: 120 of 441\n  To watch it: webhookd jobs show`);
  });

  it("waits through a restart of the daemon, and gives up on one that stays away", async () => {
    const { code, io } = await replay({ looks: ["shutting_down", "storage_unavailable", ended] }, ...words);
    expect(code).toBe(EXIT.ok);
    expect(io.err).toMatch(/-- not now; job_\S+ continues once it is back --\n-- the daemon is back --\n/);
    const gone = await replay({ looks: ["storage_unavailable"] }, ...words);
    expect(gone.code).toBe(EXIT.refused);
    expect(gone.io.now()).toBeGreaterThan(1_700_000_300_000);
  });

  it("a signal leaves the job running and says how to end it", async () => {
    const daemon = await fakeDaemon(({ body, method }) => {
      if (method === "GET") io.signal("SIGINT");
      return { status: 200, body: (body as { dry_run?: boolean } | undefined)?.dry_run ? aJobPlan : aJob };
    });
    const io = new FakeIo();
    const code = await webhookd(io, "replay", "--json", ...words, "--socket", daemon.socket);
    expect(code).toBe(EXIT.sigint);
    expect(io.err).toContain(
      `${aJob.id} continues without this command. To watch it: webhookd jobs show ${aJob.id} --watch.`,
    );
    expect(io.watchesSignals).toBe(false);
    expect(daemon.seen.at(-1)).toMatchObject({ method: "GET" });
  });

  it("with --json says plan, results and the end as lines", async () => {
    const { io } = await replay({ looks: [{ done: 200 }, { done: 200 }, ended] }, ...words, "--json");
    const lines = io.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(lines).toEqual([
      { kind: "plan", ...aJobPlan },
      { kind: "result", ...aJob },
      { kind: "result", ...aJob, done: 200 },
      { kind: "result", ...aJob, ...ended },
      { kind: "done", ...aJob, ...ended },
    ]);
    expect(io.err).toBe("");
  });
});

describe("webhookd replay --missing", () => {
  const ENDPOINT = "ep_06fbqxvx8r4m8q2v6ng0c3kz7t";

  it("plans the back-fill of one endpoint, asks, and has a job do it", async () => {
    const words = ["--missing", "--endpoint", ENDPOINT, "--since", "24h", "--type", "budget.exceeded"];
    const { code, io, drafts } = await replay({ io: person("441") }, ...words);
    expect([code, io.asked.length]).toEqual([EXIT.ok, 1]);
    const filter = { endpoint: ENDPOINT, type: "budget.exceeded", since: "2023-11-13T22:13:20.000Z", missing: true };
    expect(drafts[0]).toMatchObject({ action: "replay", filter, dry_run: true });
    expect(drafts[1]).toMatchObject({ action: "replay", filter, expect: 441 });
    expect(io.err).toContain("441 deliveries to back-fill:\n");
  });

  it.each([
    [["--missing"], "--missing needs --endpoint"],
    [["--missing", "--endpoint", ENDPOINT, "--status", "failed"], "--status does not apply here"],
    [["--missing", "--endpoint", ENDPOINT, EVENT], "cannot be combined with ids"],
  ])("refuses %j before it asks anybody", async (words, message) => {
    const { code, io, drafts } = await replay({}, ...words);
    expect([code, drafts]).toEqual([EXIT.usage, []]);
    expect(io.err).toContain(message);
  });

  it("says so when nothing is missing", async () => {
    const { code, io } = await replay({ plan: { matched: 0, endpoints: [] } }, "--missing", "--endpoint", ENDPOINT);
    expect([code, io.err]).toEqual([EXIT.conflict, expect.stringContaining("missed no events of its types")]);
    expect(io.err).toContain(`webhookd endpoints show ${ENDPOINT}\n`);
  });
});

describe("webhookd deliveries cancel", () => {
  const cancel = (scene: Scene, ...words: string[]) => bulk(["deliveries", "cancel"], scene, ...words);

  it("shows the plan, asks for the number, and has exactly what was planned cancelled", async () => {
    const { code, io, drafts } = await cancel({ io: person("441") }, "--type", "budget.exceeded", "--status", "held");
    expect([code, io.asked]).toEqual([EXIT.ok, [{ question: "Type 441 to continue: ", hidden: false }]]);
    const draft = { action: "cancel", filter: { type: "budget.exceeded", status: "held" } };
    expect(drafts).toMatchObject([
      { ...draft, dry_run: true },
      { ...draft, expect: 441 },
    ]);
    expect(io.err).toContain("441 deliveries to cancel for good:\n");
    // Nothing is sent, so neither a time-out nor the pace matters.
    expect(io.err).not.toMatch(/timed out|per endpoint/);
  });

  it("follows the job, and is done when none is open", async () => {
    const looks = [{ ...ended, action: "cancel", status: "done", done: 440, delivered: 0, skipped: 1 }];
    const { code, io } = await cancel({ looks }, "--all-open", "--yes", "--wait");
    expect(code).toBe(EXIT.ok);
    expect(io.out).toContain("440 cancelled, 1 skipped of 441.");
  });

  it.each([
    [[], "nothing was selected"],
    [["--all-open", "--type", "t"], "--all-open cannot be combined"],
    [["--status", "failed"], "--status failed cannot be cancelled"],
    [["--filter", "acme"], "does not apply here"],
  ])("refuses %j before it asks anybody", async (words, message) => {
    const { code, io, drafts } = await cancel({}, ...words);
    expect([code, drafts]).toEqual([EXIT.usage, []]);
    expect(io.err).toContain(message);
  });

  it("does nothing when there is nothing to cancel, or another number is typed", async () => {
    const none = await cancel({ plan: { matched: 0, endpoints: [] } }, "--all-open");
    expect([none.code, none.drafts.length]).toEqual([EXIT.conflict, 1]);
    const typo = await cancel({ io: person("44") }, "--all-open");
    expect([typo.code, typo.drafts.length]).toEqual([EXIT.refused, 1]);
  });
});

describe("webhookd deliveries attempt, of many", () => {
  const attempt = (scene: Scene, ...words: string[]) => bulk(["deliveries", "attempt"], scene, ...words);

  it("shows the plan, asks for the number, and has what was planned tried at a pace", async () => {
    const { code, io, drafts } = await attempt(
      { io: person("441") },
      "--error",
      "timeout",
      "--pace",
      "5/s",
      "--canary",
    );
    expect([code, io.asked]).toEqual([EXIT.ok, [{ question: "Type 441 to continue: ", hidden: false }]]);
    const draft = { action: "attempt_now", filter: { error: "timeout" }, rate_per_second: 5, canary: true };
    expect(drafts).toMatchObject([
      { ...draft, dry_run: true },
      { ...draft, expect: 441 },
    ]);
    expect(io.err).toMatch(/441 deliveries to try now:\n[^]+38 of them timed out[^]+at 5\/s per endpoint/);
  });

  it.each([
    [[], "nothing was selected"],
    [["--all-pending", "--type", "t"], "--all-pending cannot be combined"],
    [["--status", "held"], "--status held cannot be tried"],
    [["dlv_06fbqxw6v8s2d4f6g8h0j2k4m6", "--type", "t"], "cannot be combined with filters"],
    [["dlv_06fbqxw6v8s2d4f6g8h0j2k4m6", "--canary"], "cannot be combined with filters"],
  ])("refuses %j before it asks anybody", async (words, message) => {
    const { code, io, drafts } = await attempt({}, ...words);
    expect([code, drafts]).toEqual([EXIT.usage, []]);
    expect(io.err).toContain(message);
  });

  it("does nothing when nothing waits", async () => {
    const none = await attempt({ plan: { matched: 0, endpoints: [] } }, "--all-pending");
    expect([none.code, none.io.err]).toEqual([
      EXIT.conflict,
      expect.stringContaining("no matching delivery can be tried"),
    ]);
    expect(none.drafts.length).toBe(1);
  });
});

it("a job that runs while all sending is paused says so", async () => {
  const detail = "all sending was paused by socket: network maintenance";
  const getStatus = { ...aStatus, not_sending: [{ ...aHalt, reason: "operator", detail }] };
  const { code, err } = await typed(["jobs", "show", aJob.id], { answers: { getStatus } });
  expect([code, err]).toEqual([EXIT.ok, `Nothing is being sent: ${detail}. To resume: webhookd resume.\n`]);
});

it("a job that paused itself is not said to go on by a plain resume", async () => {
  const paused = { ...aJob, status: "paused", paused_reason: "the canary to ep_1 failed", ended_at: null };
  const { out } = await typed(["jobs", "pause", aJob.id], { answers: { pauseJob: paused } });
  expect(out).toContain(`webhookd jobs resume ${aJob.id} --canary`);
  expect(out).not.toMatch(/resume job_\w+\n/);
});
