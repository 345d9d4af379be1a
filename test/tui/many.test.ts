import { describe, expect, it } from "vitest";
import { aJob, aJobPlan } from "../../src/api/jobs/schemas.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { anAttempt } from "../../src/api/deliveries/attempts.ts";
import { EXIT } from "../../cli/exit-code.ts";
import type { Call } from "../../tui/model/call.ts";
import type { CommandsDialog } from "../../tui/model/dialog.ts";
import type { Tab } from "../../tui/model/list.ts";
import { typed } from "../cli/typed.ts";
import { asked, Dashboard, idOf, NOW, shown, type Setup } from "./daemon.ts";
import { KEY } from "../../tui/keys/names.ts";

const FIXED = new Date(NOW).toISOString();
const GROUP = {
  status: "failed",
  endpoint: anAttempt.endpoint,
  error: "http_status",
  status_code: "503",
  until: FIXED,
};

function on(tab: Tab, setup: Setup = {}): Dashboard {
  return new Dashboard({ tab, jobs: [], ...setup }).connected();
}

/** Returns the plans that were requested, and the jobs that were to run. */
function drafts(dashboard: Dashboard): { plans: object[]; jobs: object[] } {
  const bodies = asked(dashboard, "createJob").map(({ ask }) => ask.body as { dry_run?: true });
  return { plans: bodies.filter((body) => body.dry_run), jobs: bodies.filter((body) => !body.dry_run) };
}

/** Presses keys and leaves the response to the test. */
function unanswered(dashboard: Dashboard, ...keys: string[]): Call {
  dashboard.answers = false;
  dashboard.press(...keys);
  dashboard.answers = true;
  const sent = dashboard.effects.findLast((effect) => effect.do === "call" && effect.call.about.for === "act");
  return (sent as unknown as { call: Call }).call;
}

const refusal = (code: string) => ({ failure: "conflict", code, message: `the daemon says ${code}`, hint: "" });

describe("the failure under the cursor", () => {
  const lines = (setup: Setup = {}) => shown(on("failures", setup)).replaceAll(/\s+/g, " ");

  it("says what it means, who should do what, and what to type", () => {
    expect(lines()).toMatch(/What it means +A proxy answers, but the application behind it does not/);
    expect(lines()).toMatch(/Receiver Start the application, or add capacity; answer at once and queue the work\./);
    // Only a high screen has space for the customer's advice.
    expect(lines({ size: { columns: 120, rows: 40 } })).toMatch(/Customer Your server is unavailable/);
    expect(lines()).toContain(`webhookd attempts show ${anAttempt.id}`);
  });

  it("says which job deals with it, and how far it is", () => {
    const job = (filter: object, status = "running") => lines({ jobs: [{ ...aJob, status, filter }] as never });
    const handled = /Being handled +replay \S+ is running: 120 of 441 done, 2 failed/;
    expect(job({ status: "failed", status_code: "5xx" })).toMatch(handled);
    expect(job({ endpoint: anAttempt.endpoint, error: "timeout,http_status" })).toMatch(handled);
    expect(job({}, "paused")).toContain("is paused: 120 of 441 done");
    for (const other of [{ status_code: "404" }, { error: "timeout" }, { endpoint: "ep_other" }]) {
      expect(job(other)).toMatch(/Being handled +no job is working on it/);
    }
    expect(job({}, "done")).toContain("no job is working on it");
  });
});

