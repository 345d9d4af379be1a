import { describe, expect, it } from "vitest";
import { anAttempt } from "../../src/api/deliveries/attempts.ts";
import { anEvent, anEventSummary } from "../../src/api/events/schemas.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { aJob } from "../../src/api/jobs/schemas.ts";
import { someStatistics } from "../../src/api/reports/statistics.ts";
import { aStatus } from "../../src/api/daemon/status.ts";
import { frameOf } from "../../tui/frame.ts";
import { asked, Dashboard, idOf, NOW, type Setup } from "./daemon.ts";
import { KEY } from "../../tui/keys/names.ts";

function shown({ state }: Dashboard): string {
  return frameOf(state)
    .map((line) => line.replaceAll(/\x1b\[[0-9;]*m/g, "").trimEnd())
    .join("\n");
}

const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();
const event = idOf("evt", 250);
const attempt = (number: number, change: object) => ({ ...anAttempt, event, number, retry: number - 1, ...change });

/** Returns the page of an event with these attempts, the latest first, as the API lists them. */
function eventPage(attempts: readonly object[], delivery: object, setup: Setup = {}): string {
  const deliveries = [{ ...anEvent.deliveries[0], attempts: attempts.length, ...delivery }];
  const instead = {
    getEvent: { ...anEvent, id: event, created_at: ago(3600), deliveries },
    listEventAttempts: { data: attempts, next_cursor: null },
    ...setup.instead,
  };
  return shown(new Dashboard({ size: { columns: 100, rows: 40 }, ...setup, instead }).connected().press("enter"));
}

describe("the page of an event", () => {
  const made = [
    attempt(2, { started_at: ago(90), status_code: null, error: "timeout", duration_ms: 10_000, detail: "too late" }),
    attempt(1, { started_at: ago(130) }),
  ];

  it("shows every attempt with its timings, what came back, and the tries still to come", () => {
    const page = eventPage(made, { status: "pending", next_attempt_at: ago(-432) });
    expect(page).toContain("┬─  1  at once  11-20 09:57:50  503        12 ms  dns 1 tcp 2 tls 4 answer 5");
    expect(page).toContain("├─  2  +30s     11-20 09:58:30  timeout   10.0 s");
    expect(page).toContain("├─  3  in 7m12s  11-20 10:07:12");
    expect(page).toContain("├─  4  +10m if that fails");
    expect(page).toContain("├─  5  +1h if that fails");
    expect(page).toContain("├─  6  +6h if that fails");
    expect(page).toContain("└─  7  +1d if that fails");
    expect(page).not.toContain(" 8  ");
  });

  it("says how many deliveries there are where it does not have all of them", () => {
    const getEvent = { ...anEvent, id: event, delivery_count: 2345, more_deliveries: "/v1/webhooks/deliveries?event=" };
    const page = eventPage(made, {}, { instead: { getEvent } });
    expect(page).toMatch(new RegExp(` 1 of 2,345 deliveries shown; for all, filter deliveries by\\s+event:${event}`));
    expect(eventPage(made, {})).not.toContain("deliveries shown");
  });

  it("begins the ladder anew where a replay was not attempted yet", () => {
    const seven = attempt(7, { retry: 6, started_at: ago(90) });
    const page = eventPage([seven], { status: "pending", attempts: 7, next_attempt_at: ago(1) });
    expect(page).toContain("8  due now");
    expect(page).toContain("9  +30s if that fails");
    expect(page).toContain("14  +1d if that fails");
  });

  it("goes by the daemon's ladder, and guesses nothing where it is not told", () => {
    const before = { status: "pending", next_attempt_at: ago(-432) };
    const short = { getStatus: { ...aStatus, retry_delays_seconds: [1, 2, 3] } };
    const page = eventPage(made, before, { instead: short });
    expect(page).toContain("└─  4  +3s if that fails");
    const { retry_delays_seconds: _, ...older } = aStatus;
    const silent = eventPage(made, before, { instead: { getStatus: older } });
    expect(silent).toContain("3  in 7m12s");
    expect(silent).not.toContain("if that fails");
  });

  it("shows the answer and the payload, and says what was erased", () => {
    const page = eventPage([attempt(1, { response_body: "try again\nlater" })], {
      status: "failed",
      next_attempt_at: null,
    });
    expect(page).toMatch(
      /last answer {2}503, 15 characters, text\/plain\n +│ try again\n[^]+in full\n +│ try again\n +│ later/,
    );
    expect(page).toContain('"budget_id": "bud_1"');
    const erased = new Dashboard({ instead: { getEvent: { ...anEvent, data: null, erased_at: anEvent.created_at } } })
      .connected()
      .press("enter");
    expect(shown(erased)).toContain("erased");
  });

  it("says what came back last above all that was tried, on a low screen too", () => {
    const seven = Array.from({ length: 7 }, (_, n) => attempt(7 - n, { response_body: "out of\x07 order" }));
    const low = { size: { columns: 80, rows: 24 } };
    const page = eventPage(seven, { status: "failed", next_attempt_at: null }, low);
    expect(page).toMatch(/✗ failed {2}7 tries to [^\n]+\n +last answer {2}503, [^\n]+\n +│ out of.+ order\n +┬─ {2}1/);
    expect(page).not.toContain("\x07");
    const silent = attempt(1, { status_code: null, error: "timeout", response_body: "", detail: "no answer in 10 s" });
    expect(eventPage([silent], { status: "failed", next_attempt_at: null }, low)).toContain(
      "last answer  no answer in 10 s",
    );
  });

  it("says what was wrong with the response of a success, whole, on a low screen too", () => {
    const detail = "the receiver answered 200; the response is malformed: a line ends in LF without CR (bare_lf)";
    const malformed = attempt(1, { outcome: "succeeded", status_code: 200, error: null, detail });
    const low = { size: { columns: 80, rows: 24 } };
    const page = eventPage([malformed], { status: "delivered", next_attempt_at: null }, low);
    expect(page).toMatch(
      /last answer {2}200, [^\n]+\n +the receiver answered 200; the response is malformed: [^(]+\(bare_lf\)/,
    );
  });

  it("says of what has been due for some time that it waits its turn, and of how many", () => {
    const due = { status: "pending", attempts: 1, next_attempt_at: ago(8) };
    const one = [attempt(1, {})];
    const listEndpoints = { data: [{ ...anEndpoint, id: anAttempt.endpoint, max_in_flight: 4 }], next_cursor: null };
    const turn = eventPage(one, due, { instead: { listEndpoints } });
    expect(turn).toContain("2  due: in flight or waiting its turn, 4 at a time");
    const paused = { ...aStatus, paused: { reason: "maintenance", by: "socket", at: ago(60) } };
    expect(eventPage(one, due, { instead: { getStatus: paused } })).toContain("2  due, but sending is paused");
  });

  it("scrolls to its end and no further", () => {
    const data = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`field_${n}`, n]));
    const dashboard = new Dashboard({ instead: { getEvent: { ...anEvent, data } } }).connected().press("enter");
    expect(shown(dashboard)).toMatch(/… \d+ more lines/);
    expect(shown(dashboard.press("G"))).toContain("field_59");
    expect(shown(dashboard.press("g"))).toContain("status");
  });
});

