/** Every dialog at common widths, with names as long and as wide as they may be. */
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import type { Dialog, Purpose } from "../../tui/model/dialog.ts";
import type { State } from "../../tui/model/state.ts";
import { dialogRows } from "../../tui/screens/dialogs.ts";
import { Dashboard, NOW, type Setup } from "./daemon.ts";
import { KEY } from "../../tui/keys/names.ts";

const TEXTS = { long: "w".repeat(220), wide: "界".repeat(110), mixed: "é👩‍👩‍👧 ".repeat(30) };

type Kind = Exclude<Dialog["kind"], "form"> | Purpose["kind"];
type Steps = (dashboard: Dashboard) => Dashboard;

/** At least one of each kind. If a kind is missing, this does not compile. */
const WAYS: Record<Kind, Readonly<Record<string, Steps>>> = {
  confirm: {
    "a replay": (d) => d.press(KEY.replay),
    "a job to cancel": (d) => d.press("5", "x"),
  },
  choice: { "an endpoint to pause": (d) => d.press("3", "z") },
  add: {
    "an endpoint to add": (d) =>
      d
        .press("3", "a")
        .type(`https://e.example/${"x".repeat(99)}`)
        .press("tab"),
  },
  edit: {
    "an endpoint to edit": (d) => d.press("3", "e").type("/more").press("tab").type(" x"),
    "one with a fault": (d) =>
      d
        .press("3", "e", "tab")
        .type("bugdet")
        .press(...Array<string>(7).fill("enter")),
    "the last field": (d) => d.press("3", "e", "shift+tab"),
    "a filter with a fault": (d) =>
      d.press("3", "e", "tab", "tab").type(`{"data": {"${"x".repeat(99)}": {"$gt": []}}}`),
  },
  rotate: { "a secret to rotate": (d) => d.press("3", "S").press("tab", "enter") },
  delete: { "an endpoint to delete": (d) => d.press("3", "D").type("no").press("enter") },
  resume: { "a job whose canary failed": (d) => d.press("5", "z") },
  pause: { sending: (d) => d.press("B").type("why ".repeat(30)) },
  test: {
    "a test event to one endpoint": (d) => d.press("3", "t"),
    "a test event to one of several": (d) => d.press("t"),
  },
  secret: {
    "a secret": (d) =>
      d
        .press("3", "a")
        .type("https://e.example")
        .press("tab")
        .type("all")
        .press(...Array<string>(7).fill("enter")),
  },
  plan: {
    "a plan": (d) => d.press(KEY.replayMany),
    "a plan with its pace": (d) => d.press(KEY.replayMany, "p"),
    "a canary": (d) => d.press("4", "c"),
    "a plan that is not there yet": (d) => {
      d.answers = false;
      return d.press(KEY.replayMany);
    },
  },
  commands: { "what to type in a shell": (d) => d.press("C") },
};
const CASES = Object.entries(WAYS).flatMap(([kind, ways]) =>
  Object.entries(ways).map(([name, way]) => ({ kind, name, way })),
);

const PLANS = [
  { count: 9, health: { ...aHealth, consecutive_failures: 0 } },
  { count: 13_502, health: { ...aHealth, consecutive_failures: 7, last_failure_at: at(14 * 60_000) } },
  { count: 12_345_678, health: { ...aHealth, consecutive_failures: 7, last_failure_at: at(366 * 86_400_000) } },
];

function at(msAgo: number): string {
  return new Date(NOW - msAgo).toISOString();
}

function openWith({ way, text, columns, health, count }: Case): Dashboard {
  const endpoint = { ...anEndpoint, url: `https://127.0.0.1:22442/${text}`, description: text, health };
  const endpoints = [{ endpoint: anEndpoint.id, matched: count, timed_out: count }];
  const left = [{ endpoint: anEndpoint.id, deliveries: count, reason: "endpoint_disabled" as const }];
  const setup: Setup = {
    size: { columns, rows: 40 },
    text,
    events: 40,
    plan: { matched: count, timed_out: count, endpoints, left_alone: left },
    jobs: [{ status: "paused", paused_reason: `the canary to ${anEndpoint.id} failed: ${text}`, ended_at: null }],
    instead: { getEndpoint: endpoint, listEndpoints: { data: [endpoint], next_cursor: null } },
  };
  return way(new Dashboard(setup).connected());
}

interface Case {
  readonly way: Steps;
  readonly text: string;
  readonly columns: number;
  readonly health: object;
  readonly count: number;
}

function dialogOf({ modes }: State): Dialog {
  const mode = modes.at(-1);
  if (mode?.kind !== "dialog") throw new Error(`no dialog is open but ${mode?.kind}`);
  return mode.dialog;
}

/** Splits a line into parts of one style each. */
function runsOf(line: string): { readonly style: string; readonly text: string }[] {
  return [...line.matchAll(/(?:\x1b\[([1-9][\d;]*)m)?([^\x1b]+)(?:\x1b\[(?:22|27|39)m)*/g)].map(
    ([, style = "", text]) => {
      return { style, text: text! };
    },
  );
}

function bare(line: string): string {
  return line.replaceAll(/\x1b\[[0-9;]*m/g, "");
}

const RULES = /^[─╭╮╰╯│ ]*$/;
/** The cursor stands directly at the text. */
const CURSOR = "7";

function requireApart(line: string): void {
  const runs = runsOf(line).filter(({ text }) => !RULES.test(text));
  for (const [index, { style, text }] of runs.entries()) {
    const before = runs[index - 1];
    if (before === undefined || style === CURSOR || before.style === CURSOR) continue;
    expect(
      /\s$/.test(before.text) || /^\s/.test(text),
      `"${before.text}" and "${text}" collide in:\n${bare(line)}`,
    ).toBe(true);
  }
  // Texts in the same style are one part. All of them contain the host's name, so a collision shows in front of it.
  expect(bare(line)).not.toMatch(/[^\s/("]127\.0\.0\.1/);
}

describe.each([80, 100, 120])("at %i columns", (columns) => {
  it.each(CASES)("nothing overlaps in $name ($kind)", ({ kind, way }) => {
    for (const text of Object.values(TEXTS)) {
      for (const plan of PLANS) {
        const { state } = openWith({ way, text, columns, ...plan });
        const dialog = dialogOf(state);
        expect(dialog.kind === "form" ? dialog.for.kind : dialog.kind).toBe(kind);
        const box = dialogRows(state, dialog);
        for (const line of box) {
          expect(stringWidth(bare(line)), line).toBe(columns);
          expect(bare(line).trim()).toMatch(/^(╭─.*─╮|│ .* │|╰─.*─╯)$/);
          requireApart(line);
        }
        // All of the dialog's keys are visible.
        expect(bare(box.at(-2)!)).not.toContain("…");
        expect(box.map(bare).join("\n")).toMatch(/\bEsc\b/);
      }
    }
  });
});

describe("the table of a plan", () => {
  it.each(PLANS)("has what it says of $count deliveries under its heads", (plan) => {
    const { state } = openWith({ way: (d) => d.press(KEY.replayMany), text: TEXTS.wide, columns: 80, ...plan });
    const rows = dialogRows(state, dialogOf(state)).map(bare);
    const head = rows.find((row) => row.includes("HEALTH"))!;
    const row = rows.find((one) => one.includes("  127.0.0.1:22442/"))!;
    expect(row.indexOf("127.0.0.1")).toBe(head.indexOf("ENDPOINT"));
  });
});