describe("a replay of many", () => {
  it("shows what it would be about before anything is done", () => {
    const dashboard = on("failures").press(KEY.replayMany);
    const text = shown(dashboard);
    expect(text).toContain("Replay 441 failed deliveries");
    expect(text).toContain("503 from the receiver at example.com");
    expect(text).toContain("received before 2026-11-20T10:00:00Z; later ones are not included");
    expect(text).toMatch(/390 +38 +answers +example.com/);
    expect(text).toContain("38 timed out: the receiver may have handled them");
    expect(text).toContain("20/s to each endpoint, about 19s");
    expect(drafts(dashboard)).toEqual({
      plans: [{ action: "replay", filter: GROUP, rate_per_second: 20, canary: false, dry_run: true }],
      jobs: [],
    });
  });

  it("says that an endpoint answered a test since it failed", () => {
    const health = { ...aHealth, consecutive_failures: 7, last_failure_at: new Date(NOW - 60_000).toISOString() };
    const sendTestEvent = { ...anAttempt, trigger: "test", outcome: "succeeded", status_code: 200, error: null };
    const [{ endpoint } = { endpoint: "" }] = aJobPlan.endpoints;
    const getEndpoint = { ...anEndpoint, id: endpoint, health };
    const instead = { getEndpoint, sendTestEvent, listEndpoints: { data: [getEndpoint], next_cursor: null } };
    const dashboard = on("failures", { instead });
    expect(shown(dashboard.press(KEY.replayMany))).toMatch(/390 +38 +failing, last 1m ago/);
    dashboard.press("esc", "3", "t", "enter", "esc", "4");
    expect(shown(dashboard.press(KEY.replayMany))).toMatch(/390 +38 +test: 200, 0s ago/);
  });

  it("has room for when an endpoint failed last, however long ago", () => {
    const failing = (ms: number) => ({
      instead: {
        getEndpoint: {
          ...anEndpoint,
          health: { ...aHealth, consecutive_failures: 5, last_failure_at: new Date(NOW - ms).toISOString() },
        },
      },
    });
    const minutes = shown(on("failures", failing(27 * 60_000)).press(KEY.replayMany));
    expect(minutes).toContain("failing, last 27m ago  ");
    expect(shown(on("failures", failing(366 * 86_400_000)).press(KEY.replayMany))).toContain("last 366d ago  ");
  });

  it("runs over exactly what was planned, once its number was typed", () => {
    const dashboard = on("failures").press(KEY.replayMany).type("441").press("enter");
    expect(drafts(dashboard).jobs).toEqual([
      { action: "replay", filter: GROUP, rate_per_second: 20, canary: false, expect: 441 },
    ]);
    expect(dashboard.state.modes).toEqual([]);
    expect(shown(dashboard)).toMatch(/replay of 441: running as job_…\d+/);
  });

  it.each([["enter"], ["y"], ["4", "4", "enter"], ["4", "4", "2", "enter"], ["4", "4", "1", "esc"], ["esc"]])(
    "does nothing by %s %s %s %s",
    (...keys) => {
      expect(drafts(on("failures").press(KEY.replayMany, ...keys.filter((key) => key !== undefined))).jobs).toEqual([]);
    },
  );

  it("takes the number and Enter in one chunk, and no command behind them", () => {
    const dashboard = on("failures").press(KEY.replayMany);
    dashboard.say({ kind: "keys", keys: ["4", "4", "1", "enter", "q"] } as never);
    expect(drafts(dashboard).jobs).toHaveLength(1);
    expect(dashboard.effects).not.toContainEqual({ do: "quit", exit: 0 });
  });

  it("is never typed by what is pasted", () => {
    const dashboard = on("failures")
      .press(KEY.replayMany)
      .say({ kind: "paste", text: "441\r" } as never);
    expect(drafts(dashboard).jobs).toEqual([]);
  });

  it("goes at the pace that was set, within what a job takes", () => {
    const dashboard = on("failures").press(KEY.replayMany, "p").type("501").press("enter");
    expect(shown(dashboard)).toContain("The pace is 1 to 500 per second");
    dashboard.type("5").press("enter");
    expect(shown(dashboard)).toContain("5/s to each endpoint, about 1m17s");
    dashboard.type("441").press("enter");
    expect(drafts(dashboard).jobs).toMatchObject([{ rate_per_second: 5, expect: 441 }]);
  });

  it("sends a canary ahead when asked, by Enter alone", () => {
    const dashboard = on("failures").press("c");
    expect(shown(dashboard)).toContain("Canary replay of 441 failed deliveries");
    expect(drafts(dashboard.press("enter")).jobs).toMatchObject([{ canary: true, expect: 441, filter: GROUP }]);
    expect(drafts(on("failures").press(KEY.replayMany, "c", "enter")).jobs).toMatchObject([{ canary: true }]);
    expect(drafts(on("failures").press("c", "c", "enter")).jobs).toEqual([]);
  });

  it("says so when the set is another one by then, and shows the new plan", () => {
    const dashboard = on("failures").press(KEY.replayMany).type("441");
    const call = unanswered(dashboard, "enter");
    dashboard.daemon.holds.plan = { matched: 443 };
    dashboard.say({ kind: "failed", call, problem: refusal("plan_changed") } as never);
    expect(shown(dashboard)).toContain("The count is no longer 441, so nothing was done");
    expect(shown(dashboard)).toContain("Replay 443 failed deliveries");
    expect(dashboard.state.acts).toEqual([]);
    dashboard.type("443").press("enter");
    expect(drafts(dashboard).jobs).toMatchObject([{ expect: 443 }]);
  });

  it("says why it was refused, and asks again by Enter", () => {
    const dashboard = on("failures").press(KEY.replayMany).type("441");
    const call = unanswered(dashboard, "enter");
    dashboard.say({ kind: "failed", call, problem: refusal("storage_full") } as never);
    expect(shown(dashboard)).toContain("the daemon says storage_full");
    dashboard.press("enter").pass(5000);
    expect(drafts(dashboard).plans).toHaveLength(2);
  });

  it("is asked for once, and under the same key when the daemon went away before it answered", () => {
    const dashboard = on("failures").press(KEY.replayMany).type("441");
    const call = unanswered(dashboard, "enter", "enter", "enter");
    const gone = { failure: "unreachable", code: "unreachable", message: "gone", hint: "" };
    dashboard.say({ kind: "failed", call, problem: gone } as never).say({ kind: "lost", problem: gone } as never);
    expect(shown(dashboard)).toContain("sent again when the daemon is back");
    dashboard.connected();
    const keys = asked(dashboard, "createJob").map(({ ask }) => ask.idempotencyKey);
    expect(keys.filter((key) => key !== undefined)).toEqual([call.ask.idempotencyKey]);
  });

  it("cannot be agreed to while the daemon is away, and says so no longer than that", () => {
    const gone = { failure: "unreachable", code: "unreachable", message: "gone", hint: "" };
    const dashboard = on("failures").press(KEY.replayMany);
    dashboard.say({ kind: "lost", problem: gone } as never).press("4", "4", "1", "enter");
    expect(drafts(dashboard).jobs).toEqual([]);
    expect(shown(dashboard)).toContain("│ actions are off until the daemon answers");
    dashboard.connected();
    expect(shown(dashboard)).not.toContain("actions are off");
    dashboard.press("enter");
    expect(drafts(dashboard).jobs).toHaveLength(1);
  });

  it("drops the answer to a plan that nobody waits for any more", () => {
    const dashboard = on("failures");
    dashboard.answers = false;
    dashboard.press(KEY.replayMany);
    const late = dashboard.effects.findLast((effect) => effect.do === "call" && effect.call.operation === "createJob");
    dashboard.answers = true;
    dashboard.press("esc", KEY.replayMany);
    const answer = { ...aJobPlan, matched: 9 };
    dashboard.say({ kind: "answered", call: (late as unknown as { call: Call }).call, answer } as never);
    expect(shown(dashboard)).toContain("Replay 441 failed");
  });

  it("takes what is marked, or else all that failed of what is listed", () => {
    const filterOf = (dashboard: Dashboard) =>
      (drafts(dashboard.press(KEY.replayMany)).plans[0] as { filter: object }).filter;
    expect(filterOf(on("events").press("space", "j", "space"))).toEqual({
      events: [idOf("evt", 250), idOf("evt", 248)],
    });
    expect(filterOf(on("deliveries").press("space"))).toEqual({
      events: [idOf("evt", 250)],
      endpoint: expect.stringMatching(/^ep_/) as string,
    });
    expect(filterOf(on("events"))).toEqual({ status: "failed", until: FIXED });
    const filtered = on("events").press("/").type("type:a.b since:2h status_code:5xx test:true").press("enter");
    expect(filterOf(filtered)).toEqual({
      status: "failed",
      type: "a.b",
      status_code: "5xx",
      test: true,
      since: new Date(NOW - 2 * 3_600_000).toISOString(),
      until: FIXED,
    });
  });

  it.each([
    ["read-only", { settings: { readOnly: true } }, [], "this dashboard is read-only"],
    ["with nothing listed", { events: 0 }, [], "nothing is listed"],
    ["for what did not fail", {}, ["/", ..."status:pending", "enter"], "the filter says status:pending"],
  ])("is off %s, and says why", (_, setup, keys, why) => {
    const dashboard = on("events", setup).press(...keys, KEY.replayMany);
    expect(dashboard.state.modes).toEqual([]);
    expect(shown(dashboard)).toContain(why);
  });

  it.each([
    { columns: 60, rows: 12 },
    { columns: 80, rows: 24 },
  ])("has room for what must be typed at $columns x $rows", (size) => {
    const endpoints = Array.from({ length: 30 }, (_, n) => ({ endpoint: idOf("ep", n), matched: 10, timed_out: 1 }));
    const dashboard = on("failures", { size, plan: { endpoints, matched: 300, timed_out: 30 } }).press(KEY.replayMany);
    expect(shown(dashboard)).toContain("To replay all now, type 300 and press Enter");
    expect(shown(dashboard)).toContain("Esc cancel");
    expect(shown(dashboard)).toContain("30 timed out");
  });
});

