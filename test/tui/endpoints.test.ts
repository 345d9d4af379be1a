import { describe, expect, it } from "vitest";
import { anAttempt } from "../../src/api/deliveries/attempts.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { anEventType } from "../../src/api/event-types/schemas.ts";
import { anEvent, anEventSummary } from "../../src/api/events/schemas.ts";
import { frameOf } from "../../tui/frame.ts";
import type { Call } from "../../tui/model/call.ts";
import { Dashboard, idOf, NEW_ENDPOINT, SECRET, type Setup } from "./daemon.ts";

function shown({ state }: Dashboard): string {
  return frameOf(state)
    .map((line) => line.replaceAll(/\x1b\[[0-9;]*m/g, ""))
    .join("\n");
}

function onEndpoints(setup: Setup = {}): Dashboard {
  return new Dashboard({ tab: "endpoints", ...setup }).connected();
}

/** The keys that pass by the choices at the end of the form of an endpoint. */
const PASS = ["tab", "tab", "tab"] as const;

const asked = ({ daemon }: Dashboard, operation: string) => daemon.asked.filter((call) => call.operation === operation);
const dialogs = ({ state }: Dashboard) => state.modes.map((mode) => mode.kind === "dialog" && mode.dialog.kind);

/** True if the text is anywhere in the state. */
function holds({ state }: Dashboard, text: string): boolean {
  const flat = JSON.stringify(state, (_, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...value] : value,
  );
  return flat.includes(text);
}

/** Presses keys whose calls stay unanswered, and returns the last call. */
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
  /** From the field for the filter on, everything is left as it is. */
  const SEND = ["enter", "enter", ...PASS, "enter"] as const;

  it("asks for its URL, its event types and a description, and shows its secret", () => {
    const dashboard = filled()
      .press("enter")
      .type("owner: payments")
      .press("enter", ...PASS, "enter");
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
    const dashboard = filled().press(...SEND);
    for (const key of ["enter", "q", "j", "n", "space", "/"]) dashboard.press(key);
    expect(dialogs(dashboard)).toEqual(["secret"]);
    dashboard.press("y");
    expect(dashboard.effects).toContainEqual({ do: "copy", text: SECRET });
    expect(shown(dashboard.press("esc"))).not.toContain(SECRET);
    expect(holds(dashboard, SECRET)).toBe(false);
  });

  it("takes what is pasted as one line of the field", () => {
    const dashboard = onEndpoints()
      .press("a")
      .say({ kind: "paste", text: "https://hooks.example.net/in\n" } as never);
    dashboard.press("tab").say({ kind: "paste", text: "budget.exceeded\ntransaction.created" } as never);
    dashboard.press("enter", ...SEND);
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
    expect(shown(dashboard.press("tab"))).toContain("JSON such as");
  });

  it("takes all for every type that there is", () => {
    const dashboard = onEndpoints().press("a").type("https://a.example").press("tab").type("all");
    dashboard.press("enter", ...SEND);
    expect(asked(dashboard, "registerEndpoint")[0]!.ask.body).toMatchObject({
      events: ["budget.exceeded", "transaction.created", "transaction.enriched"],
    });
  });

  it("says at its field what is missing and what there is not, and sends nothing", () => {
    const dashboard = onEndpoints()
      .press("a", "tab")
      .type("budgt.exceeded")
      .press("enter", ...SEND);
    expect(shown(dashboard)).toContain("Where should the events go?");
    expect(shown(dashboard)).toMatch(/Did you mean.*\n.*budget\.exceeded\?/);
    expect(asked(dashboard, "registerEndpoint")).toEqual([]);
    // The cursor is at the first of the two fields, and typing removes its message.
    expect(shown(dashboard.type("https://a.example"))).not.toContain("Where should the events go?");
  });

  it("says at its field what the daemon refused, keeps what was typed, and can be sent again", () => {
    const dashboard = filled();
    const call = withoutAnswer(dashboard, ...SEND);
    expect(shown(dashboard)).toContain("waiting for the answer");
    refuse(dashboard, call, [{ pointer: "/url", code: "not_https", detail: "must be https" }]);
    expect(shown(dashboard)).toMatch(/URL +https:\/\/hooks\.example\.net\/in *│\n.*must be https/);
    dashboard.type("?a").press("tab", "tab", "tab", "tab", ...PASS, "enter");
    expect(asked(dashboard, "registerEndpoint")[0]!.ask.body).toMatchObject({ url: "https://hooks.example.net/in?a" });
  });

  it("is sent once, and tells what came of it when its form was left before", () => {
    const dashboard = filled();
    const call = withoutAnswer(dashboard, ...SEND, "enter", "x", "esc");
    expect(dashboard.state.acts).toHaveLength(1);
    refuse(dashboard, call, [], "not_allowed");
    expect(shown(dashboard)).toContain("it does not hold");
  });

  it("sends nothing while the daemon is away, and keeps what was typed", () => {
    const dashboard = filled();
    const problem = { failure: "unreachable", code: "unreachable", message: "gone", hint: "" };
    dashboard.say({ kind: "lost", problem } as never).press(...SEND);
    expect(shown(dashboard)).toContain("actions are off until the daemon answers");
    expect(shown(dashboard)).toContain("https://hooks.example.net/in");
    expect(asked(dashboard.connected().press("enter"), "registerEndpoint")).toHaveLength(1);
  });
});

