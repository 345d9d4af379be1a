import { describe, expect, it } from "vitest";
import { webhookd } from "../../cli/front/dispatch.ts";
import { readFilter } from "../../src/client/filter.ts";
import { aWholeDelivery } from "../../src/api/deliveries/deliveries.ts";
import { anEvent } from "../../src/api/events/schemas.ts";
import { someFailures } from "../../src/api/reports/failures.ts";
import type { Tab } from "../../tui/model/list.ts";
import { here } from "../../tui/state/lists/places.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { asked, Dashboard, idOf, shown, type Setup } from "./daemon.ts";
import { HOSTILE } from "./hostile.ts";
import { KEY } from "../../tui/keys/names.ts";

const on = (tab: Tab, setup: Setup = {}) => new Dashboard({ tab, jobs: [{}], ...setup }).connected();
const copied = ({ effects }: Dashboard) => effects.flatMap((effect) => (effect.do === "copy" ? [effect.text] : []));
const saved = ({ effects }: Dashboard) => effects.flatMap((effect) => (effect.do === "save" ? [effect] : []));

function commandsOf({ state }: Dashboard): string[] {
  const mode = state.modes.at(-1);
  return mode?.kind === "dialog" && mode.dialog.kind === "commands"
    ? mode.dialog.commands.map(({ command }) => command)
    : [];
}

/** Splits a line as a POSIX shell does, for words that are plain or in single quotes. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|\\'|[^\s'\\])+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|\\(')/g, (_, quoted: string | undefined, quote: string | undefined) => quoted ?? quote!),
  );
}

/** Returns the command that a command line runs, and its arguments. */
async function parsed(line: string): Promise<{ name: string; args: Record<string, unknown> }> {
  const ran: { name: string; args: Record<string, unknown> }[] = [];
  const [program, ...words] = wordsOf(line);
  expect(program).toBe("webhookd");
  const io = new FakeIo();
  await webhookd(words, io, async (name, args) => ran.push({ name, args }));
  expect(ran, `${line}: ${io.err}`).toHaveLength(1);
  return ran[0]!;
}

describe("an id", () => {
  it.each([
    ["events", idOf("evt", 250)],
    ["deliveries", idOf("evt", 250)],
    ["endpoints", "ep_"],
    ["failures", "ep_"],
    ["activity", "job_"],
  ] as const)("is copied on %s, and shown for terminals that cannot copy", (tab, id) => {
    const dashboard = on(tab).press("y");
    expect(copied(dashboard)[0]).toContain(id);
    expect(shown(dashboard)).toContain(`copied ${copied(dashboard)[0]}`);
  });

  it("is not there where nothing is", () => {
    expect(shown(on("events", { events: 0 }).press("y"))).toContain("y is off: nothing with an id is selected");
  });
});