describe("a cancellation of many", () => {
  const WAITING = { status: "pending", plan: { action: "cancel", timed_out: 38 } } as const;

  it.each([
    ["failures", { endpoint: anAttempt.endpoint, error: "http_status", status_code: "503", until: FIXED }],
    ["endpoints", { endpoint: expect.stringMatching(/^ep_/) as string, until: FIXED }],
    ["events", { until: FIXED }],
  ] as const)("on %s is over what waits, with its plan first and its number typed", (tab, filter) => {
    const dashboard = on(tab, WAITING).press("X");
    expect(shown(dashboard)).toMatch(/Cancel 441 waiting deliveries[^]*390 +answers +example.com/);
    expect(shown(dashboard)).toContain("never sent and cannot be replayed");
    // Nothing is sent, so there is no question about a pace or a canary.
    expect(shown(dashboard)).not.toMatch(/Pace|canary|TIMED OUT/);
    dashboard.press("c", "p", "enter");
    expect(drafts(dashboard).jobs).toEqual([]);
    dashboard.type("441").press("enter");
    expect(drafts(dashboard)).toEqual({
      plans: [{ action: "cancel", filter, dry_run: true }],
      jobs: [{ action: "cancel", filter, expect: 441 }],
    });
    expect(shown(dashboard)).toMatch(/cancellation of 441: running as job_…\d+/);
  });

  it("takes the status of the filter, and says why where it can not", () => {
    const plans = (status: string) =>
      drafts(on("deliveries", WAITING).press("/").type(`status:${status}`).press("enter", "X")).plans;
    expect(plans("held")).toMatchObject([{ filter: { status: "held" } }]);
    expect(plans("pending,held")).toEqual([{ action: "cancel", filter: { until: FIXED }, dry_run: true }]);
    const failed = on("deliveries").press("f", "X");
    expect(shown(failed)).toContain("X is off: only open rows can be cancelled, but the filter says status:failed");
  });

  it("shows nothing but that where nothing waits", () => {
    const dashboard = on("failures", { plan: { matched: 0, timed_out: 0, endpoints: [] } }).press("X");
    expect(shown(dashboard)).toContain("None of them is waiting: there is nothing to cancel.");
    expect(shown(dashboard)).not.toMatch(/COUNT|HEALTH/);
    expect(shown(dashboard.press("esc", "?"))).toMatch(/cancel the marked rows, [^…]*shows the plan first/);
  });

  it("is a command of a shell, too, unless it names several events", () => {
    expect(shown(on("failures", WAITING).press("X", "C"))).toMatch(
      /webhookd deliveries cancel --endpoint=ep_\S+[^]*or=http_status[^]*--expec[^]*t=441/,
    );
    expect(shown(on("events").press("space", "space", "X", "C"))).toContain(
      "No single command does this for several events",
    );
  });
});