describe("editing an endpoint", () => {
  it("shows what was and what will be, and sends what changed alone", () => {
    const dashboard = onEndpoints().press("e").press("tab").type(" transaction.created").press("tab", "tab", "tab");
    expect(shown(dashboard)).toMatch(/events +budget\.exceeded *│\n.*becomes budget\.exceeded transaction\.created/);
    dashboard.press(...PASS, "enter");
    expect(asked(dashboard, "changeEndpoint")).toMatchObject([
      { ask: { body: { events: ["budget.exceeded", "transaction.created"] } } },
    ]);
    expect(Object.keys(asked(dashboard, "changeEndpoint")[0]!.ask.body as object)).toEqual(["events"]);
    expect(dialogs(dashboard)).toEqual([]);
  });

  it("sets a filter and signatures, and sends them as they are", () => {
    const dashboard = onEndpoints().press("e", "tab", "tab").type('{"data": {"amount": {"$gt": 1000}}}');
    expect(shown(dashboard)).toContain("It can be read.");
    dashboard.press("tab", "tab", "down");
    expect(shown(dashboard)).toMatch(/filter +- *│\n.*becomes \{"data":\{"amount":\{"\$gt":1000\}\}\}/);
    expect(shown(dashboard)).toMatch(/signatures +hmac *│\n.*becomes hmac ed25519/);
    dashboard.press(...PASS, "enter");
    expect(asked(dashboard, "changeEndpoint")[0]!.ask.body).toEqual({
      filter: { data: { amount: { $gt: 1000 } } },
      signatures: ["hmac", "ed25519"],
    });
  });

  it("sets the format and the order with Up and Down, and shows both changes on a low screen too", () => {
    const dashboard = onEndpoints().press("e", "tab", "tab", "tab", "tab", "tab", "down", "tab", "down", "tab");
    expect(shown(dashboard)).toMatch(/format +envelope *│\n.*becomes cloudevents/);
    expect(shown(dashboard.press("down"))).toMatch(/after_failure +continue *│\n.*becomes hold/);
    dashboard.press("enter");
    const body = { format: "cloudevents", ordering: "by_key", after_failure: "hold" };
    expect(asked(dashboard, "changeEndpoint")[0]!.ask.body).toEqual(body);
  });

  it("removes a filter that is emptied", () => {
    const filter = { data: { currency: "EUR" } };
    const instead = { listEndpoints: { data: [{ ...anEndpoint, filter }], next_cursor: null } };
    const dashboard = onEndpoints({ instead }).press("e", "tab", "tab");
    expect(shown(dashboard)).toContain('Filter        {"data":{"currency":"EUR"}}');
    dashboard.press("ctrl+u", "tab", "tab", ...PASS, "enter");
    expect(asked(dashboard, "changeEndpoint")[0]!.ask.body).toEqual({ filter: null });
  });

  it("says at the field of the filter what is wrong with it, and where, and sends nothing", () => {
    const dashboard = onEndpoints().press("e", "tab", "tab").type('{"data": {"amount": ');
    expect(shown(dashboard)).toContain("This is not JSON yet");
    dashboard.type('{"$gte2": 5}}}');
    expect(shown(dashboard)).toMatch(
      /\/data\/amount\/\$gte2 is not an operator; did\s+│?\s*│? *you mean \$gte\?|did you mean \$gte\?/,
    );
    dashboard.press("tab", "tab", ...PASS, "enter");
    expect(shown(dashboard)).toContain("/data/amount/$gte2 is not an operator");
    expect(asked(dashboard, "changeEndpoint")).toEqual([]);
  });

  it("says at the field of the filter what the daemon refused", () => {
    const dashboard = onEndpoints().press("e", "tab", "tab").type('{"tags": "vip"}').press("tab", "tab");
    const call = withoutAnswer(dashboard, ...PASS, "enter");
    refuse(dashboard, call, [{ pointer: "/filter/tags", code: "invalid_filter", detail: "is not for you" }]);
    expect(shown(dashboard)).toContain("/tags is not for you");
  });

  it("says what a pattern matches today, and marks types that are on their way out", () => {
    const life = { deprecated: true, deprecated_at: "2026-11-20T09:00:00.000Z" };
    const types = [anEventType, { ...anEventType, name: "goal.achieved", ...life }];
    const instead = { listEventTypes: { data: types, next_cursor: null } };
    const dashboard = onEndpoints({ instead }).press("a", "tab").type("transaction.*");
    expect(shown(dashboard)).toContain("transaction.* matches today: transaction.enriched");
    expect(shown(dashboard.type(" "))).toContain("goal.achieved (deprecated)");
    expect(shown(dashboard.type("goal.achieved "))).toContain("goal.achieved is deprecated since 2026-11-20");
  });

  it("shows the field that gets the keys on a screen that is too low for all of them", () => {
    const dashboard = onEndpoints({ size: { columns: 60, rows: 12 } }).press("e");
    const choices = ["Signatures", "Format", "Ordering", "After failure"];
    for (const label of ["URL", "Event types", "Filter", "Description", ...choices]) {
      expect(shown(dashboard), label).toContain(`│ ${label} `);
      dashboard.press("tab");
    }
  });

  it("sends nothing where nothing is other than before", () => {
    const dashboard = onEndpoints().press("e", "tab", "tab", "tab", "tab", ...PASS, "enter");
    expect(shown(dashboard)).toContain("Nothing has changed");
    expect(asked(dashboard, "changeEndpoint")).toEqual([]);
  });

  it("is off without an endpoint, and says so", () => {
    expect(shown(onEndpoints({ endpoints: 0 }).press("e"))).toContain("e is off: no endpoint is selected");
  });

  it("is seen in the list even if the stream only counted the change", () => {
    const dashboard = onEndpoints().pass(6000);
    const before = asked(dashboard, "listEndpoints").length;
    const what = { kind: "endpoint", status: null, outcome: null, error: null } as const;
    const counted = { ...what, tenant: "default", endpoint: anEndpoint.id, count: 1 };
    dashboard.stream({ kind: "counts", data: { data: [counted] } }).pass(250);
    expect(asked(dashboard, "listEndpoints").length).toBe(before + 1);
  });
});

