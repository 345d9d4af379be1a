/** The first screen, which says that all is well, or what is wrong. */
import { describe, expect, it } from "vitest";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { aHalt, aPause } from "../../src/api/daemon/sending.ts";
import { aStatus } from "../../src/api/daemon/status.ts";
import { someFailures } from "../../src/api/reports/failures.ts";
import { someStatistics } from "../../src/api/reports/statistics.ts";
import { Dashboard, idOf, NOW, shown, type Setup } from "./daemon.ts";
import { KEY } from "../../tui/keys/names.ts";

const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();
const [group] = someFailures.data;
const COUNTS = { ...aStatus.deliveries!, failed: 0 };
const NOTHING_FAILS = {
  listFailures: { ...someFailures, data: [], total: 0 },
  getStatus: { ...aStatus, deliveries: COUNTS },
};

function open({ instead = {}, ...setup }: Setup = {}): Dashboard {
  return new Dashboard({ tab: "overview", ...setup, instead: { ...NOTHING_FAILS, ...instead } }).connected();
}

/** Returns the title band and the text below it. */
function said(dashboard: Dashboard): [title: string, facts: string] {
  const [title = "", ...facts] = shown(dashboard).split("\n").slice(3, 6);
  return [
    title.trim(),
    facts
      .map((line) => line.trim())
      .join(" ")
      .trim(),
  ];
}

function failing(...groups: readonly Partial<typeof group>[]): Setup {
  const data = groups.map((one) => ({ ...group, ...one }));
  return { instead: { listFailures: { ...someFailures, data, total: data.length } } };
}

/** Sets the time since the endpoint's last success. */
function succeeded(seconds: number, one: Partial<typeof group>): Setup {
  const health = { ...aHealth, last_success_at: ago(seconds) };
  const getEndpoint = { ...anEndpoint, id: group!.endpoint, health };
  return { instead: { ...failing(one).instead, getEndpoint } };
}

const status = (change: object): Setup => ({
  instead: { getStatus: { ...aStatus, deliveries: COUNTS, ...change } },
});

describe("whether it is all right", () => {
  it.each<[string, Setup, title: string, facts: string | RegExp]>([
    ["nothing fails", {}, "✓ ALL IS WELL", "Nothing is failing. 3,570 events were published in the last hour."],
    [
      "endpoints fail",
      failing({ first_at: ago(7200) }, { endpoint: idOf("ep", 2), status_code: 404 }),
      "✗ 2 ENDPOINTS ARE FAILING",
      /example\.com.*: 503 from the receiver, for 2h, and 1 more cause\. 3,956 deliveries are waiting for a retry; 882 failed/,
    ],
    [
      "nothing was given up yet",
      failing({ failed: 0 }),
      "! 1 ENDPOINT IS FAILING",
      /1,978 deliveries are waiting for a retry; none has failed for good\./,
    ],
    [
      "what failed has been over for long",
      failing({ pending: 0, last_at: ago(7200) }),
      "! NOTHING IS FAILING NOW, BUT SOME DELIVERIES FAILED",
      `441 deliveries failed earlier and will not be retried: ${KEY.replayMany} replays them.`,
    ],
    [
      "an endpoint succeeded since, and old retries wait",
      succeeded(60, { failed: 0, last_at: ago(600) }),
      "✓ NOTHING IS FAILING NOW",
      "1,978 deliveries are waiting to be retried at endpoints that work again.",
    ],
    [
      "an endpoint succeeded since, and some is missing",
      succeeded(60, { last_at: ago(600) }),
      "! NOTHING IS FAILING NOW, BUT SOME DELIVERIES FAILED",
      /^1,978 deliveries are waiting to be retried at endpoints that work again\. 441 deliveries failed earlier/,
    ],
    [
      "an endpoint fails again since it succeeded",
      succeeded(600, { failed: 0, last_at: ago(60) }),
      "! 1 ENDPOINT IS FAILING",
      /for a retry; none has failed for good\./,
    ],
    [
      "what failed is older than the report of failures",
      status({ deliveries: { ...COUNTS, failed: 12 } }),
      "! NOTHING IS FAILING NOW, BUT SOME DELIVERIES FAILED",
      `12 deliveries failed earlier and will not be retried: ${KEY.replayMany} replays them.`,
    ],
    [
      "all sending is paused",
      status({ paused: aPause }),
      "✗ ALL SENDING IS PAUSED",
      /9 deliveries wait\. B resumes it\./,
    ],
    [
      "nothing can be sent",
      status({ not_sending: [{ ...aHalt, reason: "unreachable", since: ago(60), detail: "no resolver answers" }] }),
      "✗ NOTHING CAN BE SENT",
      "no resolver answers, for 1m.",
    ],
    [
      "the disk is full",
      status({ state: "disk_full" }),
      "✗ THE DISK IS FULL",
      /^New events are refused: only 49 GiB is free/,
    ],
    [
      "the store fails",
      status({ state: "store_unavailable" }),
      "✗ CANNOT WRITE TO THE STORE",
      "New events are refused.",
    ],
    [
      "an endpoint is damaged",
      status({ damaged_endpoints: { total: 1, endpoints: [{ endpoint: idOf("ep", 1) }] } }),
      "✗ 1 ENDPOINT IS DAMAGED",
      `Nothing is sent to ${idOf("ep", 1)}.`,
    ],
    [
      "an ordering key is held",
      status({
        held_keys: [{ endpoint: idOf("ep", 1), count: 1, since: ago(7200), ordering_key: "k", event: idOf("evt", 1) }],
      }),
      "! SOMETHING NEEDS ATTENTION",
      /1 ordering key is held at ep_\w+, for 2h\./,
    ],
    [
      "a client certificate has expired",
      status({
        client_certificates: [ago(60), ago(-86_400)].map((not_after) => ({ endpoint: idOf("ep", 1), not_after })),
      }),
      "! SOMETHING NEEDS ATTENTION",
      /The client certificate of ep_\w+ has expired\. 1 more client/,
    ],
    [
      "the last backup failed",
      status({ backup: { ...aStatus.backup, failure: { at: ago(60), detail: "no space left" } } }),
      "! SOMETHING NEEDS ATTENTION",
      /The last backup failed: no space left\./,
    ],
    [
      "deliveries are late",
      status({ oldest_due_at: ago(720) }),
      "! SOMETHING NEEDS ATTENTION",
      /The oldest delivery has been due for 12m\./,
    ],
    ["there is no endpoint", { endpoints: 0 }, "○ NO ENDPOINTS YET", ""],
  ])("%s: it says so", (_, setup, title, facts) => {
    const [saidTitle, saidFacts] = said(open(setup));
    expect(saidTitle).toBe(title);
    if (typeof facts === "string") expect(saidFacts).toBe(facts);
    else expect(saidFacts).toMatch(facts);
  });

  it("does not call it well before it knows what fails, nor where it may not ask", () => {
    const dashboard = new Dashboard({ tab: "overview", instead: NOTHING_FAILS });
    dashboard.answers = false;
    dashboard.connected();
    expect(said(dashboard)[0]).toBe("○ ASKING THE DAEMON");
    const problem = { failure: "not_allowed", code: "forbidden", message: "no", hint: "" };
    for (const effect of dashboard.effects.splice(0)) {
      if (effect.do === "call" && effect.call.operation === "getStatus")
        dashboard.say({ kind: "failed", call: effect.call, problem } as never);
    }
    expect(said(dashboard)).toEqual(["○ LOOKING FOR FAILURES", "This key may not read the daemon's own status."]);
  });
});

