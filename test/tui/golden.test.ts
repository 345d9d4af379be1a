/**
 * Every list at four widths, with long and wide names. `golden/` has the expected screens. At every width the column
 * with the list's main answer is shown in full. `vitest run … --update` writes the screens again.
 */
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { anAttempt } from "../../src/api/deliveries/attempts.ts";
import { anAuditRecord } from "../../src/api/daemon/audit.ts";
import { aWholeDelivery } from "../../src/api/deliveries/deliveries.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { anEvent, anEventSummary } from "../../src/api/events/schemas.ts";
import { someFailures } from "../../src/api/reports/failures.ts";
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import type { Tab } from "../../tui/model/list.ts";
import type { Call } from "../../tui/model/call.ts";
import { Dashboard, FakeDaemon, idOf, NOW, shown } from "./daemon.ts";

const WIDTHS = [80, 100, 120, 200];
const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();

const ENDPOINTS = [
  ["https://hooks.acme.example/in", "Acme"],
  [
    "https://webhooks.eu-central-1.production.a-customer-with-a-long-name.example/v2/inbound/7f3",
    "東京コーヒー 渋谷店",
  ],
  ["https://xn--bcher-kva.example:8443/événements", "Bücher & Söhne GmbH, Abteilung für Rechnungswesen"],
  ["https://hooks.acme.example/staging/in", "Acme, 스테이징"],
].map(([url, description], n) => ({ ...anEndpoint, id: idOf("ep", n + 1), url: url!, description: description! }));

const CAUSES = [
  { error: "http_status", status_code: 503 },
  { error: "redirect_not_followed", status_code: 302 },
  { error: "timeout", status_code: null },
  { error: "dns_failure", status_code: null },
];
const RESULTS = ["503", "302", "timeout", "dns"];
const TYPE = "subscription.billing_period.renewal_failed";

const groups = CAUSES.map((cause, n) => ({
  ...someFailures.data[0]!,
  ...cause,
  endpoint: ENDPOINTS[n]!.id,
  failed: 12_345 * (4 - n),
  pending: 1_234_567 * n,
  first_at: ago(100_000 * (n + 1)),
  last_at: ago(7 * (n + 1)),
}));
const lastAttempt = (n: number) => ({ ...anAttempt, ...CAUSES[n]!, outcome: "failed" });
const delivery = (n: number) => ({
  ...aWholeDelivery,
  id: idOf("dlv", n + 1),
  event: idOf("evt", n + 1),
  endpoint: ENDPOINTS[n]!.id,
  type: TYPE,
  status: "pending",
  attempts: 3,
  next_attempt_at: ago(-3600 * (n + 1)),
  received_at: ago(86_400 * n),
  last_attempt: lastAttempt(n),
});
const event = (n: number) => ({
  ...anEventSummary,
  id: idOf("evt", n + 1),
  type: TYPE,
  status: "failed",
  received_at: ago(86_400 * n),
  deliveries: [
    { ...anEvent.deliveries[0]!, status: "failed", endpoint: ENDPOINTS[n]!.id, last_attempt: lastAttempt(n) },
  ],
});
const audit = (n: number) => ({
  ...anAuditRecord,
  request_id: `request-${n}`,
  at: ago(60 * (n + 1)),
  action: "endpoint.rotate_secret.complete",
  outcome: "precondition",
  user: "an-operator-with-a-long-name",
  object: ENDPOINTS[n]!.id,
});

const page = (make: (n: number) => unknown) => ({ data: [0, 1, 2, 3].map(make), next_cursor: null });
const INSTEAD = {
  listEvents: page(event),
  listDeliveries: page(delivery),
  listEndpoints: page((n) => ENDPOINTS[n]),
  listFailures: { ...someFailures, data: groups, total: 4 },
  listAudit: page(audit),
  listJobs: { data: [], next_cursor: null },
};