const TAIL = anEndpoint.id.slice(-8);

describe("pausing an endpoint", () => {
  it.each([
    ["h", "hold"],
    ["s", "skip"],
  ])("by %s names what waits, and is done: %s", (key, when) => {
    const dashboard = onEndpoints().press("z");
    expect(shown(dashboard)).toContain(`Disable ${anEndpoint.id}`);
    expect(shown(dashboard)).toContain("2 deliveries are waiting for it, and will be held until it is enabled.");
    dashboard.press("enter", "y");
    expect(asked(dashboard, "changeEndpoint")).toEqual([]);
    dashboard.press(key);
    expect(asked(dashboard, "changeEndpoint")).toMatchObject([
      { ask: { id: anEndpoint.id, body: { enabled: false, when_disabled: when } } },
    ]);
    expect(shown(dashboard)).toContain("nothing more is sent to it");
  });

  it("works from the delivery and the cause of failures under the cursor", () => {
    for (const tab of ["deliveries", "failures"] as const) {
      const dashboard = new Dashboard({ tab }).connected().press("z");
      expect(dialogs(dashboard)).toEqual(["choice"]);
      expect(shown(dashboard)).toMatch(/Disable ep_/);
      expect(shown(dashboard)).toContain("2 deliveries are waiting for it, and will be held");
    }
  });

  it("acts on the endpoint it was asked for, whatever the list does", () => {
    const dashboard = onEndpoints().press("z");
    dashboard.daemon.holds.instead = {
      ...dashboard.daemon.holds.instead,
      listEndpoints: { data: [], next_cursor: null },
    };
    dashboard.stream({ kind: "endpoint", data: { at: new Date(dashboard.now).toISOString() } } as never).pass(6000);
    expect(asked(dashboard.press("h"), "changeEndpoint")[0]!.ask.id).toBe(anEndpoint.id);
  });
});