describe("commands", () => {
  const filtered = "status:failed type:a.b error:timeout status_code:5xx since:2h test:true tenant:acme";
  const WAYS: Record<string, () => Dashboard> = {
    events: () => on("events"),
    "filtered events": () => on("events").press("/").type(filtered).press("enter"),
    "marked events": () => on("events").press("space", "space"),
    "a type that a shell would split": () => on("events").press("/").type("type:it's$(x)").press("enter"),
    deliveries: () => on("deliveries"),
    "an event": () => on("events").press("enter"),
    endpoints: () => on("endpoints"),
    "an endpoint": () => on("endpoints").press("enter"),
    failures: () => on("failures"),
    activity: () => on("activity"),
    "a job that is paused": () => on("activity", { jobs: [{ status: "paused" }] }),
    nothing: () => on("events", { events: 0 }),
    "a plan": () => on("failures").press(KEY.replayMany),
    "a plan of marked deliveries": () => on("deliveries").press("space", KEY.replayMany, "c"),
  };

  it.each(Object.keys(WAYS))("for %s are taken by the command line as they are", async (way) => {
    const commands = commandsOf(WAYS[way]!().press("C"));
    expect(commands).not.toEqual([]);
    for (const line of commands) {
      const { args } = await parsed(line);
      const { filter = "" } = args as { filter?: string };
      expect(readFilter(filter).mistakes, line).toEqual([]);
    }
  });

  it.each([
    [
      "endpoints",
      "acme type:a.b tenant:t",
      "endpoints list",
      { match: "acme", type: "a.b", tenant: "t", sort: "failing" },
    ],
    ["failures", "since:2h tenant:t", "failures", { since: "2h", tenant: "t" }],
    ["overview", "since:2h tenant:t", "failures", { since: "2h", tenant: "t" }],
    ["activity", "since:2h tenant:t", "audit list", { since: "2h", tenant: "t" }],
  ] as const)("for filtered %s show the same list", async (tab, filter, name, args) => {
    const lines = commandsOf(on(tab).press("/").type(filter).press("enter", "C"));
    const all = await Promise.all(lines.map(parsed));
    expect(all.find((one) => one.name === name)?.args).toMatchObject(args);
  });

  it("show a list in the order of the screen", async () => {
    const order = async (dashboard: Dashboard) => (await parsed(commandsOf(dashboard.press("C"))[0]!)).args;
    expect(await order(on("events").press("o"))).toMatchObject({ order: "oldest" });
    expect((await order(on("events"))).order).toBeUndefined();
    expect(await order(on("endpoints").press("o", "o", "o"))).toMatchObject({ sort: "host" });
  });

  it.each([
    ["events", []],
    ["events", ["enter"]],
  ] as const)("replay all that failed of an event, and ask for a request that failed", async (tab, keys) => {
    const [well, failing] = [
      { ...aWholeDelivery, endpoint: idOf("ep", 1), status: "delivered" },
      { ...aWholeDelivery, endpoint: idOf("ep", 2), status: "failed" },
    ];
    const event = { ...anEvent, deliveries: [well, failing] };
    const dashboard = on(tab, {
      instead: { listEvents: { data: [event], next_cursor: null }, getEvent: event },
    }).press(...keys);
    expect(commandsOf(dashboard.press("C"))).toEqual(
      expect.arrayContaining([
        `webhookd replay ${anEvent.id}`,
        `webhookd events show ${anEvent.id} --curl --endpoint=${failing.endpoint}`,
      ]),
    );
    expect(commandsOf(dashboard.press("esc", "Y"))[0]).toContain(failing.endpoint);
  });

  it("for a plan are what the dialog would do", async () => {
    const dashboard = on("failures").press(KEY.replayMany, "p").type("5").press("enter", "C");
    const { name, args } = await parsed(commandsOf(dashboard)[0]!);
    expect(name).toBe("replay");
    expect(args).toMatchObject({
      status: "failed",
      error: "http_status",
      "status-code": "503",
      pace: "5/s",
      expect: "441",
    });
    expect(copied(dashboard.press("1"))).toEqual([commandsOf(dashboard)[0]]);
    expect(dashboard.press("esc").state.modes).toMatchObject([{ dialog: { kind: "plan", pace: 5 } }]);
  });

  it("for a request sign it when they run, and hold no secret", async () => {
    const dashboard = on("deliveries").press("Y");
    const { name, args } = await parsed(commandsOf(dashboard)[0]!);
    expect([name, args.curl, args.event]).toEqual(["events show", true, idOf("evt", 250)]);
    expect(commandsOf(dashboard).join()).not.toContain("whsec_");
    expect(asked(dashboard, "getSecret")).toEqual([]);
  });

  it("are broken between words alone, so that they can be copied from the screen", () => {
    const text = shown(on("failures").press("R", "C"));
    for (const word of commandsOf(on("failures").press("R", "C"))[0]!.split(" ")) expect(text).toContain(word);
  });

  it.each([
    [80, 24],
    [60, 12],
  ])("can all be read in a terminal of %i columns and %i rows", (columns, rows) => {
    const dashboard = on("failures", { size: { columns, rows } }).press("C");
    const words = commandsOf(dashboard).flatMap((command) => command.split(" "));
    expect(shown(dashboard)).toContain("j k  see more");
    const read: string[] = [];
    for (let row = 0; row < 40; row++) {
      read.push(shown(dashboard));
      dashboard.press("j");
    }
    expect(words.filter((word) => !read.some((text) => text.includes(word)))).toEqual([]);
    expect(shown(dashboard.press("j"))).toContain("webhookd deliveries cancel");
  });

  it("are there in a read-only dashboard and without the daemon", () => {
    const problem = { failure: "unreachable", code: "unreachable", message: "gone", hint: "" };
    const dashboard = on("events", { settings: { readOnly: true } }).say({ kind: "lost", problem } as never);
    expect(commandsOf(dashboard.press("C"))).not.toEqual([]);
  });
});

it("what to type about a cause is not cut", () => {
  const data = [{ ...someFailures.data[0]!, error: "timeout", status_code: null }];
  const listFailures = { ...someFailures, data };
  const text = shown(on("failures", { size: { columns: 80, rows: 30 }, text: "", instead: { listFailures } }));
  expect(text.replaceAll(/\s+/g, " ")).toMatch(/ Type webhookd endpoints update ep_\w{26} --max-in-flight 4 /);
});

describe("a report of a group", () => {
  it("says what fails, since when, and what was answered", () => {
    const [report] = saved(on("failures", { text: "upstream down" }).press("w"));
    expect(report!.name).toMatch(/^webhookd-report-\w{8}-20261120T100000Z\.md$/);
    expect(report!.text).toContain("# Webhooks that are not delivered: 503 from the receiver");
    expect(report!.text).toContain("441 failed, 1,978 still waiting");
    expect(report!.text).toContain("\n    upstream down\n");
  });

  it.each(HOSTILE.map((text) => [JSON.stringify(text).slice(0, 40), text]))("keeps %s harmless", (_, text) => {
    const [report] = saved(on("failures", { text }).press("w"));
    const lines = report!.text.split("\n");
    for (const line of lines) expect(line).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
    // Outside indented blocks all words are our own.
    const own = lines.filter((line) => !line.startsWith("    ")).join("\n");
    expect(own).not.toMatch(/<script>|\{\{|PWNED|<U\+/);
  });

  it("says where it was written, and why it was not", () => {
    const dashboard = on("failures").say({ kind: "saved", path: "/home/ops/report.md" } as never);
    expect(shown(dashboard)).toContain("written to /home/ops/report.md");
    dashboard.say({ kind: "unsaved", why: "EACCES: permission denied" } as never);
    expect(shown(dashboard)).toContain("no file was written: EACCES");
  });

  it("is of the group under the cursor, and of nothing without one", () => {
    const dashboard = on("failures", { instead: { listFailures: { data: [], total: 0 } } }).press("w");
    expect(here(dashboard.state).kind).toBe("failures");
    expect(shown(dashboard)).toContain("w is off: no group is selected");
    expect(saved(dashboard)).toEqual([]);
  });
});