describe("the header", () => {
  it("says that sending is paused, what this is, and that it is read-only", () => {
    const paused = { reason: "maintenance", by: "socket", at: ago(60) };
    const settings = { label: "PROD", readOnly: true };
    const page = shown(new Dashboard({ settings, instead: { getStatus: { ...aStatus, paused } } }).connected());
    expect(page.split("\n")[0]).toMatch(/● live .* SENDING PAUSED {2}read-only {2}PROD$/);
  });

  it("says how far behind the news are, whatever the difference of the clocks", () => {
    const dashboard = new Dashboard().connected();
    const change = (at: string) => ({ at, tenant: "default", endpoint: idOf("ep", 1) });
    dashboard.stream({ kind: "endpoint", data: change(ago(-30)) });
    expect(shown(dashboard)).not.toContain("LAG");
    const counted = { kind: "endpoint", tenant: "default", endpoint: idOf("ep", 1), status: null, count: 5 } as const;
    dashboard.stream({ kind: "counts", data: { data: [{ ...counted, outcome: null, error: null }] } });
    expect(shown(dashboard)).not.toContain("LAG");
    dashboard.now += 10_000;
    dashboard.stream({ kind: "endpoint", data: change(ago(-36.8)) });
    expect(shown(dashboard)).toContain("LAG 3.2 s");
  });

  it.each([80, 100, 120])(
    "says what is failed, held and pending now beside the last 24 h, at %i columns",
    (columns) => {
      const deliveries = { pending: 12_800, held: 12, failed: 10_500 };
      const counts = { ...someStatistics, deliveries: { delivered: 13_501, failed: 13_503 } };
      const instead = { getStatus: { ...aStatus, deliveries }, getStatistics: counts };
      const [, row] = shown(new Dashboard({ size: { columns, rows: 24 }, instead }).connected()).split("\n");
      expect(row).toMatch(
        /^ now {2}✗ 10,500 failed {2}‖ 12 held {2}○ 12,800 pending {3}24 h .*✓ 13,501\b.* ✗ 13,503\b/,
      );
      expect(row).not.toContain("…");
    },
  );

  it("says nothing of now where the key may not ask, or nothing is counted yet", () => {
    for (const deliveries of [undefined, null]) {
      const page = shown(new Dashboard({ instead: { getStatus: { ...aStatus, deliveries } } }).connected());
      expect(page.split("\n")[1]).toMatch(/^ 24 h .*✓ 3,560 {2}✗ 2/);
    }
  });

  it("counts on from the statistics with what the stream tells", () => {
    const dashboard = new Dashboard().connected();
    expect(shown(dashboard)).toContain("✓ 3,560  ✗ 2");
    const about = { at: ago(0), tenant: "default", endpoint: idOf("ep", 1), event, delivery: idOf("dlv", 1) };
    const result = { number: 7, outcome: "failed", error: "timeout", status_code: null, duration_ms: 1 } as const;
    dashboard.answers = false;
    dashboard.stream({ kind: "attempt", data: { ...about, ...result, status: "failed", next_attempt_at: null } });
    const counted = {
      kind: "attempt",
      tenant: "default",
      endpoint: idOf("ep", 1),
      outcome: "succeeded",
      error: null,
    } as const;
    dashboard.stream(
      { kind: "endpoint", data: about },
      { kind: "counts", data: { data: [{ ...counted, status: "delivered", count: 40 }] } },
    );
    expect(shown(dashboard)).toContain("✓ 3,600  ✗ 3");
    expect(shown(dashboard)).toContain("  41/s");
  });
});

