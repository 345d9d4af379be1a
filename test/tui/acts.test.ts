import { describe, expect, it } from "vitest";
import type { AttemptChange } from "../../src/client/stream.ts";
import type { Call } from "../../tui/model/call.ts";
import { asked, Dashboard, idOf, NOW, shown, type Setup } from "./daemon.ts";

const GONE = { failure: "unreachable", code: "unreachable", message: "gone", hint: "" };

function on(tab: "events" | "deliveries", setup: Setup = {}): Dashboard {
  return new Dashboard({ tab, status: "pending", jobs: [], ...setup }).connected();
}

/** Returns every act that was sent, repeats included. */
function sent({ effects }: Dashboard): Call[] {
  return effects.flatMap((effect) => (effect.do === "call" && effect.call.about.for === "act" ? [effect.call] : []));
}

/** Presses keys and loses the response to the first act that they send. */
function lost(dashboard: Dashboard, ...keys: string[]): Dashboard {
  dashboard.answers = false;
  dashboard.press(...keys);
  return dashboard.say({ kind: "failed", call: sent(dashboard)[0]!, problem: GONE } as never);
}

function attempt(delivery: number, change: Partial<AttemptChange> = {}): never {
  const at = new Date(NOW).toISOString();
  const about = { at, tenant: "default", endpoint: idOf("ep", 1), event: idOf("evt", 250) };
  const answer = { number: 2, outcome: "succeeded", error: null, status_code: 200, duration_ms: 143 };
  const data = { ...about, delivery: idOf("dlv", delivery), status: "delivered", ...answer, next_attempt_at: null };
  return { kind: "attempt", data: { ...data, ...change } } as never;
}

describe("trying now", () => {
  it("asks for the attempt of the delivery under the cursor, and tells what came back", () => {
    const dashboard = on("deliveries").press("n");
    expect(asked(dashboard, "attemptDelivery")).toMatchObject([{ ask: { id: idOf("dlv", 250) } }]);
    dashboard.stream(attempt(7));
    expect(shown(dashboard)).not.toContain("200 in 143 ms");
    dashboard.stream(attempt(250));
    expect(shown(dashboard)).toContain("delivered, 200 in 143 ms");
  });

  it("takes the one delivery of an event", () => {
    expect(asked(on("events").press("n"), "attemptDelivery")).toHaveLength(1);
  });

  it("is not done twice", () => {
    const dashboard = on("deliveries").press("n", "n");
    expect(asked(dashboard, "attemptDelivery")).toHaveLength(1);
    expect(shown(dashboard)).toContain("n is off: this was already requested");
  });

  it.each([
    ["of what does not wait", { status: "delivered" }, "n is off: it has no waiting delivery; it is delivered"],
    ["read-only", { settings: { readOnly: true } }, "n is off: this dashboard is read-only"],
  ])("is off %s", (_, setup, why) => {
    expect(shown(on("deliveries", setup).press("n"))).toContain(why);
  });
});

describe("cancelling", () => {
  it("names what it acts on, and is done by y alone", () => {
    const dashboard = on("deliveries").press("x");
    expect(shown(dashboard)).toContain(idOf("evt", 250));
    expect(shown(dashboard)).toContain("Attempts already made cannot be undone");
    expect(asked(dashboard.press("enter"), "cancelEvent")).toEqual([]);
    dashboard.press("x", "y");
    expect(asked(dashboard, "cancelEvent")).toMatchObject([
      { ask: { id: idOf("evt", 250), body: { endpoint: expect.stringMatching(/^ep_/) as string } } },
    ]);
    expect(shown(dashboard)).toContain("1 cancelled; the event is cancelled");
  });

  it("is off where nothing is left to cancel", () => {
    expect(shown(on("events", { status: "failed" }).press("x"))).toContain("x is off: it has no open delivery");
  });
});

describe("an act that got no answer", () => {
  it("may have been done, where it is refused then: that is said, and where to look", () => {
    const dashboard = lost(on("deliveries", { size: { columns: 200, rows: 24 } }), "n").pass(1000);
    const problem = { failure: "conflict", code: "delivery_settled", message: "it was delivered", hint: "" };
    dashboard.say({ kind: "failed", call: sent(dashboard)[1]!, problem } as never);
    expect(shown(dashboard)).toContain("it was delivered; the answer was lost, but it may have been done");
    expect(shown(dashboard)).toContain("look at the event");
    expect(dashboard.state.acts).toEqual([]);
  });

  it("says nothing of the kind where it was refused at once", () => {
    const dashboard = on("deliveries");
    dashboard.answers = false;
    dashboard.press("n");
    const problem = { failure: "conflict", code: "delivery_settled", message: "it was delivered", hint: "" };
    dashboard.say({ kind: "failed", call: sent(dashboard)[0]!, problem } as never);
    expect(shown(dashboard)).not.toContain("may have been done");
  });
});

it("does not wait for ever for an attempt that nobody sees", () => {
  const dashboard = on("deliveries").press("n").pass(59_000);
  expect(dashboard.state.acts).toHaveLength(1);
  dashboard.pass(1000);
  expect(dashboard.state.acts).toEqual([]);
  expect(shown(dashboard)).toContain("no attempt within a minute; look at the event");
});
