/** A list shows its answer on the screen, however narrow the screen and however long the names. */
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../cli/commands.ts";
import { shortIds } from "../../cli/output/short-id.ts";
import { anAuditRecord } from "../../src/api/daemon/audit.ts";
import { aNode } from "../../src/api/daemon/sending.ts";
import { aKey } from "../../src/api/daemon/keys.ts";
import { anAttempt } from "../../src/api/deliveries/attempts.ts";
import { aWholeDelivery } from "../../src/api/deliveries/deliveries.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { anEventType } from "../../src/api/event-types/schemas.ts";
import { anEventSummary } from "../../src/api/events/schemas.ts";
import { aJob } from "../../src/api/jobs/schemas.ts";
import { someFailures } from "../../src/api/reports/failures.ts";
import type { OperationName } from "../../src/client/operations.ts";
import { describedDaemon } from "./described-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

const WIDTHS = [80, 100, 120, 200];
const WIDE = "株式会社アクメ商事 Über-Zahlungsdienste der Ämter e. V. 🏦".repeat(3);
const URL = `https://hooks.a-very-long-customer-name.payments.example.com/v2/${"inbound/".repeat(12)}`;
const TYPE = "subscription.billing.invoice.payment_reminder_sent";

interface List {
  readonly line: string;
  readonly answers: { readonly [O in OperationName]?: object };
  /** Texts that must be visible at any width, by column. If a text ends in an ellipsis, its beginning is enough. */
  readonly answer: Readonly<Record<string, string>>;
}

const [NODE, HOST] = ["株式会社アクメ商事の配信ノード・東京第一データセンター二号機".repeat(2), "webhookd-".repeat(12)];

const page = (item: object) => ({ data: [item], next_cursor: null });
const last = { ...anAttempt, url: URL, status_code: null, error: "connection_refused" };
const delivery = { ...aWholeDelivery, type: TYPE, status: "delivered", attempts: 12, last_attempt: last };

/** The tenant and description of an endpoint. */
const OWNED = { tenant: "acme".repeat(16), description: WIDE };

const LISTS: readonly List[] = [
  {
    line: "deliveries list",
    answers: { listDeliveries: page(delivery) },
    answer: {
      ID: aWholeDelivery.id.slice(0, 21),
      HOST: "hooks.a-very-lo…",
      STATUS: "delivered",
      LAST: "connection_refused",
    },
  },
  {
    line: "events list",
    answers: { listEvents: page({ ...anEventSummary, type: TYPE, deliveries: [delivery] }) },
    answer: {
      ID: anEventSummary.id.slice(0, 15),
      TYPE: "subscriptio…",
      STATUS: anEventSummary.status,
      LAST: "connection_refused",
    },
  },
  {
    line: "endpoints list",
    answers: {
      listEndpoints: page({ ...anEndpoint, ...OWNED, url: URL, events: [TYPE, TYPE] }),
      getEndpoint: { ...anEndpoint, health: { ...aHealth, consecutive_failures: 1234 } },
    },
    answer: {
      ID: anEndpoint.id.slice(0, 11),
      HEALTH: "failing 1,234x",
      URL: "…",
      TENANT: "acme…",
      DESCRIPTION: "株式会社…",
    },
  },
  {
    line: `attempts list ${anAttempt.endpoint}`,
    answers: { listEndpointAttempts: page({ ...last, detail: WIDE }) },
    answer: { ID: anAttempt.id.slice(0, 23), ANSWER: "connection_refused", DETAIL: "株式…" },
  },
  {
    line: "failures",
    answers: {
      listFailures: {
        ...someFailures,
        data: [{ ...someFailures.data[0], status_code: 302, error: "redirect_not_followed", failed: 1_234_567 }],
      },
      getEndpoint: { ...anEndpoint, ...OWNED, url: URL, health: aHealth },
    },
    answer: {
      FAILED: "1,234,567",
      URL: "hooks.a-very-lo…",
      TENANT: "acme…",
      DESCRIPTION: "株式会社…",
      CAUSE: "302, redirect, not followed",
    },
  },
  {
    line: "types list",
    answers: {
      listEventTypes: page({
        ...anEventType,
        name: TYPE,
        description: WIDE,
        group: WIDE,
        deprecated: true,
        deprecated_at: "2026-11-01T00:00:00.000Z",
      }),
    },
    answer: { TYPE: "subscription.bi…", STATE: "deprecated", DESCRIPTION: "株式…" },
  },
  {
    line: "jobs list",
    answers: { listJobs: page({ ...aJob, matched: 1_234_567, filter: { ...aJob.filter, type: TYPE } }) },
    answer: { ID: aJob.id.slice(0, 12), STATUS: "running", DONE: "120", FAILED: "2" },
  },
  {
    line: "keys list",
    answers: { listKeys: page({ ...aKey, name: WIDE, scopes: ["publish", "read", "manage", "secrets"] }) },
    answer: { ID: aKey.id.slice(0, 12), NAME: "株式会社…", STATE: "valid" },
  },
  {
    line: "audit list",
    answers: {
      listAudit: page({ ...anAuditRecord, user: WIDE, tenant: "a".repeat(64), object: anEndpoint.id }),
      getEndpoint: { ...anEndpoint, url: URL, health: aHealth },
    },
    answer: {
      ACTOR: "株式…",
      ACTION: anAuditRecord.action,
      OUTCOME: anAuditRecord.outcome,
      OBJECT: anEndpoint.id.slice(0, 11),
      HOST: "hooks.a-ver…",
    },
  },
  {
    line: "tenants list",
    answers: { listTenants: page({ name: "t".repeat(64), endpoints: 12_345, published_last_hour: 1_234_567 }) },
    answer: { TENANT: "tttt…", ENDPOINTS: "12,345", "PUBLISHED 1H": "1,234,567" },
  },
  {
    line: "nodes list",
    answers: { listNodes: { data: [{ ...aNode, name: NODE, host: HOST, not_sending: ["no_route"] }] } },
    answer: { NODE: "株式会社…", STATE: "NOT SENDING (no_route)", ENDPOINTS: String(aNode.endpoints), BEHIND: "" },
  },
];

