import type { Key } from "ink";
import { describe, expect, it } from "vitest";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import type { AttemptChange, StreamMessage } from "../../src/client/stream.ts";
import { frameOf } from "../../tui/frame.ts";
import { keysOf } from "../../tui/keystrokes.ts";
import type { Act } from "../../tui/model/call.ts";
import type { List } from "../../tui/model/list.ts";
import { here } from "../../tui/state/lists/places.ts";
import { tickMs } from "../../tui/state/tick.ts";
import { asked, Dashboard, idOf, NOW, shown } from "./daemon.ts";
import { KEY } from "../../tui/keys/names.ts";

function listOf({ state }: Dashboard): List<{ id: string }> {
  const place = here(state);
  if (place.kind === "event") throw new Error("an event cannot be filtered");
  return place.list as unknown as List<{ id: string }>;
}

function published(n: number): StreamMessage {
  const at = new Date(NOW).toISOString();
  const data = { at, tenant: "default", endpoint: idOf("ep", 1), event: idOf("evt", n), delivery: idOf("dlv", n) };
  return { kind: "delivery", data: { ...data, status: "pending" } };
}

function attempted(n: number, change: Partial<AttemptChange> = {}): StreamMessage {
  const { data } = published(n) as { data: object };
  const answer = { number: 1, outcome: "failed", error: "http_status", status_code: 503, duration_ms: 12 };
  return { kind: "attempt", data: { ...data, ...answer, next_attempt_at: null, ...change } } as StreamMessage;
}

function counted(count: number): StreamMessage {
  const what = { kind: "attempt", status: "failed", outcome: "failed", error: "http_status" } as const;
  return { kind: "counts", data: { data: [{ ...what, tenant: "default", endpoint: idOf("ep", 1), count }] } };
}

describe("a list that follows", () => {
  it("reads its first page again after news, not more often than it is drawn", () => {
    const dashboard = new Dashboard().connected();
    dashboard.stream(published(251)).stream(published(252));
    expect(asked(dashboard, "listEvents")).toHaveLength(1);
    dashboard.pass(250);
    expect(asked(dashboard, "listEvents")).toHaveLength(2);
    dashboard.pass(250).pass(250);
    expect(asked(dashboard, "listEvents")).toHaveLength(2);
  });

  it("reads it again too after news that were only counted", () => {
    const dashboard = new Dashboard().connected();
    dashboard.stream(counted(500)).pass(250);
    expect(asked(dashboard, "listEvents")).toHaveLength(2);
    expect(dashboard.state.known.since.failed).toBe(500);
  });

  it("is read less often where reading it is much work for the daemon", () => {
    const dashboard = new Dashboard();
    dashboard.answers = false;
    dashboard.connected();
    dashboard.answers = true;
    dashboard.now += 1200;
    for (const effect of dashboard.effects.splice(0)) {
      if (effect.do !== "call") continue;
      const answer = dashboard.daemon.answer(effect.call);
      dashboard.say({ kind: "answered", call: effect.call, answer } as never);
    }
    const before = asked(dashboard, "listEvents").length;
    for (let second = 0; second < 11; second++) dashboard.stream(published(300 + second)).pass(1000);
    expect(asked(dashboard, "listEvents")).toHaveLength(before);
    dashboard.pass(1000);
    expect(asked(dashboard, "listEvents")).toHaveLength(before + 1);
  });

  it.each(["j", "k", "down", "pagedown", "ctrl+d", "G", "g", "p", KEY.replay])("is held by %s", (key) => {
    const dashboard = new Dashboard().connected().press(key);
    expect(listOf(dashboard).follow).toBe(false);
  });
});

describe("the rate in the header", () => {
  it("is right as soon as there are two a second, and over ten seconds later on", () => {
    const dashboard = new Dashboard().connected();
    const second = () => dashboard.stream(attempted(250), attempted(249)).pass(1000);
    second();
    second();
    expect(shown(dashboard)).toContain("  2.0/s ");
    for (let n = 0; n < 15; n++) second();
    // The window contains nine or ten of the seconds.
    expect(shown(dashboard)).toMatch(/ {2}(?:1\.8|2\.0)\/s /);
    dashboard.pass(5000);
    expect(shown(dashboard)).toMatch(/ {2}(?:0\.8|1\.0)\/s /);
  });
});