describe("freeing a held key", () => {
  const held_keys = { count: 3, since: "2026-11-20T08:00:00.000Z", ordering_key: "order_7", event: idOf("evt", 7) };
  const holding = () => onEndpoints({ instead: { getEndpoint: { ...anEndpoint, health: { ...aHealth, held_keys } } } });

  it.each([
    ["r", "replayEvent"],
    ["x", "cancelEvent"],
  ])("with %s acts on the failed event that holds it, at this endpoint: %s", (key, operation) => {
    const dashboard = holding();
    expect(shown(dashboard)).toContain("3 keys held");
    dashboard.press("H");
    expect(shown(dashboard)).toContain("Nothing of the key order_7 is sent");
    expect(shown(dashboard)).toContain("2 more are held");
    dashboard.press(key);
    expect(asked(dashboard, operation)).toMatchObject([
      { ask: { id: held_keys.event, body: { endpoint: anEndpoint.id } } },
    ]);
  });

  it("is offered on the endpoint's page, which names the key and the event", () => {
    const dashboard = holding().press("enter");
    expect(shown(dashboard)).toMatch(/held keys 3, the oldest is order_7, for .*; H frees it; evt_/);
  });

  it("is refused where none is held", () => {
    const dashboard = onEndpoints().press("H");
    expect(dialogs(dashboard)).not.toContain("choice");
    expect(shown(dashboard)).toContain("no key is held");
  });
});

describe("enabling an endpoint", () => {
  it("says how much will go out, and sends it", () => {
    const setup = onEndpoints();
    const off = { ...anEndpoint, enabled: false };
    setup.daemon.holds.instead = { ...setup.daemon.holds.instead, listEndpoints: { data: [off], next_cursor: null } };
    setup.daemon.holds.instead = {
      ...setup.daemon.holds.instead,
      getEndpoint: { ...off, health: { ...aHealth, pending: 0, held: 31 } },
    };
    const dashboard = setup.press("ctrl+r").pass(6000);
    dashboard
      .stream({ kind: "endpoint", data: { at: "", endpoint: anEndpoint.id } } as never)
      .pass(6000)
      .press("z");
    expect(shown(dashboard)).toContain("31 deliveries are waiting for it, and will be sent now, slowly at first.");
    expect(asked(dashboard.press("y"), "changeEndpoint")).toMatchObject([
      { ask: { id: anEndpoint.id, body: { enabled: true, held: "release" } } },
    ]);
  });
});