describe("an attempt of all that is retried", () => {
  const RETRIED = { status: "pending", plan: { action: "attempt_now", timed_out: 38 } } as const;
  const group = { endpoint: anAttempt.endpoint, error: "http_status", status_code: "503" };

  it.each([
    ["failures", group],
    ["overview", group],
    ["endpoints", { endpoint: expect.stringMatching(/^ep_/) as string }],
    ["deliveries", {}],
    ["events", {}],
  ] as const)("on %s is over what waits, with its plan first, at a pace", (tab, words) => {
    const dashboard = on(tab, RETRIED).press("N");
    expect(shown(dashboard)).toMatch(/Try 441 waiting deliveries[^]*390 +\d+ +answers +example.com/);
    expect(shown(dashboard)).toMatch(/Pace +20\/s[^]*38 timed out[^]*To try all now, type 441/);
    dashboard.type("441").press("enter");
    const draft = { action: "attempt_now", filter: { status: "pending", ...words, until: FIXED } };
    const paced = { ...draft, rate_per_second: 20, canary: false };
    expect(drafts(dashboard)).toEqual({ plans: [{ ...paced, dry_run: true }], jobs: [{ ...paced, expect: 441 }] });
    expect(shown(dashboard)).toMatch(/attempt of 441: running as job_…\d+/);
  });

  it("may send a canary first, and is a command of a shell, too", () => {
    const dashboard = on("failures", RETRIED).press("N", "c");
    expect(shown(dashboard)).toContain("Canary try of 441 waiting deliveries");
    expect(shown(dashboard.press("C"))).toMatch(/webhookd deliveries attempt --status=pending[^]*--canary/);
  });

  it("says why it can not, and so where nothing waits", () => {
    const failed = on("deliveries").press("f", "N");
    expect(shown(failed)).toContain("N is off: only waiting rows can be tried, but the filter says");
    const none = on("failures", { plan: { matched: 0, timed_out: 0, endpoints: [] } }).press("N");
    expect(shown(none)).toContain("None of them is waiting for a retry: there is nothing to try.");
  });
});