describe("a list that is held", () => {
  it("moves nothing, counts what is newer, and reads again the rows that changed", () => {
    const dashboard = new Dashboard().connected().press("j", "j");
    const before = listOf(dashboard).rows.map(({ id }) => id);
    const reads = asked(dashboard, "listEvents").length;
    dashboard.stream(published(251), published(252), attempted(249)).pass(1000);
    expect(listOf(dashboard).rows.map(({ id }) => id)).toEqual(before);
    expect(listOf(dashboard).selected).toBe(idOf("evt", 248));
    expect(shown(dashboard)).toContain("HOLD +2 newer");
    expect(asked(dashboard, "getEvent").map(({ ask }) => ask.id)).toEqual([idOf("evt", 249)]);
    expect(asked(dashboard, "listEvents")).toHaveLength(reads);
  });

  it("stays as it is when the answer comes that was under way before", () => {
    const dashboard = new Dashboard().connected();
    dashboard.answers = false;
    dashboard.stream(published(251)).pass(250).press("j");
    const before = listOf(dashboard).rows;
    const calls = dashboard.effects.flatMap((effect) => (effect.do === "call" ? [effect.call] : []));
    const call = calls.find(({ operation }) => operation === "listEvents")!;
    const answer = { data: [{ id: idOf("evt", 251) }], next_cursor: null };
    dashboard.say({ kind: "answered", call, answer } as never);
    expect(listOf(dashboard).rows).toEqual(before);
  });

  it("follows again by p, from the newest", () => {
    const dashboard = new Dashboard().connected().press("j", "j", "p");
    expect(listOf(dashboard)).toMatchObject({ follow: true, index: 0, selected: idOf("evt", 250) });
  });
});

describe("a long list", () => {
  it("holds a window of it, however far one goes, and comes back the same way", () => {
    const dashboard = new Dashboard({ events: 100_000 }).connected();
    const most = { rows: 0 };
    const go = (key: string, times: number) => {
      for (let step = 0; step < times; step++) {
        dashboard.press(key);
        most.rows = Math.max(most.rows, listOf(dashboard).rows.length);
        const { index, rows, selected } = listOf(dashboard);
        expect(rows[index]!.id).toBe(selected);
      }
    };
    go("pagedown", 120);
    // A page is 18 rows on a screen of 24.
    expect(listOf(dashboard).selected).toBe(idOf("evt", 100_000 - 120 * 18));
    go("pageup", 119);
    expect(listOf(dashboard).selected).toBe(idOf("evt", 100_000 - 18));
    expect(most.rows).toBeLessThanOrEqual(1100);
    go("k", 30);
    expect(listOf(dashboard).selected).toBe(idOf("evt", 100_000));
  });

  it("goes as far as it was told while its pages are still under way, and not further than it can", () => {
    const dashboard = new Dashboard({ events: 1000 }).connected();
    dashboard.answers = false;
    for (let times = 0; times < 30; times++) dashboard.press("k", "pagedown");
    dashboard.answers = true;
    for (const effect of dashboard.effects.splice(0)) {
      if (effect.do !== "call") continue;
      const answer = dashboard.daemon.answer(effect.call);
      dashboard.say({ kind: "answered", call: effect.call, answer } as never);
    }
    expect(listOf(dashboard).selected).toBe(idOf("evt", 1000 - 30 * 18 + 29));
    dashboard.press("g", "k", "k", "k", "j");
    expect(listOf(dashboard).selected).toBe(idOf("evt", 999));
  });

  it("is read from its end by G", () => {
    const dashboard = new Dashboard({ events: 100_000 }).connected().press("G");
    expect(listOf(dashboard).selected).toBe(idOf("evt", 1));
    dashboard.press("k");
    expect(listOf(dashboard).selected).toBe(idOf("evt", 2));
    dashboard.press("g");
    expect(listOf(dashboard)).toMatchObject({ selected: idOf("evt", 100_000), follow: false });
  });

  it("drops the answers to what it no longer asks", () => {
    const dashboard = new Dashboard();
    dashboard.answers = false;
    dashboard.connected();
    const late = dashboard.effects.find((effect) => effect.do === "call" && effect.call.operation === "listEvents");
    dashboard.answers = true;
    dashboard.press("f");
    const before = listOf(dashboard);
    expect(before.rows).not.toEqual([]);
    const answer = { data: [], next_cursor: null };
    dashboard.say({ kind: "answered", call: (late as unknown as { call: never }).call, answer } as never);
    expect(listOf(dashboard).rows).toEqual(before.rows);
  });
});