describe("rotating a secret", () => {
  const rotated = (typed = TAIL) => onEndpoints().press("S", "enter").type(typed).press("enter");

  it("asks for the overlap and for what is meant, and shows the next one in its box alone", () => {
    const dashboard = rotated();
    expect(asked(dashboard, "rotateSecret")).toMatchObject([
      { ask: { id: anEndpoint.id, body: { overlap_seconds: 86_400 } } },
    ]);
    expect(shown(dashboard)).toContain(SECRET);
    expect(shown(dashboard)).toContain("To print it again: webhookd endpoints secret");
    expect(shown(dashboard)).not.toContain("cannot be shown again");
    dashboard.press("esc");
    expect(holds(dashboard, SECRET)).toBe(false);
    expect(shown(dashboard)).toContain("the next secret takes over at 2026-11-21T09:55:00.000Z");
  });

  it("sends nothing for another name or an overlap that there is not", () => {
    const dashboard = onEndpoints().press("S", "ctrl+u").type("8d").press("enter").type("wrong").press("enter");
    expect(shown(dashboard)).toContain("up to 7d");
    expect(shown(dashboard)).toContain("That does not match");
    expect(asked(dashboard, "rotateSecret")).toEqual([]);
  });

  it("is completed or abandoned by the same key while it is under way", () => {
    for (const [key, operation] of [
      ["c", "completeRotation"],
      ["a", "abandonRotation"],
    ] as const) {
      const dashboard = rotated().press("esc", "S");
      expect(shown(dashboard)).toContain("2026-11-21T09:55:00.000Z");
      expect(asked(dashboard.press(key), operation)).toMatchObject([{ ask: { id: anEndpoint.id } }]);
      expect(holds(dashboard, SECRET)).toBe(false);
      expect(dialogs(dashboard.press("S"))).toEqual(["form"]);
    }
  });

  it("shows and ends a rotation that somebody else began", () => {
    const at = "2026-11-22T09:55:00.000Z";
    const rotating = { ...anEndpoint, secret_switches_at: at };
    const instead = {
      listEndpoints: { data: [rotating], next_cursor: null },
      getEndpoint: { ...rotating, health: aHealth },
    };
    const dashboard = onEndpoints({ instead }).press("S");
    expect(shown(dashboard)).toContain(at);
    expect(asked(dashboard.press("c"), "completeRotation")).toHaveLength(1);
  });

  it("is not forgotten for what was asked before it began and is answered after", () => {
    const dashboard = onEndpoints();
    dashboard.answers = false;
    dashboard.press("ctrl+r");
    const questions = dashboard.effects.flatMap((effect) => (effect.do === "call" ? [effect.call] : []));
    const late = questions.findLast(({ operation }) => operation === "listEndpoints")!;
    const answer = dashboard.daemon.answer(late);
    dashboard.answers = true;
    dashboard.pass(1).press("S", "enter").type(TAIL).press("enter");
    // If the endpoint were read again, this fake daemon would not know of the rotation.
    dashboard.answers = false;
    dashboard.say({ kind: "answered", call: late, answer } as never);
    expect(shown(dashboard.press("esc", "S"))).toContain("complete: the next secret takes over now");
  });

  it("is not forgotten when the stream tells of it, before the endpoint is read anew", () => {
    const dashboard = rotated().press("esc");
    dashboard.answers = false;
    dashboard.stream({ kind: "endpoint", data: { at: "", tenant: "default", endpoint: anEndpoint.id } });
    expect(shown(dashboard.press("S"))).toContain("complete: the next secret takes over now");
  });

  it("offers to end one that began since the endpoint was read", () => {
    const dashboard = onEndpoints().press("S", "enter").type(TAIL);
    const call = withoutAnswer(dashboard, "enter");
    const problem = { failure: "conflict", code: "rotation_in_progress", message: "not yet", hint: "" };
    dashboard.say({ kind: "failed", call, problem } as never);
    expect(shown(dashboard)).toContain("complete: the next secret takes over now");
    expect(asked(dashboard.press("a"), "abandonRotation")).toHaveLength(1);
  });
});