it.each(["c", KEY.replayMany, "N", "X", "M"])(
  "%s says at 80 columns why there is nothing to do, and what else to press",
  (key) => {
    const nothing = { plan: { matched: 0, timed_out: 0, endpoints: [] } };
    const dashboard = on(key === "M" ? "endpoints" : "failures", { ...nothing, size: { columns: 80, rows: 24 } });
    const box = shown(dashboard.press(key))
      .split("\n")
      .filter((line) => line.startsWith("│"));
    expect(box.join("\n")).toContain("Esc leave");
    expect(box.filter((line) => line.includes("…"))).toEqual([]);
    if (key === "c" || key === KEY.replayMany) {
      expect(box.join("\n")).toContain("To try the waiting ones: Esc, then N.");
      expect(shown(dashboard.press("esc", "N"))).toContain("None of them is waiting for a retry");
    }
  },
);

it.each([KEY.replayMany, "N", "X"])(
  "what %s says to type in a shell can be typed, of one marked event too",
  async (key) => {
    for (const marks of [[], ["space"]]) {
      const dashboard = on("events").press(...marks, key, "C");
      const mode = dashboard.state.modes.at(-1) as { dialog: CommandsDialog };
      const [, ...words] = mode.dialog.commands[0]!.command.match(/(?:'[^']*'|[^\s'])+/g)!;
      const { code, err } = await typed([...words.map((word) => word.replaceAll("'", "")), "--dry-run"]);
      expect([code, err], words.join(" ")).toEqual([EXIT.ok, ""]);
    }
  },
);

