import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TABS, type Tab } from "../../tui/model/list.ts";
import { MouseReports, type MouseReport } from "../../tui/mouse/reports.ts";
import { selectedRow } from "../../tui/state/lists/paged-list.ts";
import { here } from "../../tui/state/lists/places.ts";
import { asked, Dashboard, idOf, shown, type Setup } from "./daemon.ts";
import { openSite } from "./site.ts";
import { RunningDashboard } from "./dashboard.ts";
import { inTerminal } from "./tmux.ts";
import { KEY } from "../../tui/keys/names.ts";

const sgr = (button: number, column: number, row: number, end: "M" | "m") => `\x1b[<${button};${column};${row}${end}`;
const all = (...chunks: string[]) => {
  const mouse = new MouseReports();
  const taken = chunks.map((chunk) => mouse.take(chunk));
  return { text: taken.map(({ text }) => text).join(""), reports: taken.flatMap(({ reports }) => reports) };
};

describe("reports of the mouse", () => {
  it("are taken out of what is typed", () => {
    expect(
      all(`j${sgr(0, 10, 5, "M")}k${sgr(0, 10, 5, "m")}${sgr(64, 1, 1, "M")}${sgr(65, 1, 1, "M")}\x1b[Aq`),
    ).toEqual({
      text: "jk\x1b[Aq",
      reports: [
        { kind: "press", column: 9, row: 4 },
        { kind: "release", column: 9, row: 4 },
        { kind: "up", column: 0, row: 0 },
        { kind: "down", column: 0, row: 0 },
      ],
    });
  });

  it.each([
    ["a button in the middle", sgr(1, 3, 3, "M")],
    ["a key that is held down", sgr(4, 3, 3, "M")],
    ["a pointer that moves", sgr(35, 3, 3, "M")],
    ["a wheel that is let go", sgr(64, 3, 3, "m")],
    ["a column before the first", sgr(0, 0, 3, "M")],
    ["a row before the first", sgr(0, 3, 0, "M")],
    ["more digits than a screen has", sgr(0, 1234567, 3, "M")],
    ["too few numbers", "\x1b[<0;3M"],
    ["too many numbers", "\x1b[<0;3;3;3M"],
    ["no numbers", "\x1b[<;;M"],
    ["signs", "\x1b[<-1;+2;3M"],
    ["another end", "\x1b[<0;3;3R"],
    ["a form of before mode 1006", "\x1b[M !!"],
    ["its button in letters", "\x1b[Mq:R"],
    ["no end for very long", `\x1b[<${"0;".repeat(5000)}M`],
  ])("with %s are no click, and no keys", (_, text) => {
    expect(all(`a${text}b`)).toEqual({ text: "ab", reports: [] });
    // The sequence may be cut anywhere behind its Esc.
    for (let at = 2; at < Math.min(40, text.length); at++) {
      expect(all(`a${text.slice(0, at)}`, `${text.slice(at)}b`)).toEqual({ text: "ab", reports: [] });
    }
  });

  it("are text in what is pasted", () => {
    const pasted = `\x1b[200~x${sgr(0, 1, 1, "M")}\x1b[M  y\x1b[201~`;
    for (let at = 0; at <= pasted.length; at++) {
      const { text, reports } = all(`a${pasted.slice(0, at)}`, `${pasted.slice(at)}${sgr(0, 2, 2, "M")}`);
      // An Esc at the end of a chunk is a key.
      if (at !== 1) expect([text, reports]).toEqual([`a${pasted}`, [{ kind: "press", column: 1, row: 1 }]]);
    }
  });

  it("leave all else as it is, in whatever chunks it comes", () => {
    const piece = fc.oneof(
      fc.string({ maxLength: 5 }).map((text) => text.replaceAll("\x1b", "")),
      fc.constantFrom("\x1b[A", "\x1b[5~", "\x1bOP", "\x1b[1;5C", "\x1bx", "é", "語"),
      fc.tuple(fc.constantFrom(0, 64, 65), fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 99 })),
    );
    fc.assert(
      fc.property(fc.array(piece), fc.array(fc.nat()), (pieces, cuts) => {
        const whole = pieces.map((one) => (typeof one === "string" ? one : sgr(one[0], one[1], one[2], "M"))).join("");
        const at = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))]
          .filter((cut) => whole[cut - 1] !== "\x1b")
          .toSorted((one, other) => one - other);
        const chunks = [0, ...at].map((cut, n) => whole.slice(cut, at[n] ?? whole.length));
        const taken = all(...chunks);
        expect(taken.text).toBe(pieces.filter((one) => typeof one === "string").join(""));
        expect(taken.reports).toHaveLength(pieces.filter((one) => typeof one !== "string").length);
      }),
    );
  });
});

function open(tab: Tab, setup: Setup = {}): Dashboard {
  return new Dashboard({ tab, jobs: [], ...setup }).connected();
}