describe("deleting an endpoint", () => {
  it.each([TAIL, anEndpoint.id, "example.com/plain", "https://example.com/plain"])(
    "is done once %s is typed",
    (typed) => {
      const dashboard = onEndpoints().press("D");
      expect(shown(dashboard)).toContain(`Delete ${anEndpoint.id}`);
      expect(shown(dashboard)).toContain("2 deliveries are waiting for it, and will be cancelled.");
      expect(asked(dashboard.press("enter", "y"), "deleteEndpoint")).toEqual([]);
      dashboard.press("ctrl+u").type(typed).press("enter");
      expect(asked(dashboard, "deleteEndpoint")).toMatchObject([{ ask: { id: anEndpoint.id } }]);
      expect(shown(dashboard)).toContain("its past deliveries stay listed");
    },
  );
});

describe("a test event", () => {
  it("goes to the endpoint under the cursor with a type of it, and says what came back", () => {
    const dashboard = onEndpoints().press("t");
    expect(shown(dashboard)).toMatch(/Event type +budget\.exceeded/);
    dashboard.press("enter");
    expect(asked(dashboard, "sendTestEvent")).toMatchObject([
      { ask: { id: anEndpoint.id, query: { wait: true }, body: { type: "budget.exceeded" } } },
    ]);
    expect(shown(dashboard)).toMatch(/test ep_…\w+: 503 in [\d.]+ m?s: plain/);
    expect(shown(dashboard)).toContain(`Test event to ${anEndpoint.id}`);
    expect(dialogs(dashboard.press("esc"))).toEqual([]);
  });

  it("says the status and the time of a success", () => {
    const dashboard = onEndpoints();
    const attempt = { ...anAttempt, outcome: "succeeded", status_code: 200, error: null, duration_ms: 143 };
    dashboard.daemon.holds.instead = { ...dashboard.daemon.holds.instead, sendTestEvent: attempt };
    expect(shown(dashboard.press("t", "enter"))).toContain("200 in 143 ms");
  });

  it("says that it waits where the brake is on", () => {
    const dashboard = onEndpoints();
    dashboard.daemon.holds.instead = { ...dashboard.daemon.holds.instead, sendTestEvent: { id: idOf("evt", 1) } };
    expect(shown(dashboard.press("t", "enter"))).toContain("is sending paused?");
  });

  it("lets the type be chosen with the arrows, and completes it", () => {
    const dashboard = onEndpoints().press("t", "down", "down");
    expect(shown(dashboard)).toContain("▶ transaction.enriched");
    dashboard.press("ctrl+u").type("transaction.c").press("tab", "enter");
    expect(asked(dashboard, "sendTestEvent")[0]!.ask.body).toEqual({ type: "transaction.created" });
  });

  it("goes from an event to its endpoint, and from one of several or none to the one that is chosen", () => {
    const single = new Dashboard().connected().press("t");
    expect(shown(single)).toContain(`Send a test event to ${anEvent.deliveries[0]!.endpoint}`);
    const unmatched = new Dashboard({ tab: "activity" }).connected();
    unmatched.press("1");
    unmatched.daemon.holds.instead = {
      ...unmatched.daemon.holds.instead,
      listEvents: { data: [{ ...anEventSummary, deliveries: [] }], next_cursor: null },
    };
    unmatched.press("ctrl+r", "t", "enter");
    expect(asked(unmatched, "sendTestEvent")).toHaveLength(1);
  });

  it("is off while there is no endpoint, and says what to press", () => {
    const dashboard = new Dashboard({ endpoints: 0, events: 0 }).connected().press("t");
    expect(shown(dashboard)).toContain("there is no endpoint to send to; press a to add one");
  });
});