describe("a screen with nothing on it", () => {
  it("says what to do first", () => {
    const page = shown(new Dashboard({ events: 0, endpoints: 0 }).connected());
    expect(page).toContain("webhookd listen --register");
    expect(page).toContain("webhookd trigger budget.exceeded");
  });

  it("says which filter matched nothing, and how to clear it", () => {
    const dashboard = new Dashboard({ events: 0 }).connected().press("f");
    expect(shown(dashboard)).toContain('Nothing matches "status:failed". Esc clears the filter.');
  });
});

describe("a filtered list of events", () => {
  const [first] = anEvent.deliveries;
  const delivery = (n: number, status: string, last: object) => ({
    ...first,
    id: idOf("dlv", n),
    endpoint: idOf("ep", n),
    status,
    last_attempt: { ...anAttempt, ...last },
  });
  const deliveries = [
    delivery(1, "failed", { outcome: "failed", status_code: 500, error: "http_status" }),
    delivery(2, "pending", { outcome: "failed", status_code: null, error: "tls_error" }),
    delivery(3, "delivered", { outcome: "succeeded", status_code: 204, error: null }),
  ];
  const data = [{ ...anEventSummary, status: "pending", deliveries }];

  it.each([
    ["", "500"],
    ["error:tls_error", "tls"],
    ["status_code:5xx", "500"],
    ["status_code:204", "204"],
    [`endpoint:${idOf("ep", 3)}`, "204"],
    ["status:pending", "tls"],
    ["type:budget.exceeded error:tls_error", "tls"],
    // The delivery that matched has changed since.
    ["error:timeout", "500"],
  ])("%s shows the result of the delivery that matched", (filter, result) => {
    const size = { columns: 100, rows: 24 };
    const instead = { listEvents: { data, next_cursor: null } };
    const dashboard = new Dashboard({ size, instead });
    const { daemon } = dashboard;
    const answer = daemon.answer.bind(daemon);
    daemon.answer = (call) =>
      call.operation === "getEndpoint"
        ? { ...(answer(call) as object), url: `https://ep${call.ask.id!.slice(-1)}.example/` }
        : answer(call);
    dashboard.connected();
    if (filter !== "") dashboard.press("/").type(filter).press("enter");
    const [row] = shown(dashboard)
      .split("\n")
      .filter((line) => line.includes("budget.exceeded") && line.includes(".example"));
    expect(row).toMatch(new RegExp(` ${result} .*ep${{ 500: 1, tls: 2, 204: 3 }[result]}\\.example \\+2`));
  });
});