const say = (dashboard: Dashboard, kind: MouseReport["kind"], column: number, row: number) =>
  dashboard.say({ kind: "mouse", reports: [{ kind, column, row }] } as never);
const click = (dashboard: Dashboard, column: number, row: number) =>
  say(say(dashboard, "press", column, row), "release", column, row);
/** Returns the place where the text is drawn. */
const placeOf = (dashboard: Dashboard, text: string | RegExp): [column: number, row: number] => {
  const lines = shown(dashboard).split("\n");
  const row = lines.findIndex((line) => line.search(text) >= 0);
  expect(row, `${String(text)} is on the screen`).toBeGreaterThanOrEqual(0);
  return [lines[row]!.search(text) + 1, row];
};

describe("a click", () => {
  const groups = (n: number) => ({ endpoint: idOf("ep", n), failed: n, pending: 0, held: 0 });
  const SIZES = [
    { columns: 60, rows: 12 },
    { columns: 80, rows: 24 },
    { columns: 120, rows: 40 },
    { columns: 200, rows: 60 },
  ];

  it.each(SIZES)("selects the row that it hits, on every list at $columns x $rows", (size) => {
    const some = Array.from({ length: 9 }, (_, n) => n + 1);
    const base = new Dashboard().daemon;
    const rowsOf = (operation: string, make: (n: number) => object) => {
      const answer = base.answer({ operation, ask: {}, about: {} } as never) as { data: object[] };
      return { ...answer, data: some.map((n) => ({ ...answer.data[0], ...make(n) })), next_cursor: null };
    };
    const instead = {
      listFailures: rowsOf("listFailures", groups),
      listEndpoints: rowsOf("listEndpoints", (n) => ({ id: idOf("ep", n), url: `https://host${n}.example/` })),
      listAudit: rowsOf("listAudit", (n) => ({ request_id: `r${n}`, object: `object-${n}` })),
    };
    for (const tab of [...TABS, "endpoint"] as const) {
      const dashboard = open(tab === "endpoint" ? "endpoints" : tab, { size, instead });
      if (tab === "endpoint") dashboard.press("enter");
      const first = shown(dashboard)
        .split("\n")
        .findIndex((line) => line.startsWith("▶"));
      for (const by of [2, 0, 1]) {
        const line = shown(dashboard).split("\n")[first + by]!;
        if (line.trim() === "" || by >= size.rows - first - 2) continue;
        click(dashboard, 4, first + by).pass(1000);
        const lines = shown(dashboard).split("\n");
        expect(
          lines.findIndex((one) => one.startsWith("▶")),
          `${tab}: ${line}`,
        ).toBe(first + by);
        expect(here(dashboard.state)).toMatchObject({ list: { index: by, follow: false } });
      }
    }
  });

  it("opens what is clicked twice, and nothing by two clicks that are apart", () => {
    const dashboard = open("events");
    click(click(dashboard, 5, 6), 5, 6);
    expect(here(dashboard.state)).toMatchObject({ kind: "event", id: idOf("evt", 248) });
    const slow = open("events");
    click(click(slow, 5, 6).pass(600), 5, 6);
    expect(here(slow.state).kind).toBe("events");
    const apart = open("events");
    click(click(apart, 5, 6), 5, 7);
    expect(here(apart.state).kind).toBe("events");
  });

  it("on a tab shows it, and on a key of the last row does what that does, or says why not", () => {
    const dashboard = open("events");
    for (const tab of TABS) {
      click(dashboard, ...placeOf(dashboard, new RegExp(`\\d ${tab}`, "i")));
      expect(dashboard.state.tab).toBe(tab);
    }
    click(dashboard, ...placeOf(dashboard, /1 Events/));
    for (const [text, shows] of [
      [/f failed/, "/ status:failed"],
      [new RegExp(`${KEY.replayMany} many`), "Replay 441 failed deliveries"],
      [/\? help/, "Keys on this screen"],
    ] as const) {
      expect(shown(click(dashboard, ...placeOf(dashboard, text)))).toContain(shows);
      dashboard.press("esc");
    }
    const off = open("events", { settings: { readOnly: true } });
    expect(shown(click(off, ...placeOf(off, `${KEY.replay} replay`)))).toContain(
      `${KEY.replay} is off: this dashboard is read-only`,
    );
    click(dashboard, ...placeOf(dashboard, "q quit"));
    expect(dashboard.effects).toContainEqual({ do: "quit", exit: 0 });
  });

  it("agrees to nothing: what lies over the screen is answered by keys alone", () => {
    const dashboard = open("events").press(KEY.replay);
    const before = shown(dashboard);
    const { columns, rows } = dashboard.state.size;
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column += 3) click(dashboard, column, row);
    expect(shown(dashboard)).toBe(before);
    expect(asked(dashboard, "replayEvent")).toEqual([]);
    const line = open("events").press("/").type("abc");
    click(click(say(line, "down", 3, 8), 3, 6), 3, 23);
    expect(line.state.modes).toMatchObject([{ line: { text: "abc" } }]);
  });

  it("is none where the button was let go elsewhere, or off the screen", () => {
    const dashboard = open("events");
    const [column, row] = placeOf(dashboard, "q quit");
    say(say(dashboard, "press", column, row), "release", column, row - 4);
    say(dashboard, "release", column, row);
    click(click(dashboard, 500, 6), 5, 500);
    expect(dashboard.effects).toEqual([]);
    expect(
      selectedRow(here(dashboard.state).kind === "events" ? (here(dashboard.state) as never)["list"] : null!),
    ).toMatchObject({
      id: idOf("evt", 250),
    });
  });
});