describe("keys of one chunk", () => {
  it("are all told apart, control keys too", () => {
    expect(keysOf("j\x04 \x1c\r", {} as Key)).toEqual(["j", "ctrl+d", "space", "ctrl+\\", "enter"]);
  });

  const chunk = (dashboard: Dashboard, keys: string) => dashboard.say({ kind: "keys", keys: [...keys] } as never);

  it("are folded where they move", () => {
    expect(listOf(chunk(new Dashboard().connected(), "jjjjj")).index).toBe(5);
  });

  it("never run two commands, nor one in the middle of text", () => {
    expect(chunk(new Dashboard().connected(), `${KEY.replay}ead me`).state.modes).toEqual([]);
    expect(chunk(new Dashboard().connected(), "qj").effects).not.toContainEqual({ do: "quit", exit: 0 });
    const dashboard = chunk(new Dashboard().connected(), `jj${KEY.replay}`);
    expect(listOf(dashboard).index).toBe(2);
    expect(dashboard.state.modes).toMatchObject([{ kind: "dialog" }]);
  });

  it("are text where text is typed, Enter included", () => {
    const dashboard = new Dashboard().connected().press("/");
    dashboard.say({ kind: "keys", keys: [..."status:failed", "enter"] } as never);
    expect(listOf(dashboard).filter).toBe("status:failed");
  });

  it("are never what is pasted", () => {
    const dashboard = new Dashboard().connected().say({ kind: "paste", text: "qrR\r" } as never);
    expect(dashboard.effects.filter((effect) => effect.do === "quit")).toEqual([]);
    expect(dashboard.state.modes).toEqual([]);
    dashboard.press("/").say({ kind: "paste", text: "status:failed\nsince:2h\r" } as never);
    expect(shown(dashboard)).toContain("status:failed since:2h");
  });
});

describe("the filter line", () => {
  it("asks the daemon with its words", () => {
    const dashboard = new Dashboard()
      .connected()
      .press("/")
      .type("status:failed status_code:5xx since:2h")
      .press("enter");
    expect(asked(dashboard, "listEvents").at(-1)!.ask.query).toMatchObject({
      status: "failed",
      status_code: "5xx",
      since: new Date(NOW - 2 * 3_600_000).toISOString(),
    });
    expect(shown(dashboard)).toContain("status:failed status_code:5xx since:2h");
  });

  it("says what is wrong, and what this screen does not know", () => {
    const dashboard = new Dashboard().connected().press("/").type("statsu:failed").press("enter");
    expect(shown(dashboard)).toContain("Did you mean status?");
    dashboard.press("ctrl+u").press("esc", "3", "/").type("status:failed").press("enter");
    expect(shown(dashboard)).toContain("status: does not apply here. These do: type, tenant, match. It applies");
  });

  it("lists the events that it describes where the overview could not", () => {
    const dashboard = new Dashboard({ tab: "overview" }).connected().press("/").type("data.customer:cus_1");
    dashboard.press("enter");
    expect(dashboard.state).toMatchObject({ tab: "events", modes: [] });
    expect(asked(dashboard, "listEvents").at(-1)!.ask.query).toMatchObject({ data: expect.anything() });
    const wrong = new Dashboard({ tab: "overview" }).connected().press("/").type("dta.customer:cus_1").press("enter");
    expect(wrong.state).toMatchObject({ tab: "overview", modes: [{ kind: "line" }] });
  });

  it("completes words and values, and says what they could be", () => {
    const dashboard = new Dashboard().connected().press("/").type("err").press("tab").type("conn").press("tab");
    expect(shown(dashboard)).toContain("connection_refused  error:connection_closed");
    dashboard.type("r").press("tab");
    expect(dashboard.state.modes).toMatchObject([{ line: { text: "error:connection_refused" } }]);
  });

  it("remembers what was applied", () => {
    const dashboard = new Dashboard().connected();
    dashboard.press("/").type("status:failed").press("enter", "esc", "/").type("ty").press("up");
    expect(dashboard.state.modes).toMatchObject([{ line: { text: "status:failed" } }]);
    dashboard.press("down");
    expect(dashboard.state.modes).toMatchObject([{ line: { text: "ty" } }]);
  });
});

