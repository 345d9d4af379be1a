import { describe, expect, it } from "vitest";
import type { Call } from "../../tui/model/call.ts";
import { here } from "../../tui/state/lists/places.ts";
import { asked, Dashboard, NOW, shown, type Setup } from "./daemon.ts";
import { KEY } from "../../tui/keys/names.ts";

const TWO_HOURS_AGO = new Date(NOW - 2 * 3_600_000).toISOString();
const NONE = { data: [], next_cursor: null };

function open(tab: "events" | "deliveries", instead: Setup["instead"] = {}): Dashboard {
  return new Dashboard({ tab, jobs: [], instead }).connected();
}

describe("a search of what events say", () => {
  it("goes on until the screen is full or all is seen, and says how far it is", () => {
    const dashboard = open("events").press("/").type('data.customer_id:cus_123 data.name:"a b"');
    const found = open("events").daemon.answer({ operation: "listEvents", ask: { query: { limit: 1 } } } as never);
    dashboard.answers = false;
    dashboard.press("enter");
    const answer = (answer: object) => {
      const effect = dashboard.effects.findLast((one) => one.do === "call" && one.call.about.for === "page");
      const { call } = effect as { call: Call };
      dashboard.say({ kind: "answered", call, answer } as never);
      return call.ask.query;
    };
    const query = answer({ data: [], next_cursor: "2", searched: { events: 612_000, until: TWO_HOURS_AGO } });
    expect(query).toMatchObject({ data: 'customer_id:cus_123 name:"a b"' });
    // Counting the matches would cost as much as the search.
    expect(query).not.toHaveProperty("total");
    expect(shown(dashboard)).toContain("Nothing so far, searched 612k events, as far as 2h ago, still looking…");
    const next = answer({ ...(found as object), next_cursor: null, searched: { events: 88_000, until: null } });
    expect(next).toMatchObject({ cursor: "2", data: 'customer_id:cus_123 name:"a b"' });
    expect(shown(dashboard)).toMatch(/^ 1 of 1, searched 700k events +\/ data\.customer_id:cus_123/m);
    expect(shown(dashboard.press(KEY.replayMany))).toContain(
      `${KEY.replayMany} is off: a job cannot select by event data`,
    );
  });

  it("says so when there is nothing, and is completed", () => {
    const dashboard = open("deliveries", { listDeliveries: { ...NONE, searched: { events: 7, until: null } } });
    dashboard.press("/").type("data.a:b").press("enter");
    expect(shown(dashboard)).toContain('Nothing matches "data.a:b" (searched 7 events). Esc clears the filter.');
    dashboard.press("esc", "/").type("dat").press("tab");
    expect(shown(dashboard)).toMatch(/^ \/ data\. *$/m);
  });
});

describe("a word by itself", () => {
  it("is what its publisher calls an event, where no endpoint has it", () => {
    const dashboard = open("deliveries", { listEndpoints: NONE }).press("/").type("order-1042").press("enter");
    expect(asked(dashboard, "listEndpoints").at(-1)!.ask.query).toMatchObject({ match: "order-1042" });
    expect(here(dashboard.state)).toMatchObject({ kind: "events", list: { filter: "order-1042" } });
    expect(asked(dashboard, "listEvents").at(-1)!.ask.query).toMatchObject({ label: "order-1042" });
    expect(shown(dashboard.press(KEY.replayMany))).toContain(
      `${KEY.replayMany} is off: a job cannot select by tag or publisher_id`,
    );
  });

  it("stands alone on lists of events", () => {
    const dashboard = open("events").press("/").type("acme status:failed").press("enter");
    expect(shown(dashboard)).toContain("A bare word finds an endpoint: find it first, then filter on its page.");
  });
});

it("Enter does not say that there is nothing where a list is still being read", () => {
  const dashboard = open("events");
  dashboard.answers = false;
  dashboard.press("/").type("type:goal.achieved").press("enter", "enter");
  expect(shown(dashboard)).toContain("Enter is off: the list is still being read");
  const empty = open("events", { listEvents: NONE });
  expect(shown(empty.press("enter"))).toContain("Enter is off: there is nothing to open");
});