describe("the wheel", () => {
  it("moves through a list, an event, the pane under it and the help", () => {
    const dashboard = open("events", { size: { columns: 120, rows: 24 } });
    say(say(dashboard, "down", 5, 8), "down", 5, 8);
    expect(here(dashboard.state)).toMatchObject({ list: { index: 6 } });
    expect(here(say(dashboard, "up", 5, 8).state)).toMatchObject({ list: { index: 3 } });
    expect(say(dashboard, "down", 100, 8).state.paneTop).toBe(3);
    expect(here(dashboard.state)).toMatchObject({ list: { index: 3 } });
    expect(say(dashboard.press("?"), "down", 5, 8).state.modes).toEqual([{ kind: "help", top: 3 }]);
    click(dashboard, 5, 8);
    expect(dashboard.state.modes).toEqual([]);
    expect(here(say(dashboard.press("enter"), "down", 5, 8).state)).toMatchObject({ kind: "event", top: 3 });
  });
});

it("the mouse does nothing while it is off, which m and the settings say", () => {
  const dashboard = open("events").press("m");
  expect(dashboard.effects).toEqual([{ do: "mouse", isOn: false }]);
  expect(shown(dashboard)).toContain("mouse off: drag to select text; m turns it on");
  click(dashboard, 5, 8);
  expect(here(dashboard.state)).toMatchObject({ list: { index: 0 } });
  click(dashboard.press("m"), 5, 8);
  expect(here(dashboard.state)).toMatchObject({ list: { index: 4 } });
  expect(click(open("events", { settings: { mouse: false } }), 5, 8).state.mouse.isOn).toBe(false);
});

inTerminal("a terminal with a mouse", () => {
  it("is clicked, rolled, and sends garbage, none of which is typed", async () => {
    const dashboard = await RunningDashboard.open({ ...(await openSite({ delivered: 30 })), shows: /1 of 30/ });
    const { terminal } = dashboard;
    const at = async (text: RegExp) => {
      const lines = await terminal.lines();
      const row = lines.findIndex((line) => text.test(line));
      return [lines[row]!.search(text) + 2, row + 1] as const;
    };
    const clicked = (column: number, row: number) => sgr(0, column, row, "M") + sgr(0, column, row, "m");
    await terminal.send(clicked(5, 8));
    await terminal.until(/ 4 of 30/);
    await terminal.send(sgr(65, 5, 8, "M"));
    await terminal.until(/ 7 of 30/);
    await terminal.send(clicked(...(await at(/3 Endpoints/))));
    await terminal.until("3 ENDPOINTS");
    await terminal.send(clicked(...(await at(/1 Events/))));
    await terminal.until(/1 EVENTS[^]*7 of 30/);
    await terminal.send(clicked(...(await at(/\/ filter/))));
    await terminal.until(/^ \/( |$)/m);
    for (const garbage of [
      "\x1b[<0;5;5M",
      "\x1b[<0;5;",
      "5M",
      "\x1b[M q!",
      "\x1b[<99999;1;1M",
      "\x1b[<R",
      "\x1b[<0;5;5m",
    ])
      await terminal.send(garbage);
    await terminal.type("status:delivered");
    await terminal.until(/^ \/ status:delivered *$/m);
    await terminal.press("Enter");
    await terminal.until(/1 of 30.* \/ status:delivered/);
    await terminal.press("m");
    await terminal.until("mouse off");
    expect((await terminal.state()).mouse).toBe("");
    await terminal.press("C-z");
    await terminal.until(/Stopped[^]*\$\s*$/);
    await terminal.command("clear; fg");
    await terminal.until("1 EVENTS");
    expect((await terminal.state()).mouse).toBe("");
    await terminal.press("m");
    await terminal.until("mouse on");
    expect((await terminal.state()).mouse).toBe("mouse_standard_flag mouse_sgr_flag");
    await terminal.send(clicked(...(await at(/q quit/))));
    await dashboard.isOver(0);
  });
});