describe("the help at 80 x 24", () => {
  it.each([
    ["0", [KEY.replayMany, "c", "N", "X", "t", "z", "B"]],
    ["1", [KEY.replay, KEY.replayMany, "N", "X", "n", "x", "t", "B"]],
    ["3", [KEY.replayMany, "N", "X", "M", "a", "e", "t", "z", KEY.freeKey, "S", "D", "B"]],
    ["5", ["z", "x", "B"]],
  ] as const)("opens with what can be done on screen %s", (screen, keys) => {
    const lines = shown(new Dashboard().connected().press(screen, "?")).split("\n");
    const end = lines.findIndex((line) => line.includes("Keys everywhere"));
    // A continued line has no key in front.
    const first = lines.slice(4, end).flatMap((line) => /^ {2}(\S+)/.exec(line)?.[1] ?? []);
    expect(end).toBeLessThan(22);
    expect(first).toEqual(expect.arrayContaining([...keys]));
    expect(first.slice(0, keys.length).every((key) => keys.some((one) => one === key) || key === "a")).toBe(true);
  });
});

it("an event's page shows the deliveries first that failed", () => {
  const [one] = anEvent.deliveries;
  const hosts = ["delivered", "pending", "failed"].map((status, n) => ({
    ...one,
    id: idOf("dlv", n),
    status,
    attempts: 1,
    last_attempt: { ...anAttempt, url: `https://${status}.example/` },
    endpoint: idOf("ep", 50 + n),
  }));
  const getEvent = { ...anEvent, id: event, deliveries: hosts };
  const page = shown(
    new Dashboard({ size: { columns: 100, rows: 60 }, instead: { getEvent } }).connected().press("enter"),
  );
  const places = ["✗ failed  1", "↻ retrying  1", "✓ delivered  1"].map((text) => page.indexOf(text));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(places[0]).toBeGreaterThan(0);
});

it("an event's page says why it was not sent to the other endpoints of its tenant", () => {
  const [one] = anEvent.deliveries;
  const getEvent = { ...anEvent, id: event, deliveries: [{ ...one, endpoint: idOf("ep", 50) }] };
  const dashboard = new Dashboard({ size: { columns: 100, rows: 60 }, instead: { getEvent } });
  const page = shown(dashboard.connected().press("enter"));
  expect(page).toMatch(/not sent to [^\n]+\n[^\n]*It is held by /);
  const asks = asked(dashboard, "explainEvent").map(({ ask }) => [ask.id, ask.query!["endpoint"]]);
  expect(asks.length).toBeGreaterThan(0);
  expect(asks.length).toBeLessThanOrEqual(5);
  expect(asks).not.toContainEqual([event, idOf("ep", 50)]);
});

describe("activity", () => {
  it("shows jobs above the audit log, with how far they are and why they paused", () => {
    const paused = { ...aJob, status: "paused", paused_reason: "the canary failed", ended_at: null };
    const page = shown(
      new Dashboard({
        tab: "activity",
        size: { columns: 120, rows: 24 },
        instead: { listJobs: { data: [paused] } },
      }).connected(),
    );
    expect(page).toMatch(/‖ paused .* █{2}░{8} 121\/441 ✓ 118 ✗ 2 {2}the canary failed/);
    expect(page.indexOf("paused")).toBeLessThan(page.indexOf("endpoint.register"));
  });

  it("names the tenant that a job is for, but not as the one who made it", () => {
    const page = shown(
      new Dashboard({
        tab: "activity",
        size: { columns: 120, rows: 24 },
        jobs: [{ tenant: "acme", status: "done" }],
      }).connected(),
    );
    expect(page).toMatch(/ ✓ done +replay {21,}\S+ \S+ 121\/441 ✓ 118 ✗ 2  tenant acme/);
  });
});

describe("how many rows a list has", () => {
  const position = (total: object) => {
    const data = Array.from({ length: 100 }, (_, n) => ({ ...anEventSummary, id: idOf("evt", n), deliveries: [] }));
    const dashboard = new Dashboard({ instead: { listEvents: { data, next_cursor: "c", ...total } } }).connected();
    dashboard.press("1");
    return shown(dashboard);
  };

  it.each([
    [{}, "1 of 100+"],
    [{ total: 1234, total_is: "exact" }, "1 of 1,234 "],
    [{ total: 10_000, total_is: "at_least" }, "1 of ≥ 10,000"],
    // The total was counted before the last events were published.
    [{ total: 99, total_is: "exact" }, "1 of 100+"],
  ])("is said beside the position: %j is %s", (total, text) => {
    expect(position(total)).toContain(text);
  });
});