describe("on the smallest screen", () => {
  const small = (setup: Setup = {}) => onEndpoints({ size: { columns: 60, rows: 12 }, ...setup });

  it("a form shows its fields and its keys", () => {
    const dashboard = small().press("S");
    for (const words of ["Overlap", "To confirm", "Enter", "Esc"]) expect(shown(dashboard)).toContain(words);
    // At every height the keys take one line.
    for (let rows = 12; rows <= 24; rows++) {
      const text = shown(small({ size: { columns: 60, rows } }).press("S"));
      expect(text.split("Esc  cancel"), `${rows} rows`).toHaveLength(2);
    }
    expect(shown(small().press("D"))).toMatch(/2 deliveries are waiting for it[^]*To confirm[^]*Enter/);
  });

  it("a choice shows its keys, and a secret all of itself", () => {
    expect(shown(small().press("z"))).toMatch(/h {2}hold:[^]*s {2}skip:[^]*Esc/);
    const dashboard = small()
      .press("a")
      .type("https://a.example")
      .press("tab")
      .type("all")
      .press("enter", "enter", "enter", ...PASS, "enter");
    expect(shown(dashboard)).toContain(SECRET);
    expect(shown(dashboard)).toContain("close");
  });
});

describe.each([
  { columns: 80, rows: 24 },
  { columns: 120, rows: 40 },
])("the page of an endpoint at $columns x $rows", (size) => {
  const failed = { ...anAttempt, outcome: "failed", error: "http_status" };
  const attempts = [failed, { ...failed, error: "timeout" }, { ...anAttempt, outcome: "succeeded", error: null }];
  const whole = {
    ...anEndpoint,
    headers: { authorization: "***", "x-team": "***" },
    rate_per_second: 5,
    health: { ...aHealth, consecutive_failures: 3, held: 31 },
  };
  const instead = { getEndpoint: whole, listEndpointAttempts: { data: attempts, next_cursor: null } };
  const page = () => onEndpoints({ size, instead }).press("enter");

  it("says how it fares, what waits, what came back last and what it is sent", () => {
    const text = shown(page());
    expect(text).toContain("✗ failing");
    expect(text).toContain("2 pending, 31 held, 0 failed");
    expect(text).toContain("3 in a row");
    expect(text).toMatch(/attempts +✓t✗/);
    expect(text).toMatch(/24 h .* p95 /);
    expect(text).toContain("headers authorization, x-team; at most 5 per second");
    expect(text).not.toContain("***");
    expect(text).toContain("STATUS");
  });

  it("says when the next secret takes over, and nothing of it once that is over", () => {
    const dashboard = page().press("S", "enter").type(TAIL).press("enter", "esc");
    expect(shown(dashboard)).toContain("next secret takes over in 23h");
    dashboard.pass(86_400_000);
    expect(shown(dashboard)).not.toContain("next secret");
  });

  it("says that it is deleted once it is, and asks for it no more", () => {
    const dashboard = page();
    dashboard.state = { ...dashboard.state, known: { ...dashboard.state.known, gone: new Set([anEndpoint.id]) } };
    const before = asked(dashboard, "getEndpoint").length;
    dashboard.stream({ kind: "endpoint", data: { at: "", tenant: "default", endpoint: anEndpoint.id } }).pass(60_000);
    expect(shown(dashboard)).toContain("is deleted; its deliveries stay listed");
    expect(asked(dashboard, "getEndpoint")).toHaveLength(before);
    expect(shown(dashboard.press("e"))).toContain("e is off: it is deleted");
  });
});

