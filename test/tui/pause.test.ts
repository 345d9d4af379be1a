import { expect, it } from "vitest";
import { aStatus } from "../../src/api/daemon/status.ts";
import { asked, Dashboard, shown, type Setup } from "./daemon.ts";

const PAUSED = { reason: "bank maintenance", by: "key_ops", at: "2026-11-20T09:00:00.000Z" };
const on = (setup: Setup = {}) => new Dashboard({ jobs: [], ...setup }).connected();
const paused = () => on({ instead: { getStatus: { ...aStatus, paused: PAUSED } } });

it.each(["1", "2", "3", "4", "5"])("begins on screen %s with a reason, and shown everywhere from then on", (tab) => {
  const dashboard = on().press(tab, "B");
  expect(shown(dashboard)).toContain("Events are still accepted");
  dashboard.press("enter");
  expect(shown(dashboard)).toContain("The next person must know");
  dashboard.type("bank is down").press("enter");
  expect(asked(dashboard, "pauseDaemon")).toMatchObject([{ ask: { body: { reason: "bank is down" } } }]);
  for (const other of ["1", "2", "3", "4", "5"])
    expect(shown(dashboard.press(other))).toContain("SENDING PAUSED, B resumes");
});

it("is not begun by Esc, nor by keys that come in one chunk", () => {
  const dashboard = on().press("B").type("why").press("esc");
  dashboard.say({ kind: "keys", keys: ["B", "x", "enter"] } as never);
  expect(asked(dashboard, "pauseDaemon")).toEqual([]);
});

it("says who paused it and why, and is ended by y alone", () => {
  const dashboard = paused().press("B");
  expect(shown(dashboard)).toContain("by key_ops");
  expect(shown(dashboard)).toContain("bank maintenance");
  expect(asked(dashboard.press("enter"), "resumeDaemon")).toEqual([]);
  dashboard.press("B", "y");
  expect(asked(dashboard, "resumeDaemon")).toHaveLength(1);
  expect(shown(dashboard)).not.toContain("SENDING PAUSED");
  expect(shown(dashboard)).toContain("attempts start again");
});

it("is off in a read-only dashboard, which shows it all the same", () => {
  const instead = { getStatus: { ...aStatus, paused: PAUSED } };
  const dashboard = on({ instead, settings: { readOnly: true } }).press("B");
  expect(shown(dashboard)).toContain("B is off: this dashboard is read-only");
  expect(shown(dashboard)).toContain("SENDING PAUSED");
});

it.each([80, 100, 120])(
  "troubles of the daemon's own are in the header at %i columns, with their reason",
  (columns) => {
    const detail = "no DNS resolver could be reached";
    const halt = { reason: "unreachable", since: PAUSED.at, detail } as const;
    const [header] = shown(
      on({ instead: { getStatus: { ...aStatus, not_sending: [halt] } }, size: { columns, rows: 24 } }),
    ).split("\n");
    expect(header).toContain(`CANNOT SEND: ${detail.slice(0, 20)}`);
    expect(header).toContain("live");
    expect(shown(paused())).not.toContain("CANNOT SEND");
  },
);