describe("what the counters have stored", () => {
  const day = Array.from({ length: 96 }, (_, step) => ({
    ...someStatistics.series[0]!,
    succeeded: step < 48 ? 0 : step,
    failed: step === 95 ? 3 : 0,
  }));
  const instead = { getStatistics: { ...someStatistics, series: day } };

  it("is there as soon as the dashboard is: the last 24 hours, what failed apart", () => {
    const lines = shown(open({ instead, size: { columns: 120, rows: 34 } })).split("\n");
    const [first, second, third, fourth, failed] = lines.slice(8, 13) as [string, string, string, string, string];
    expect(first).toMatch(/^ delivered {50,}[▁▂▃▄▅▆▇█]+ +3,432 $/);
    expect(second).toContain("most 95/15m");
    expect(third.slice(12, 50).trim()).toBe("");
    expect(fourth).toMatch(/█{40,}/);
    expect(failed).toMatch(/^ failed +[▁▂▃▄▅▆▇█]{1,2} +3 $/);
    expect(lines[14]).toMatch(/^ {12}-24h ─+-18h ─+-12h ─+-6h ─+ now/);
  });

  it("is in the row below the header on every screen", () => {
    const row = shown(open({ instead, tab: "events", size: { columns: 120, rows: 34 } })).split("\n")[1]!;
    expect(row).toMatch(/\/s +[▁▂▃▄▅▆▇█]+ $/);
  });
});

describe("what is about to happen", () => {
  const due = (counts: Readonly<Record<number, number>>) =>
    Array.from({ length: 60 }, (_, minute) => counts[minute] ?? 0);
  const next = (counts: readonly number[] | null, columns = 120) => {
    const dashboard = open({ ...status({ due_by_minute: counts }), size: { columns, rows: 34 } });
    return shown(dashboard)
      .split("\n")
      .find((line) => line.startsWith(" next hour"))!
      .trimEnd();
  };

  it("is shown a minute a column, with the first and the most in words", () => {
    const row = next(due({ 0: 2, 1: 4, 59: 8 }));
    expect(row).toBe(` next hour  ▂▄${" ".repeat(57)}█  14 retries, first now, most in 59m (8)`);
    expect(next(due({ 5: 1 }))).toMatch(/ {2}1 retry, first in 5m$/);
    expect(next(due({ 5: 1, 50: 3 }), 80)).toMatch(/4 retries, first in 5m, most in 50m \(3\)$/);
  });

  it("says that there is nothing, and nothing where it is not told", () => {
    expect(next(due({}))).toBe(" next hour  no retries are due");
    expect(next(null)).toBe(" next hour  …");
  });
});

describe("the worst endpoints", () => {
  it("are added up over their causes, the one with the most missing first", () => {
    const groups = [
      { endpoint: idOf("ep", 1), failed: 5, pending: 1, held: 1 },
      { endpoint: idOf("ep", 2), failed: 4, pending: 0, held: 0 },
      { endpoint: idOf("ep", 2), failed: 6, pending: 9, held: 0, status_code: 404 },
    ];
    const lines = shown(open({ ...failing(...groups), size: { columns: 120, rows: 34 } })).split("\n");
    const head = lines.findIndex((line) => line.includes("WORST ENDPOINTS"));
    expect(lines[head + 1]).toMatch(/^ +10 +9 example\.com\S* +98 % +5m/);
    expect(lines[head + 2]).toMatch(/^ +5 +2 example\.com/);
  });
});

it("acts on the cause under the cursor as 4 Failures does", () => {
  const dashboard = open(failing({}));
  expect(shown(dashboard.press("c"))).toContain("Canary replay of");
  expect(shown(dashboard.press("esc", "enter"))).toContain("0 OVERVIEW › deliveries");
  expect(dashboard.state.tabs.overview.at(-1)).toMatchObject({
    list: { filter: expect.stringContaining("status:failed") },
  });
});