/** Tables that are printed below other output. */
const TABLES: readonly List[] = [
  {
    line: `endpoints show ${anEndpoint.id}`,
    answers: { listEndpointAttempts: page({ ...last, number: 12, detail: WIDE }) },
    answer: { EVENT: anAttempt.event.slice(0, 15), ANSWER: "connection_refused", DETAIL: "株式…" },
  },
  {
    line: "status",
    answers: {
      listFailures: {
        ...someFailures,
        data: [{ ...someFailures.data[0], status_code: 302, error: "redirect_not_followed" }],
      },
      getEndpoint: { ...anEndpoint, url: URL, health: { ...aHealth, consecutive_failures: 1234 } },
    },
    answer: { FAILING: "ep_", URL: "hooks.a-very-lo…", CAUSE: "302, redirect, not followed" },
  },
];

it("has every list of the command line", () => {
  const lists = Object.keys(COMMANDS).filter((name) => name.endsWith(" list"));
  expect(LISTS.map(({ line }) => line.split(" ").slice(0, 2).join(" ")).toSorted()).toEqual(
    [...lists, "failures"].toSorted(),
  );
});

async function shown(list: List, columns: number) {
  const daemon = await describedDaemon({ answers: list.answers });
  const io = new FakeIo({ isTTY: true, columns, env: { LANG: "C.UTF-8" } });
  expect(await webhookd(io, ...list.line.split(" "), "--socket", daemon.socket)).toBe(0);
  const [titles, row] = tableOf(list, io.out);
  return { titles, row, cells: cellsOf(titles, row), notes: io.err };
}

/** Returns the table's titles and its first row. */
function tableOf({ answer }: List, out: string): [titles: string, row: string] {
  const lines = out.split("\n");
  const at = lines.findIndex((line) => Object.keys(answer).every((title) => line.includes(title)));
  expect(at, `a table of ${Object.keys(answer).join(", ")} in:\n${out}`).toBeGreaterThanOrEqual(0);
  return [lines[at]!, lines[at + 1]!];
}