it.each(["a", "e", "t", "z", "S", "D"])(
  "%s is off where the dashboard is read-only, and while the daemon is away",
  (key) => {
    const looking = onEndpoints({ settings: { readOnly: true } }).press(key);
    expect(looking.state.modes).toEqual([]);
    expect(shown(looking)).toContain("read-only");
    const away = onEndpoints();
    const problem = { failure: "unreachable", code: "unreachable", message: "gone", hint: "" };
    away.say({ kind: "lost", problem } as never).press(key);
    expect(away.state.modes).toEqual([]);
    expect(shown(away)).toContain("actions are off until the daemon answers");
  },
);

it("finds endpoints by a word that one knows of them", () => {
  const dashboard = new Dashboard({ tab: "endpoints" }).connected().press("/").type("acme").press("enter");
  expect(asked(dashboard, "listEndpoints").at(-1)!.ask.query).toMatchObject({ match: "acme" });
});

it("the list marks endpoints that chose a type that is on its way out", () => {
  const types = [
    { ...anEventType, name: "goal.achieved", deprecated: true, deprecated_at: "2026-11-20T09:00:00.000Z" },
  ];
  const [one, other] = [
    { ...anEndpoint, events: ["goal.achieved"], description: "Ledger" },
    { ...anEndpoint, id: idOf("ep", 2), events: ["goal.*"], description: "Audit" },
  ];
  const instead = {
    listEventTypes: { data: types, next_cursor: null },
    listEndpoints: { data: [one, other], next_cursor: null },
  };
  const text = shown(onEndpoints({ instead, size: { columns: 200, rows: 30 } }).pass(6000));
  expect(text).toContain("deprecated type; Ledger");
  expect(text).not.toContain("deprecated type; Audit");
});

it("the page of an endpoint says that it is signed with Ed25519 too", () => {
  const endpoint = { ...anEndpoint, signatures: ["hmac", "ed25519"] as const };
  const instead = {
    listEndpoints: { data: [endpoint], next_cursor: null },
    getEndpoint: { ...endpoint, health: aHealth },
  };
  const dashboard = onEndpoints({ instead, size: { columns: 160, rows: 40 } }).press("enter");
  expect(shown(dashboard)).toContain("signed with Ed25519 too: webhookd signing-keys show");
});

it("the page of an endpoint says in which format and order it sends, unless these are the usual ones", () => {
  const page = (more: Partial<typeof anEndpoint>) => {
    const endpoint = { ...anEndpoint, ...more };
    const instead = {
      listEndpoints: { data: [endpoint], next_cursor: null },
      getEndpoint: { ...endpoint, health: aHealth },
    };
    return shown(onEndpoints({ instead, size: { columns: 160, rows: 40 } }).press("enter"));
  };
  expect(page({})).not.toMatch(/format|in order/);
  const text = page({ format: "cloudevents_binary", ordering: "by_key", after_failure: "hold" });
  expect(text).toContain("format cloudevents_binary; in order by key, and after a failure hold");
});

it("the page of an endpoint names the types that are on their way out", () => {
  const life = { deprecated: true, deprecated_at: "2026-11-20T09:00:00.000Z" };
  const types = [anEventType, { ...anEventType, name: "goal.achieved", ...life }];
  const endpoint = { ...anEndpoint, events: ["goal.achieved", "transaction.*"] };
  const instead = {
    listEventTypes: { data: types, next_cursor: null },
    listEndpoints: { data: [endpoint], next_cursor: null },
    getEndpoint: { ...endpoint, health: aHealth },
  };
  const dashboard = onEndpoints({ instead, size: { columns: 160, rows: 40 } }).press("enter");
  expect(shown(dashboard)).toContain(
    "(goal.achieved is deprecated since 2026-11-20; transaction.* matches today: transaction.enriched)",
  );
});