describe("a back-fill", () => {
  const since = (hours: number) => new Date(NOW - hours * 3_600_000).toISOString();

  it("is of what an endpoint never got, as far back as is asked", () => {
    const dashboard = on("endpoints").press("M");
    expect(shown(dashboard)).toMatch(/Back-fill 441 missing deliveries[^]*Since +the last 24h/);
    for (const period of ["the last 7d", "the last 30d", "everything that is kept", "the last 1h"]) {
      expect(shown(dashboard.press("s"))).toMatch(new RegExp(`Since +${period}`));
    }
    dashboard.press("c", "enter");
    const { plans, jobs } = drafts(dashboard) as { plans: { filter: { since?: string } }[]; jobs: object[] };
    expect(plans.map(({ filter }) => filter.since)).toEqual([
      since(24),
      since(7 * 24),
      since(30 * 24),
      undefined,
      since(1),
    ]);
    const endpoint = expect.stringMatching(/^ep_/) as string;
    expect(jobs).toMatchObject([
      {
        action: "replay",
        filter: { missing: true, endpoint, since: since(1), until: FIXED },
        canary: true,
        expect: 441,
      },
    ]);
    expect(shown(dashboard)).toMatch(/canary back-fill of 441: running as/);
  });

  it("takes type and period from the filter of the endpoint's page", () => {
    const dashboard = on("endpoints").press("enter", "/").type("type:a.b since:2h").press("enter", "M");
    expect(drafts(dashboard).plans).toMatchObject([{ filter: { missing: true, type: "a.b", since: since(2) } }]);
    expect(shown(dashboard)).not.toContain("since when");
    expect(shown(dashboard.press("C"))).toMatch(/webhookd replay --endpoint=\S+[^]*--type=a\.b[^]*--missing/);
  });
});