describe("the way around", () => {
  it("goes back by Esc, one at a time, and clears the filter last", () => {
    const dashboard = new Dashboard({ tab: "failures" }).connected().press("enter", "enter");
    expect(here(dashboard.state).kind).toBe("event");
    expect(here(dashboard.press("esc").state).kind).toBe("deliveries");
    expect(here(dashboard.press("esc").state).kind).toBe("failures");
    dashboard.press("1", "f", "esc");
    expect(listOf(dashboard).filter).toBe("");
  });

  it("comes back to where it was by -, with the cursor where it was", () => {
    const dashboard = new Dashboard().connected().press("j", "j", "4", "-");
    expect(dashboard.state.tab).toBe("events");
    expect(listOf(dashboard).index).toBe(2);
  });

  it("jumps to a screen, an event, an endpoint and a filter", () => {
    const dashboard = new Dashboard().connected();
    const jump = (text: string) => here(dashboard.press(":").type(text).press("enter").state);
    expect(jump("fail").kind).toBe("failures");
    expect(jump(idOf("evt", 7))).toMatchObject({ kind: "event", id: idOf("evt", 7) });
    expect(jump(idOf("ep", 7))).toMatchObject({ kind: "endpoint", id: idOf("ep", 7) });
    expect(jump("status:failed")).toMatchObject({ kind: "events", list: { filter: "status:failed" } });
    expect(shown(dashboard.press(":").type("statsu:x").press("enter"))).toContain('"statsu:x" is not a screen');
  });
});

describe("an endpoint that is looked for by its name", () => {
  const acme = { ...anEndpoint, id: idOf("ep", 7), description: "Acme" };
  const answers = (...data: object[]) => ({ instead: { listEndpoints: { data, next_cursor: null } } });

  it.each([
    ["0", "/"],
    ["1", "/"],
    ["4", "/"],
    ["5", ":"],
  ])("is opened from screen %s by %s, if it is the only one", (screen, key) => {
    const dashboard = new Dashboard(answers(acme)).connected().press(screen, key).type("acme").press("enter");
    expect(here(dashboard.state)).toMatchObject({ kind: "endpoint", id: acme.id });
    expect(asked(dashboard, "listEndpoints").at(-1)!.ask.query).toMatchObject({ match: "acme" });
  });

  it("is listed beside others that match, and what matches nothing is said", () => {
    const both = new Dashboard(answers(acme, { ...acme, id: idOf("ep", 8) })).connected().press("/").type("acme");
    expect(here(both.press("enter").state)).toMatchObject({ kind: "endpoints", list: { filter: "acme" } });
    const nothing = { data: [], next_cursor: null };
    const none = new Dashboard({ instead: { listEndpoints: nothing, listEvents: nothing } }).connected();
    none.press("/").type("nobody").press("enter");
    expect(shown(none)).toContain('No endpoint, publisher\'s id or tag matches "nobody". Esc clears the filter.');
  });

  it("is not opened over what its person has gone on to", () => {
    const dashboard = new Dashboard(answers(acme)).connected();
    dashboard.answers = false;
    dashboard.press("/").type("acme").press("enter", "1");
    for (const effect of dashboard.effects.splice(0)) {
      if (effect.do !== "call") continue;
      dashboard.say({ kind: "answered", call: effect.call, answer: dashboard.daemon.answer(effect.call) } as never);
    }
    expect(here(dashboard.state).kind).toBe("events");
  });
});

it("takes the end of an id that is listed, as it is shown", () => {
  for (const text of ["00000248", "evt_…00000248", "…0248"]) {
    const dashboard = new Dashboard().connected().press(":").type(text).press("enter");
    expect(here(dashboard.state)).toMatchObject({ kind: "event", id: idOf("evt", 248) });
  }
});

describe("marks", () => {
  it("stay with their rows, whatever comes, until they are taken off", () => {
    const dashboard = new Dashboard().connected().press("space", "j", "space").stream(published(251)).pass(1000);
    expect([...listOf(dashboard).marks]).toEqual([idOf("evt", 250), idOf("evt", 248)]);
    expect(shown(dashboard)).toContain("2 marked");
    expect(listOf(dashboard.press("k", "space")).marks.size).toBe(1);
    expect(listOf(dashboard.press("ctrl+\\")).marks.size).toBe(0);
  });
});

