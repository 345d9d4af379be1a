/** The pane with the event beside a list, on a wide screen. */
import { expect, it } from "vitest";
import { asked, Dashboard, idOf, shown } from "./daemon.ts";

const WIDE = { columns: 200, rows: 60 };
/** Counts how often an event was read. */
const readings = (dashboard: Dashboard, n: number) =>
  asked(dashboard, "getEvent").filter(({ ask }) => ask.id === idOf("evt", n)).length;

it("is there as soon as the cursor is, whichever way it goes", () => {
  const dashboard = new Dashboard({ size: WIDE }).connected().press("j");
  for (const key of ["j", "j", "j", "k", "j"]) {
    dashboard.pass(100);
    // No later call is answered before the screen is drawn.
    dashboard.answers = false;
    dashboard.press(key);
    expect(shown(dashboard), key).toContain("last answer");
    for (const effect of dashboard.effects.splice(0)) {
      if (effect.do !== "call") continue;
      dashboard.say({ kind: "answered", call: effect.call, answer: dashboard.daemon.answer(effect.call) } as never);
    }
    dashboard.answers = true;
  }
  expect(readings(dashboard, 249)).toBe(1);
  expect(readings(dashboard, 244)).toBe(0);
});

it("is read alone while the list follows, and where there is no room for it not at all", () => {
  const following = new Dashboard({ size: WIDE }).connected().pass(100);
  expect(following.state.tabs.events[0]).toMatchObject({ list: { follow: true } });
  const before = asked(following, "getEvent").length;
  following.pass(100);
  expect(asked(following, "getEvent").length - before).toBeLessThanOrEqual(1);
  const narrow = new Dashboard().connected().press("j").pass(100);
  expect(asked(narrow, "getEvent")).toEqual([]);
});