describe("a job that runs", () => {
  it("is shown with its progress wherever one looks, and what it came to is told", () => {
    const dashboard = on("events", { jobs: [{ matched: 441, done: 120, delivered: 118, failed: 2, skipped: 1 }] });
    expect(shown(dashboard)).toContain("replay 121/441 ✓ 118 ✗ 2");
    dashboard.daemon.holds.jobs = [{ status: "done", done: 441, delivered: 437, failed: 4, skipped: 0 }];
    dashboard.pass(1000);
    expect(shown(dashboard)).toMatch(/replay job_…\w+ done; 437 delivered, 4 failed/);
  });

  it("says why it paused itself, and where it is resumed once that was said", () => {
    const dashboard = on("events", { jobs: [{}] });
    dashboard.daemon.holds.jobs = [{ status: "paused", paused_reason: "the canary failed" }];
    expect(shown(dashboard.pass(1000))).toContain("paused itself: the canary failed");
    expect(shown(dashboard.pass(10_000))).toContain("replay paused at 121/441 ✓ 118 ✗ 2  5 resumes");
  });

  it("says in 80 columns why it paused itself", () => {
    const why = "the canary to ep_06fbqxvx8r4m8q2v6ng0c3kz7t failed: the receiver answered 401";
    const dashboard = on("events", { jobs: [{}], size: { columns: 80, rows: 24 } });
    dashboard.daemon.holds.jobs = [{ status: "paused", paused_reason: why }];
    expect(shown(dashboard.pass(1000))).toContain("paused itself: the canary failed: the receiver answered 401");
  });

  it("is the first row of the activity once it was started, wherever the cursor was held", () => {
    const dashboard = on("activity", { jobs: [{ id: idOf("job", 1), status: "done", ended_at: aJob.created_at }] });
    dashboard.press("j", "j");
    expect(shown(dashboard)).toContain("HOLD");
    dashboard.daemon.holds.jobs = [{}, { id: idOf("job", 1), status: "done", ended_at: aJob.created_at }];
    dashboard.press("4", "c", "enter", "5");
    expect(shown(dashboard)).toContain("FOLLOW");
    expect(shown(dashboard)).toMatch(/▶ .+running/);
  });

  it("says where to stop it, and of a cancellation how many are cancelled", () => {
    expect(shown(on("events", { jobs: [{ action: "cancel" }] }))).toContain("cancel 121/441  5 stops it");
    const filter = { missing: true };
    const dashboard = on("events", { jobs: [{ filter }] });
    expect(shown(dashboard)).toContain("back-fill 121/441 ✓ 118 ✗ 2  5 stops it");
    dashboard.daemon.holds.jobs = [{ action: "cancel", status: "done", done: 441, skipped: 0 }];
    expect(shown(dashboard.pass(1000))).toMatch(/cancel job_…\w+ done; 441 cancelled/);
  });

  it("is known from the moment it was made", () => {
    const dashboard = on("failures").press("c", "enter");
    expect(dashboard.state.known.jobs?.value).toMatchObject([{ matched: 441, done: 0 }]);
    expect(shown(dashboard.press("5"))).toContain("0/441");
  });

  it.each([
    ["z", "running", "pauseJob"],
    ["z", "paused", "resumeJob"],
  ])("is steered by %s while it is %s: %s", (key, status, operation) => {
    const dashboard = new Dashboard({ tab: "activity", jobs: [{ status } as object] }).connected().press("j", "k", key);
    expect(asked(dashboard, operation)).toMatchObject([{ ask: { id: aJob.id } }]);
  });

  it("asks how it goes on when its canary failed, and takes no other word", () => {
    const jobs = [{ status: "paused", paused_reason: "the canary to ep_1 failed: refused", matched: 441 } as object];
    const open = () => new Dashboard({ tab: "activity", jobs }).connected().press("j", "k", "z");
    const bodies = (dashboard: Dashboard) => asked(dashboard, "resumeJob").map(({ ask }) => ask.body);
    expect(shown(open())).toMatch(/the canary to ep_1 failed: refused[^]*the remaining 320 are sent/);
    expect(bodies(open().press("esc"))).toEqual([]);
    expect(bodies(open().press("enter"))).toEqual([{ canary: true }]);
    expect(bodies(open().press("ctrl+u").type("send all").press("enter"))).toEqual([{ send_all: true }]);
    const wrong = open().press("ctrl+u").type("y").press("enter");
    expect([bodies(wrong), shown(wrong)]).toEqual([[], expect.stringContaining("Type canary, or send all")]);
  });

  it("is cancelled by x, once somebody said yes", () => {
    const dashboard = new Dashboard({ tab: "activity" }).connected().press("x");
    expect(shown(dashboard)).toContain(aJob.id);
    expect(asked(dashboard, "cancelJob")).toEqual([]);
    expect(asked(dashboard.press("y"), "cancelJob")).toMatchObject([{ ask: { id: aJob.id } }]);
  });

  it("is steered no more when it has ended", () => {
    const jobs = [{ status: "done", ended_at: aJob.created_at } as object];
    const dashboard = new Dashboard({ tab: "activity", jobs }).connected().press("x");
    expect(shown(dashboard)).toContain("x is off: the job is done");
    expect(shown(dashboard.press("j", "z"))).toContain("this row is not a job");
  });
});
