import { describe, expect, it } from "vitest";
import { frameOf } from "../../tui/frame.ts";
import type { Call } from "../../tui/model.ts";
import { Dashboard, NEW_ENDPOINT, SECRET, type Setup } from "./daemon.ts";

function shown({ state }: Dashboard): string {
  return frameOf(state)
    .map((line) => line.replaceAll(/\x1b\[[0-9;]*m/g, ""))
    .join("\n");
}

function onEndpoints(setup: Setup = {}): Dashboard {
  return new Dashboard({ tab: "endpoints", ...setup }).connected();
}

const asked = ({ daemon }: Dashboard, operation: string) => daemon.asked.filter((call) => call.operation === operation);
const dialogs = ({ state }: Dashboard) => state.modes.map((mode) => mode.kind === "dialog" && mode.dialog.kind);

/** Presses keys whose questions stay open, and hands back the last one. */
function withoutAnswer(dashboard: Dashboard, ...keys: string[]): Call {
  dashboard.answers = false;
  dashboard.press(...keys);
  dashboard.answers = true;
  const effect = dashboard.effects.findLast((one) => one.do === "call" && one.call.about.for === "act");
  if (effect?.do !== "call") throw new Error("nothing was asked");
  return effect.call;
}

function refuse(dashboard: Dashboard, call: Call, faults: readonly object[], failure = "usage") {
  const problem = { failure, code: "validation_failed", message: "it does not hold", hint: "", faults };
  return dashboard.say({ kind: "failed", call, problem } as never);
}

describe("adding an endpoint", () => {
  const filled = (dashboard = onEndpoints()) =>
    dashboard.press("a").type("https://hooks.example.net/in").press("enter").type("budget.exceeded").press("enter");

  it("asks for its URL, its event types and a description, and shows its secret", () => {
    const dashboard = filled().type("owner: payments").press("enter");
    expect(asked(dashboard, "registerEndpoint")).toMatchObject([
      {
        ask: {
          body: {
            url: "https://hooks.example.net/in",
            events: ["budget.exceeded"],
            description: "owner: payments",
          },
        },
      },
    ]);
    expect(shown(dashboard)).toContain(SECRET);
    expect(shown(dashboard)).toContain(`added as ${NEW_ENDPOINT}`);
  });

  it("keeps the secret in its box alone, which is left by Esc and by no other key", () => {
    const dashboard = filled().press("enter");
    for (const key of ["enter", "q", "j", "n", "space", "/"]) dashboard.press(key);
    expect(dialogs(dashboard)).toEqual(["secret"]);
    dashboard.press("y");
    expect(dashboard.effects).toContainEqual({ do: "copy", text: SECRET });
    expect(shown(dashboard.press("esc"))).not.toContain(SECRET);
    const text = JSON.stringify(dashboard.state, (_, value: unknown) =>
      value instanceof Map || value instanceof Set ? [...value] : value,
    );
    expect(text).not.toContain(SECRET);
  });

  it("takes what is pasted as one line of the field", () => {
    const dashboard = onEndpoints()
      .press("a")
      .say({ kind: "paste", text: "https://hooks.example.net/in\n" } as never);
    dashboard.press("tab").say({ kind: "paste", text: "budget.exceeded\ntransaction.created" } as never);
    dashboard.press("enter", "enter");
    expect(asked(dashboard, "registerEndpoint")[0]!.ask.body).toMatchObject({
      url: "https://hooks.example.net/in",
      events: ["budget.exceeded", "transaction.created"],
    });
  });

  it("takes a chunk of keys as text, whatever they do elsewhere", () => {
    const dashboard = onEndpoints().press("a");
    dashboard.say({ kind: "keys", keys: [..."https://qr.example"] } as never);
    expect(shown(dashboard)).toContain("https://qr.example");
  });

  it("completes event types from the catalogue, each once", () => {
    const dashboard = onEndpoints().press("a", "tab").type("tr").press("tab");
    expect(shown(dashboard)).toContain("transaction.created  transaction.enriched");
    dashboard.type("e").press("tab").type("tr").press("tab");
    expect(shown(dashboard)).toContain("transaction.enriched transaction.created");
    expect(shown(dashboard.press("tab"))).toContain("for people");
  });

  it("takes all for every type that there is", () => {
    const dashboard = onEndpoints().press("a").type("https://a.example").press("tab").type("all");
    dashboard.press("enter", "enter");
    expect(asked(dashboard, "registerEndpoint")[0]!.ask.body).toMatchObject({
      events: ["budget.exceeded", "transaction.created", "transaction.enriched"],
    });
  });

  it("says at its field what is missing and what there is not, and sends nothing", () => {
    const dashboard = onEndpoints().press("a", "tab").type("budgt.exceeded").press("enter", "enter");
    expect(shown(dashboard)).toContain("Where do the events go?");
    expect(shown(dashboard)).toMatch(/Did you mean.*\n.*budget\.exceeded\?/);
    expect(asked(dashboard, "registerEndpoint")).toEqual([]);
    // The cursor is at the first of them, and typing takes what was said away.
    expect(shown(dashboard.type("https://a.example"))).not.toContain("Where do the events go?");
  });

  it("says at its field what the daemon refused, keeps what was typed, and can be sent again", () => {
    const dashboard = filled();
    const call = withoutAnswer(dashboard, "enter");
    expect(shown(dashboard)).toContain("waiting for the answer");
    refuse(dashboard, call, [{ pointer: "/url", code: "not_https", detail: "must be https" }]);
    expect(shown(dashboard)).toMatch(/URL +https:\/\/hooks\.example\.net\/in *│\n.*must be https/);
    dashboard.type("?a").press("tab", "tab", "enter");
    expect(asked(dashboard, "registerEndpoint")[0]!.ask.body).toMatchObject({ url: "https://hooks.example.net/in?a" });
  });

  it("is sent once, and tells what came of it when its form was left before", () => {
    const dashboard = filled();
    const call = withoutAnswer(dashboard, "enter", "enter", "x", "esc");
    expect(dashboard.state.acts).toHaveLength(1);
    refuse(dashboard, call, [], "not_allowed");
    expect(shown(dashboard)).toContain("it does not hold");
  });

  it("sends nothing while the daemon is away, and keeps what was typed", () => {
    const dashboard = filled();
    const problem = { failure: "unreachable", code: "unreachable", message: "gone", hint: "" };
    dashboard.say({ kind: "lost", problem } as never).press("enter");
    expect(shown(dashboard)).toContain("actions are off until the daemon answers");
    expect(shown(dashboard)).toContain("https://hooks.example.net/in");
    expect(asked(dashboard.connected().press("enter"), "registerEndpoint")).toHaveLength(1);
  });
});

describe("editing an endpoint", () => {
  it("shows what was and what will be, and sends what changed alone", () => {
    const dashboard = onEndpoints().press("e").press("tab").type(" transaction.created").press("tab");
    expect(shown(dashboard)).toMatch(/events +budget\.exceeded *│\n.*becomes budget\.exceeded transaction\.created/);
    dashboard.press("enter");
    expect(asked(dashboard, "changeEndpoint")).toMatchObject([
      { ask: { body: { events: ["budget.exceeded", "transaction.created"] } } },
    ]);
    expect(Object.keys(asked(dashboard, "changeEndpoint")[0]!.ask.body as object)).toEqual(["events"]);
    expect(dialogs(dashboard)).toEqual([]);
  });

  it("sends nothing where nothing is other than before", () => {
    const dashboard = onEndpoints().press("e", "tab", "tab", "enter");
    expect(shown(dashboard)).toContain("Nothing is other than before");
    expect(asked(dashboard, "changeEndpoint")).toEqual([]);
  });

  it("is off without an endpoint, and says so", () => {
    expect(shown(onEndpoints({ endpoints: 0 }).press("e"))).toContain("e is off: no endpoint is selected");
  });
});