describe("a replay", () => {
  const sent = (dashboard: Dashboard) =>
    dashboard.effects.flatMap((effect) =>
      effect.do === "call" && effect.call.about.for === "act" ? [effect.call] : [],
    );

  it("is asked for by name, and done by y alone", () => {
    for (const key of ["enter", "n", "esc"]) {
      const dashboard = new Dashboard().connected().press(KEY.replay, key);
      expect(asked(dashboard, "replayEvent")).toEqual([]);
      expect(dashboard.state.modes).toEqual([]);
    }
    const dashboard = new Dashboard().connected().press(KEY.replay);
    expect(shown(dashboard)).toContain(idOf("evt", 250));
    expect(asked(dashboard.press("y"), "replayEvent")).toMatchObject([{ ask: { id: idOf("evt", 250), body: {} } }]);
  });

  it("acts on the row under the cursor when it was asked for, whatever came since", () => {
    const dashboard = new Dashboard().connected().press(KEY.replay);
    dashboard.stream(published(251), published(252)).pass(1000).press("y");
    expect(asked(dashboard, "replayEvent")[0]!.ask.id).toBe(idOf("evt", 250));
  });

  it("tells what came of it when its first attempt is over", () => {
    const dashboard = new Dashboard().connected().press(KEY.replay, "y");
    expect(shown(dashboard)).toContain("queued");
    const success = { outcome: "succeeded", status_code: 200, error: null, duration_ms: 143 } as const;
    dashboard.stream(attempted(250, success));
    expect(shown(dashboard)).toContain("delivered, 200 in 143 ms");
    expect(dashboard.state.acts).toEqual([]);
  });

  it("is sent again under the same key when the daemon went away before it answered", () => {
    const dashboard = new Dashboard().connected();
    dashboard.answers = false;
    dashboard.press(KEY.replay, "y");
    const [call] = sent(dashboard);
    const gone = { failure: "unreachable", code: "unreachable", message: "gone", hint: "" };
    dashboard.say({ kind: "failed", call: call!, problem: gone } as never);
    dashboard.say({ kind: "lost", problem: gone } as never);
    expect(shown(dashboard)).toContain("sent again when the daemon is back");
    dashboard.connected();
    expect(sent(dashboard).map(({ ask }) => ask.idempotencyKey)).toEqual(["s-6", "s-6"]);
    const answer = dashboard.daemon.answer(sent(dashboard)[1]!);
    dashboard.say({ kind: "answered", call: sent(dashboard)[1]!, answer } as never);
    expect(dashboard.state.acts.map(({ phase }: Act) => phase)).toEqual(["done"]);
    expect(sent(dashboard.connected())).toHaveLength(2);
  });

  it("is sent again when the answer alone was lost, and when the daemon was just stopping", () => {
    for (const [failure, code] of [
      ["unreachable", "unreachable"],
      ["refused", "shutting_down"],
    ]) {
      const dashboard = new Dashboard().connected();
      dashboard.answers = false;
      dashboard.press(KEY.replay, "y");
      const problem = { failure, code, message: "no answer in time", hint: "" };
      dashboard.say({ kind: "failed", call: sent(dashboard)[0]!, problem } as never);
      expect(sent(dashboard.pass(1000))).toHaveLength(2);
      expect(sent(dashboard)[1]!.ask.idempotencyKey).toBe(sent(dashboard)[0]!.ask.idempotencyKey);
    }
  });

  it("is dropped if no result of its attempt arrives", () => {
    const dashboard = new Dashboard().connected().press(KEY.replay, "y").pass(30_000);
    expect(dashboard.state.acts).toHaveLength(1);
    expect(dashboard.pass(30_000).state.acts).toEqual([]);
    expect(sent(dashboard)).toEqual([]);
  });

  it("says why it was refused", () => {
    const dashboard = new Dashboard().connected();
    dashboard.answers = false;
    dashboard.press(KEY.replay, "y");
    const problem = {
      failure: "conflict",
      code: "endpoint_disabled",
      message: "the endpoint is off",
      hint: "Enable it.",
    };
    dashboard.say({ kind: "failed", call: sent(dashboard)[0]!, problem } as never);
    expect(shown(dashboard)).toContain("the endpoint is off. Enable it.");
    expect(dashboard.state.acts).toEqual([]);
  });

  it.each([
    ["read-only", { settings: { readOnly: true } }, "read-only"],
    ["of what did not fail", { status: "delivered" }, "only failed events can be replayed"],
    ["of nothing", { events: 0 }, "no event is selected"],
  ])("is off %s, and says why", (_, setup, why) => {
    const dashboard = new Dashboard(setup).connected().press(KEY.replay);
    expect(dashboard.state.modes).toEqual([]);
    expect(shown(dashboard)).toContain(why);
    expect(shown(dashboard.press("?"))).toContain(`(off: `);
  });
});