/** Splits the row by the columns of the terminal and not by characters: each cell begins below its title. */
function cellsOf(titles: string, row: string): Map<string, string> {
  const cells = new Map<string, string>();
  const starts = [...titles.matchAll(/\S+(?: \S+)*/g)];
  let at = 0;
  for (const { segment } of new Intl.Segmenter().segment(row)) {
    const title = starts.findLast(({ index }) => index <= at)?.[0] ?? "";
    cells.set(title, (cells.get(title) ?? "") + segment);
    at += stringWidth(segment);
  }
  return new Map([...cells].map(([title, cell]) => [title, cell.trimEnd()]));
}

describe.each([...LISTS, ...TABLES])("$line", (list) => {
  it.each(WIDTHS)("says it in %i columns", async (columns) => {
    const { titles, row, cells, notes } = await shown(list, columns);
    expect([titles, row].filter((line) => stringWidth(line) > columns)).toEqual([]);
    for (const [title, answer] of Object.entries(list.answer)) {
      const cell = cells.get(title);
      const begins = answer.endsWith("…") ? answer.slice(0, -1) : answer;
      expect({ title, cell: cell?.slice(0, begins.length) }).toEqual({ title, cell: begins });
      // A cell is shortened only if the expected text is.
      if (!answer.endsWith("…")) expect({ title, cell }).not.toEqual({ title, cell: expect.stringContaining("…") });
    }
    const left = /columns: (.+)\./.exec(notes)?.[1]?.split(", ") ?? [];
    expect(left.filter((title) => cells.has(title))).toEqual([]);
  });

  it("says all of it in a pipe", async () => {
    const daemon = await describedDaemon({ answers: list.answers });
    const io = new FakeIo();
    await webhookd(io, ...list.line.split(" "), "--socket", daemon.socket);
    const table = tableOf(list, io.out).join("\n");
    expect(table).not.toContain("…");
    expect(io.err).not.toContain("columns");
    for (const id of table.match(/\b(?:ep|evt|dlv|att|job|key)_\w+/g) ?? []) expect(id).toMatch(/_\w{26}$/);
  });
});

it("columns that --fields names stay, whatever the width", async () => {
  const [deliveries] = LISTS;
  const { cells } = await shown(
    { ...deliveries!, answer: {}, line: "deliveries list --fields id,event,endpoint,tenant" },
    80,
  );
  expect([...cells.keys()]).toEqual(["ID", "EVENT", "ENDPOINT", "TENANT"]);
});

describe("a short id", () => {
  const id = (prefix: string, body: string) => `${prefix}_${body.padEnd(26, "0")}`;

  it("is just long enough to be unique on the screen", () => {
    const cells = [id("ep", "01m822h11y"), id("ep", "01m822h1yn"), id("ep", "01m9"), "-"];
    expect(shortIds(cells)).toEqual(["ep_01m822h11", "ep_01m822h1y", "ep_01m900000", "-"]);
  });

  it("has at least what no two share: an event's own number, and the places of its deliveries and attempts", () => {
    expect(shortIds([id("evt", "38g452dnj00fkecx")])).toEqual(["evt_38g452dnj00"]);
    expect(shortIds([id("dlv", "38g452dnj00000005fkecx")])).toEqual(["dlv_38g452dnj00000005"]);
    expect(shortIds([id("att", "38g452dnj0000001001fkecx")])).toEqual(["att_38g452dnj0000001001"]);
  });

  it("stands for one id only, even if rows share it", () => {
    const same = id("ep", "01m822h11y");
    expect(shortIds([same, same])).toEqual(["ep_01m822h1", "ep_01m822h1"]);
  });
});

it("deliveries list says when the next attempt is due, be it in seconds or in hours", async () => {
  const now = new FakeIo().now();
  const inSeconds = [28, 102, 7500].map((seconds, nth) => {
    const next_attempt_at = new Date(now + seconds * 1000).toISOString();
    return { ...delivery, id: `dlv_38gqffkmg0000000${nth}4nvymj2pv`, status: "pending", next_attempt_at };
  });
  const daemon = await describedDaemon({ answers: { listDeliveries: { data: inSeconds, next_cursor: null } } });
  const io = new FakeIo({ isTTY: true, columns: 80 });
  await webhookd(io, "deliveries", "list", "--socket", daemon.socket);
  expect(io.out.match(/\bin \d+\w.*$/gm)).toEqual(["in 28s", "in 1m", "in 2h"]);
});
