import { describe, expect, it } from "vitest";
import { aStatus } from "../../src/api/daemon/status.ts";
import { frameOf } from "../../tui/frame.ts";
import type { Problem } from "../../tui/model/call.ts";
import type { Size } from "../../tui/model/state.ts";
import { here } from "../../tui/state/lists/places.ts";
import { Dashboard, type Setup } from "./daemon.ts";
import { KEY } from "../../tui/keys/names.ts";

const SIZES: Size[] = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 40 },
];

function shown({ state }: Dashboard): string {
  return frameOf(state)
    .map((line) => line.replaceAll(/\x1b\[[0-9;]*m/g, ""))
    .join("\n");
}

function lost(dashboard: Dashboard, problem: Partial<Problem> = {}): Dashboard {
  const gone = { failure: "unreachable", code: "unreachable", message: "nothing is listening there", hint: "" };
  return dashboard.say({ kind: "lost", problem: { ...gone, ...problem } } as never);
}

describe.each(SIZES)("at $columns x $rows", (size) => {
  const open = (setup: Setup = {}) => new Dashboard({ size, ...setup });
  const connects = ({ effects }: Dashboard) => effects.filter((effect) => effect.do === "connect");

  it.each(["events", "deliveries", "endpoints"] as const)(
    "the first run says on %s what to press, and what to type elsewhere",
    (tab) => {
      const dashboard = open({ tab, events: 0, endpoints: 0 }).connected();
      for (const words of ["a   add one", "webhookd listen --register", "webhookd trigger budget.exceeded"]) {
        expect(shown(dashboard)).toContain(words);
      }
      expect(shown(dashboard.press("t"))).toContain("t is off: there is no endpoint to send to; press a to add one");
      expect(shown(dashboard.press("a"))).toContain("Add endpoint");
    },
  );

  it("with an endpoint and no event, t sends the first", () => {
    const dashboard = open({ events: 0 }).connected();
    expect(shown(dashboard)).toContain("t   send a test event to an endpoint");
    expect(shown(dashboard.press("t"))).toContain("Send a test event to ep_");
  });

  it("asks a store without endpoints whether it has one now and then, not with each answer", () => {
    const dashboard = open({ events: 0, endpoints: 0 }).connected();
    const lists = () =>
      dashboard.daemon.asked.filter(({ operation, about }) => operation === "listEndpoints" && about.for === "known");
    dashboard.press("j", "j");
    expect(lists()).toHaveLength(1);
    dashboard.daemon.holds.endpoints = 1;
    expect(shown(dashboard.pass(2000))).toContain("No events yet");
    dashboard.pass(60_000);
    expect(lists()).toHaveLength(2);
  });

  it("an empty filter says what matched nothing, and how to be rid of it", () => {
    const dashboard = open({ events: 0 }).connected().press("/").type("status:failed since:2h").press("enter");
    const said = shown(dashboard).replaceAll(/ +(?:│ *)?\n +/g, " ");
    expect(said).toContain('Nothing matches "status:failed since:2h". Esc clears the filter.');
    dashboard.press("esc");
    expect(here(dashboard.state)).toMatchObject({ list: { filter: "" } });
  });

  it("loading shows the frame at once, and no number that is not known", () => {
    const dashboard = open();
    dashboard.answers = false;
    dashboard.connected();
    expect(shown(dashboard)).toContain("… events  ✓ …");
    expect(shown(dashboard)).toContain("1 EVENTS");
    expect(shown(dashboard)).not.toContain("No event");
    expect(shown(open({ events: 0 }))).toContain("connecting");
  });

  it("reconnecting keeps the rows and says what to type; r tries at once and replays nothing", () => {
    const dashboard = lost(open().connected());
    for (const words of ["RECONNECTING", "nothing is listening there", "systemctl status webhookd", "r  try now"]) {
      expect(shown(dashboard)).toContain(words);
    }
    expect(shown(dashboard)).toContain("…00000250");
    dashboard.press("r");
    expect(connects(dashboard)).toHaveLength(1);
    expect(dashboard.state.modes).toEqual([]);
    lost(dashboard).press("esc", KEY.replay);
    expect(connects(dashboard)).toHaveLength(1);
    expect(shown(dashboard)).toContain(`${KEY.replay} is off: actions are off until the daemon answers`);
  });

  it("a wrong key is said with what the daemon said, is not tried again by itself, and by r is", () => {
    const problem = {
      failure: "not_allowed",
      code: "unauthorized",
      message: "the key is not known",
      hint: "See keys.",
    };
    const dashboard = lost(open(), problem).pass(60_000);
    for (const words of ["NO ACCESS", "the key is not known", "See keys.", "--key-file FILE", "r  try again"]) {
      expect(shown(dashboard)).toContain(words);
    }
    expect(connects(dashboard)).toEqual([]);
    expect(connects(dashboard.press("r"))).toHaveLength(1);
  });

  it("versions that do not fit are both named, and any key quits with 5", () => {
    const dashboard = open({ settings: { version: "7.0.0" } }).connected();
    expect(shown(dashboard)).toContain(`The daemon is webhookd ${aStatus.version}, but this is 7.0.0`);
    expect(dashboard.press("j").effects).toContainEqual({ do: "quit", exit: 5 });
  });

  it("a stream that is behind says by how much", () => {
    const dashboard = open().connected();
    const news = (secondsAgo: number) => {
      const at = new Date(dashboard.now - secondsAgo * 1000).toISOString();
      dashboard.stream({ kind: "endpoint", data: { at, tenant: "default", endpoint: "ep_1" } });
    };
    news(0);
    expect(shown(dashboard)).not.toContain("LAG");
    news(3.2);
    expect(shown(dashboard)).toContain("LAG 3.2 s");
  });

  it("a list that cannot be read says why, and the others live on", () => {
    const dashboard = open();
    dashboard.answers = false;
    dashboard.connected();
    const call = dashboard.effects.find((one) => one.do === "call" && one.call.operation === "listEvents");
    const problem = { failure: "refused", code: "x", message: "the store is busy", hint: "" };
    dashboard.answers = true;
    dashboard.say({ kind: "failed", call: (call as unknown as { call: never }).call, problem } as never);
    expect(shown(dashboard)).toContain("the store is busy");
    expect(shown(dashboard.press("3"))).toContain("example.com");
  });

  it("looks the same in ASCII and without colours, but for the glyphs", () => {
    for (const look of [
      { color: false, ascii: true },
      { color: false, ascii: false },
    ]) {
      const lines = frameOf(lost(open({ settings: { look } }).connected()).state);
      expect(lines.join("")).not.toMatch(/\x1b\[3\d/);
      if (look.ascii)
        expect(lines.map((line) => line.replaceAll(/\x1b\[(?:1|22|7|27)m/g, "")).join("")).toMatch(/^[ -~]*$/);
      expect(lines.join("")).toContain("RECONNECTING");
    }
  });
});

it("a terminal that is too small says so, and shows the dashboard again once it is not", () => {
  const dashboard = new Dashboard({ size: { columns: 59, rows: 12 } }).connected();
  expect(shown(dashboard)).toContain("webhookd needs 60x12");
  dashboard.say({ kind: "size", size: { columns: 60, rows: 12 } } as never);
  expect(shown(dashboard)).toContain("1 EVENTS");
});