describe("without the daemon", () => {
  const gone = { failure: "unreachable", code: "unreachable", message: "cannot reach the daemon", hint: "" };
  const lose = (dashboard: Dashboard) => dashboard.say({ kind: "lost", problem: gone } as never);
  const connects = ({ effects }: Dashboard) => effects.filter((effect) => effect.do === "connect");

  it("keeps the rows, says so, and turns actions off", () => {
    const dashboard = lose(new Dashboard().connected());
    expect(listOf(dashboard).rows).not.toEqual([]);
    expect(shown(dashboard)).toContain("RECONNECTING in 1 s (try 1)");
    expect(shown(dashboard)).toContain("cannot reach the daemon");
    expect(shown(dashboard.press("esc"))).not.toContain("Not connected");
    expect(shown(dashboard.press(KEY.replay))).toContain("actions are off until the daemon answers");
  });

  it("tries again after longer and longer, from where it was, and at once when asked", () => {
    const dashboard = new Dashboard().connected().stream({ kind: "id", id: "life-7" });
    const waits: number[] = [];
    for (let tries = 1; tries <= 6; tries++) {
      lose(dashboard);
      const start = dashboard.now;
      while (connects(dashboard).length < tries) dashboard.pass(100);
      waits.push(dashboard.now - start);
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 8000]);
    expect(connects(dashboard)[0]).toEqual({ do: "connect", lastEventId: "life-7" });
    lose(dashboard).press("ctrl+r");
    expect(connects(dashboard)).toHaveLength(7);
  });

  it("reads again what is on the screen once it is back", () => {
    const dashboard = lose(new Dashboard().connected()).pass(500).connected().pass(250);
    expect(asked(dashboard, "listEvents")).toHaveLength(2);
    expect(shown(dashboard)).toContain("● live");
  });

  it("does not try again with a key that is refused", () => {
    const problem = {
      failure: "not_allowed",
      code: "unauthorized",
      message: "the key is not known",
      hint: "Make one.",
    };
    const dashboard = new Dashboard().say({ kind: "lost", problem } as never).pass(60_000);
    expect(connects(dashboard)).toEqual([]);
    expect(shown(dashboard)).toContain("the key is not known");
  });
});

describe("a quiet screen", () => {
  it("does not change, and is hardly looked at", () => {
    const dashboard = new Dashboard({ events: 20, jobs: [] }).connected();
    // Ages over a minute change once a minute.
    dashboard.now += 3_600_000 - 20 * 60_000;
    dashboard.pass(0);
    const before = frameOf(dashboard.state);
    for (let second = 0; second < 10; second += 5) expect(frameOf(dashboard.pass(5000).state)).toEqual(before);
    expect(tickMs(dashboard.state)).toBe(5000);
  });
});

describe("a question that fails", () => {
  const problem = (failure: string, code = failure) => ({ failure, code, message: `it is ${code}`, hint: "" });
  /** Fails every call and returns how many there were. */
  function failing(dashboard: Dashboard, failure: string): number {
    let failures = 0;
    dashboard.answers = false;
    for (;;) {
      const calls = dashboard.effects.splice(0).flatMap((effect) => (effect.do === "call" ? [effect.call] : []));
      if (calls.length === 0) return failures;
      for (const call of calls) dashboard.say({ kind: "failed", call, problem: problem(failure) } as never);
      failures += calls.length;
      if (failures > 100) throw new Error("it asks again and again");
    }
  }

  it.each(["refused", "unreachable", "not_found", "not_allowed"])("(%s) is not asked again at once", (failure) => {
    const dashboard = new Dashboard();
    dashboard.answers = false;
    dashboard.connected();
    const first = failing(dashboard, failure);
    expect(first).toBeGreaterThan(3);
    dashboard.pass(1000);
    expect(failing(dashboard, failure)).toBe(0);
    dashboard.pass(3000);
    expect(failing(dashboard, failure)).toBeGreaterThan(0);
  });

  it("says why on an empty list, and is asked again by itself", () => {
    const dashboard = new Dashboard();
    dashboard.answers = false;
    dashboard.connected();
    failing(dashboard, "refused");
    expect(shown(dashboard)).toContain("This list cannot be read: it is refused");
    dashboard.answers = true;
    dashboard.pass(3000);
    expect(listOf(dashboard).rows).not.toEqual([]);
    expect(shown(dashboard)).not.toContain("cannot be read");
  });

  it("that this key may not ask is asked once", () => {
    const dashboard = new Dashboard();
    dashboard.answers = false;
    dashboard.connected();
    failing(dashboard, "not_allowed");
    dashboard.answers = true;
    dashboard.pass(60_000);
    expect(asked(dashboard, "getStatus")).toEqual([]);
    expect(asked(dashboard, "listEvents")).not.toEqual([]);
  });
});