/** Responds with the data of the endpoint that the call names. */
class Daemon extends FakeDaemon {
  override answer(call: Call): unknown {
    const n = ENDPOINTS.findIndex(({ id }) => id === (call.ask.id ?? call.ask.query?.["endpoint"]));
    if (n >= 0 && call.operation === "getEndpoint") {
      const health = { ...aHealth, consecutive_failures: 7, failed: 100, last_failure_at: ago(7) };
      return { ...ENDPOINTS[n], health };
    }
    if (n >= 0 && call.operation === "listFailures") return { ...someFailures, data: [groups[n]], total: 1 };
    return super.answer(call);
  }
}

/** The lists of the tabs, and the one on an endpoint's page. */
type List = Tab | "endpoint";

function open(list: List, columns: number): string[] {
  const tab = list === "endpoint" ? "endpoints" : list;
  const dashboard = new Dashboard({ tab, size: { columns, rows: 24 } });
  Object.assign(dashboard, { daemon: new Daemon({ instead: INSTEAD }) });
  dashboard.connected();
  // Names and health are read a few at a time.
  for (let time = 0; time < 4; time++) dashboard.pass(10);
  if (list === "endpoint") dashboard.press("enter").pass(10);
  return shown(dashboard).split("\n");
}

/** Returns the cells below a head, which end where the next head begins. Positions are columns of the terminal. */
function cellsBelow(lines: readonly string[], head: string): string[] {
  const at = lines.findIndex((line) => new RegExp(`(^| )${head}( |$)`).test(line));
  expect(at, `there is a column ${head}:\n${lines.join("\n")}`).toBeGreaterThan(0);
  const heads = lines[at]!;
  const start = heads.indexOf(head);
  const rest = /^\S+(?: \S+)*? +(?=\S|$)/.exec(heads.slice(start))?.[0] ?? heads.slice(start);
  return lines.slice(at + 1, at + 5).map((line) => within(line, start, start + rest.length).trim());
}

function within(line: string, from: number, to: number): string {
  let [column, text] = [0, ""];
  for (const char of line) {
    if (column >= from && column < to) text += char;
    column += stringWidth(char);
  }
  return text;
}

const CAUSE_TEXTS = CAUSES.map(({ error, status_code }) => causeText(error, status_code));
const ANSWERS: Readonly<Record<List, Readonly<Record<string, readonly string[]>>>> = {
  overview: { CAUSE: CAUSE_TEXTS },
  events: { STATUS: Array<string>(4).fill("✗ failed"), RESULT: RESULTS },
  deliveries: { STATUS: Array<string>(4).fill("↻ retrying"), RESULT: RESULTS },
  endpoints: { STATE: Array<string>(4).fill("✗ failing"), CAUSE: CAUSE_TEXTS },
  endpoint: { STATUS: Array<string>(4).fill("↻ retrying"), RESULT: RESULTS },
  failures: { CAUSE: CAUSE_TEXTS },
  activity: { OUTCOME: Array<string>(4).fill("precondition") },
};

describe.each(Object.keys(ANSWERS) as List[])("%s", (tab) => {
  const screens = WIDTHS.map((columns) => [columns, open(tab, columns)] as const);

  it("looks as it did", async () => {
    const text = screens.map(
      ([columns, lines]) => `--- ${columns}\n${lines.map((line) => line.trimEnd()).join("\n")}\n`,
    );
    await expect(text.join("\n")).toMatchFileSnapshot(`golden/${tab}.txt`);
  });

  it.each(screens)("answers in full at %i columns", (columns, lines) => {
    for (const line of lines) expect(stringWidth(line), line).toBe(columns);
    for (const [head, answers] of Object.entries(ANSWERS[tab])) {
      const cells = cellsBelow(lines, head);
      for (const [n, answer] of answers.entries())
        expect(cells[n]!.startsWith(answer), `${head}: ${cells[n]}`).toBe(true);
    }
  });

  it.each(screens)("tells its rows apart at %i columns", (_, lines) => {
    if (tab === "endpoint") return;
    const names = cellsBelow(lines, tab === "activity" ? "ON" : "ENDPOINT");
    expect(new Set(names).size).toBe(4);
    expect(names[0]).toMatch(/^hooks\.ac/);
  });
});
