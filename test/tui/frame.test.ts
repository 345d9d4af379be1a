import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { frameOf } from "../../tui/frame.ts";
import { TABS } from "../../tui/model/list.ts";
import type { Size } from "../../tui/model/state.ts";
import { Dashboard } from "./daemon.ts";
import { HOSTILE } from "./hostile.ts";
import { KEY } from "../../tui/keys/names.ts";

const SIZES: Size[] = [
  { columns: 60, rows: 12 },
  { columns: 80, rows: 24 },
  { columns: 120, rows: 40 },
  { columns: 200, rows: 60 },
];
/** Keys that lead to every screen, state and dialog. */
const WAYS: Record<string, (dashboard: Dashboard) => Dashboard> = {
  ...Object.fromEntries(TABS.map((tab, index) => [tab, (d: Dashboard) => d.connected().press(String(index + 1))])),
  "an event": (d) => d.connected().press("enter"),
  "an endpoint": (d) => d.connected().press("3", "enter"),
  "a group of failures": (d) => d.connected().press("4", "enter"),
  help: (d) => d.connected().press("?"),
  "a filter that is typed": (d) => d.connected().press("/").type("status:failed"),
  "a filter with a mistake": (d) => d.connected().press("/").type("statsu:failed").press("enter"),
  "a replay to confirm": (d) => d.connected().press(KEY.replay),
  "an endpoint to add": (d) => d.connected().press("3", "a").type("https://e.example/hook").press("tab"),
  "an endpoint to add with faults": (d) =>
    d
      .connected()
      .press("3", "a", "tab")
      .type("bugdet")
      .press(...Array<string>(7).fill("enter")),
  "an endpoint to edit": (d) => d.connected().press("3", "e").type("/more").press("tab").type(" x"),
  "an endpoint to pause": (d) => d.connected().press("3", "z"),
  "a secret to rotate": (d) => d.connected().press("3", "S").press("tab", "enter"),
  "a rotation to end": (d) =>
    d.connected().press("3", "S", "enter").type(anEndpoint.id.slice(-8)).press("enter", "esc", "S"),
  "an endpoint to delete": (d) => d.connected().press("3", "D").type("nothing").press("enter"),
  "a test event to send": (d) => d.connected().press("t"),
  "a test event that came back": (d) => d.connected().press("3", "t", "enter"),
  "a secret": (d) =>
    d
      .connected()
      .press("3", "a")
      .type("https://e.example")
      .press("tab")
      .type("all")
      .press(...Array<string>(7).fill("enter")),
  pausing: (d) => d.connected().press("B").type("why"),
  commands: (d) => d.connected().press("C"),
  "the command of a plan": (d) => d.connected().press("4", KEY.replayMany, "C"),
  "a plan of many": (d) => d.connected().press(KEY.replayMany),
  "a canary": (d) => d.connected().press("4", "c"),
  "before there is an answer": (d) => d,
  reconnecting: (d) => d.connected().say({ kind: "lost", problem: problem("unreachable") } as never),
  "without access": (d) => d.say({ kind: "lost", problem: problem("not_allowed") } as never),
};

function problem(failure: string) {
  return { failure, code: failure, message: "cannot reach the daemon at /run/webhookd.sock", hint: "Is it running?" };
}

/** Removes our own colours. */
function bare(line: string): string {
  return line.replaceAll(/\x1b\[[0-9;]*m/g, "");
}

describe.each(SIZES)("at $columns x $rows", (size) => {
  it.each(Object.keys(WAYS))("%s fills the screen, not more", (way) => {
    for (const look of [
      { color: true, ascii: false },
      { color: false, ascii: false },
      { color: false, ascii: true },
    ]) {
      const lines = frameOf(WAYS[way]!(new Dashboard({ size, settings: { look } })).state);
      expect(lines).toHaveLength(size.rows);
      for (const line of lines) {
        expect(stringWidth(bare(line)), line).toBe(size.columns);
        if (look.ascii) expect(bare(line)).toMatch(/^[\x20-\x7e]*$/);
        // Bold and reverse are used without colours too.
        if (!look.color) expect(line.replaceAll(/\x1b\[(?:1|22|7|27)m/g, "")).not.toContain("\x1b");
      }
    }
  });
});

describe("outside text", () => {
  it.each(HOSTILE.map((text) => [JSON.stringify(text).slice(0, 40), text]))("%s is shown, not obeyed", (_, text) => {
    for (const way of [
      ...TABS,
      "an event",
      "an endpoint",
      "a replay to confirm",
      "a canary",
      "an endpoint to edit",
      "an endpoint to pause",
      "a test event to send",
    ]) {
      const size = { columns: 120, rows: 40 };
      const lines = frameOf(WAYS[way]!(new Dashboard({ size, text, events: 40 })).state);
      expect(lines).toHaveLength(size.rows);
      for (const line of lines) {
        expect(bare(line)).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
        expect(stringWidth(bare(line)), `${way}: ${line}`).toBe(size.columns);
      }
    }
  });
});

describe("a screen", () => {
  it("says what it needs when it is too small", () => {
    const lines = frameOf(new Dashboard({ size: { columns: 50, rows: 10 } }).connected().state);
    expect(lines).toHaveLength(10);
    expect(lines.join("\n")).toContain("60x12");
  });

  it("says which versions do not fit", () => {
    const dashboard = new Dashboard({ settings: { version: "7.0.0" } }).connected();
    expect(frameOf(dashboard.state).join("\n")).toContain("1.0.0, but this is 7.0.0");
    dashboard.press("j");
    expect(dashboard.effects).toContainEqual({ do: "quit", exit: 5 });
  });
});
