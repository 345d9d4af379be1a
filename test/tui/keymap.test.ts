import { expect, it } from "vitest";
import { BINDINGS } from "../../tui/keys.ts";
import type { Binding } from "../../tui/keys/binding.ts";
import type { KeyName } from "../../tui/keystrokes.ts";
import type { Place } from "../../tui/model.ts";
import { RunningDashboard } from "./dashboard.ts";
import { openSite, still } from "./site.ts";
import { inTerminal, type Tmux } from "./tmux.ts";

/** As tmux calls them, where it calls them otherwise. */
const NAMES: Readonly<Record<KeyName, string>> = {
  up: "Up",
  down: "Down",
  left: "Left",
  right: "Right",
  pageup: "PPage",
  pagedown: "NPage",
  home: "Home",
  end: "End",
  enter: "Enter",
  esc: "Escape",
  space: "Space",
  tab: "Tab",
  "shift+tab": "BTab",
};
const SIZE = { columns: 120, rows: 60 };
/** The way to each place, and how its tab is called there. */
const WAYS: Readonly<Record<Place["kind"], { keys: string[]; shows: RegExp }>> = {
  events: { keys: ["1"], shows: /1 EVENTS  2/ },
  deliveries: { keys: ["2"], shows: /2 DELIVERIES  3/ },
  endpoints: { keys: ["3"], shows: /3 ENDPOINTS  4/ },
  failures: { keys: ["4"], shows: /4 FAILURES  5/ },
  activity: { keys: ["5"], shows: /5 ACTIVITY/ },
  event: { keys: ["1", "Enter"], shows: /1 EVENTS › evt_/ },
  endpoint: { keys: ["3", "Enter"], shows: /3 ENDPOINTS › ep_/ },
};

const nameOf = (key: KeyName) => NAMES[key] ?? key.replace(/^ctrl\+/, "C-");
const positionIn = (screen: string) => Number(/^ (\d+) (of|from)/m.exec(screen)?.[1]);

class Keyboard {
  readonly terminal: Tmux;
  readonly place: Place["kind"];

  constructor(terminal: Tmux, place: Place["kind"]) {
    this.terminal = terminal;
    this.place = place;
  }

  /** Nothing over the screen, no filter, and the place on it as if it was just opened. */
  async goHere(): Promise<string> {
    const { terminal } = this;
    const { keys, shows } = WAYS[this.place];
    const isCovered = (screen: string) => /[╭╰]─|^ [/:]( |$)|Keys of this screen/m.test(screen);
    // Only then: what comes right behind an Esc looks like a key with Alt.
    if (isCovered(await terminal.screen())) await terminal.press("Escape");
    await terminal.until((screen) => !isCovered(screen));
    // Over another tab, and the same digit again for the list that the tab begins with. Each key by itself: of several
    // in one chunk only the last would count.
    const list = WAYS[BASE[this.place] ?? this.place];
    const other = keys[0] === "1" ? WAYS.activity : WAYS.events;
    await this.#step(other.keys[0]!, new RegExp(other.shows.source.slice(0, 5)));
    await this.#step(keys[0]!, new RegExp(list.shows.source.slice(0, 5)));
    await this.#step(keys[0]!, list.shows);
    for (const key of keys.slice(1)) await this.#step(key, shows);
    return terminal.settled(still);
  }

  async #step(key: string, shows: RegExp): Promise<void> {
    // Where it shows already nobody could tell when the key has come.
    if (!shows.test(await this.terminal.screen())) await this.terminal.press(key);
    await this.terminal.until(shows);
  }

  /** What the help says of each key: whether it is off, and why. */
  async help(): Promise<ReadonlyMap<string, string | null>> {
    await this.terminal.press("?");
    const screen = await this.terminal.until("Keys of this screen");
    const rows = screen.split("\n").map((line) => /^  (\S.*?)  +\S.*?(?:\(off: (.*)\))?$/.exec(line.trimEnd()));
    return new Map(rows.flatMap((row) => (row === null ? [] : [[row[1]!, row[2] ?? null] as const])));
  }

  /** Presses it, and waits until that shows. */
  async changes(key: KeyName): Promise<string> {
    const before = still(await this.terminal.screen());
    await this.terminal.press(nameOf(key));
    return this.terminal.until((screen) => still(screen) !== before);
  }
}

const BASE: Partial<Record<Place["kind"], Place["kind"]>> = { event: "events", endpoint: "endpoints" };

/** What comes of keys that everywhere do the same, and of those that need something to work on. */
const DOES: Readonly<Record<string, (keyboard: Keyboard, key: KeyName) => Promise<unknown>>> = {
  Esc: async (keyboard, key) => {
    await keyboard.terminal.press("Enter");
    await keyboard.terminal.until("›");
    await keyboard.terminal.press(nameOf(key));
    await keyboard.terminal.until((screen) => !screen.includes("›"));
  },
  "1": async ({ terminal }) => {
    await terminal.press("5");
    await terminal.until("5 ACTIVITY");
    await terminal.press("1");
    await terminal.until("1 EVENTS");
  },
  "/": async (keyboard) => expect(await keyboard.changes("/")).toMatch(/^ \/( |$)/m),
  ":": async (keyboard) => expect(await keyboard.changes(":")).toMatch(/^ :( |$)/m),
  "?": async (keyboard) => expect(await keyboard.changes("?")).toContain("Keys of this screen"),
  f: async (keyboard) => {
    await keyboard.changes("f");
    await keyboard.terminal.until("/ status:failed");
    await keyboard.terminal.press("f");
    await keyboard.terminal.until((screen) => !screen.includes("status:failed"));
  },
  p: async (keyboard) => {
    const [one, other] = (await keyboard.terminal.screen()).includes("FOLLOW")
      ? ["HOLD", "FOLLOW"]
      : ["FOLLOW", "HOLD"];
    for (const shown of [one!, other!]) {
      await keyboard.terminal.press("p");
      await keyboard.terminal.until(shown);
    }
  },
  Space: async (keyboard) => expect(await keyboard.changes("space")).toMatch(/1 marked|3 marked/),
  "^\\": async (keyboard, key) => {
    await keyboard.terminal.press("Space");
    await keyboard.terminal.until("marked");
    await keyboard.terminal.press(nameOf(key));
    await keyboard.terminal.until((screen) => !screen.includes("marked"));
  },
  // The line between the halves, not their words, says which one has the keys.
  Tab: async ({ terminal }, key) => {
    const before = await terminal.painted();
    await terminal.press(nameOf(key));
    await expect
      .poll(async () => /\x1b\[1m│|\x1b\[1m┃/.test(await terminal.painted()))
      .toBe(!/\x1b\[1m[│┃]/.test(before));
  },
  "-": async (keyboard) => expect(await keyboard.changes("-")).toMatch(/5 ACTIVITY|1 EVENTS/),
  "^r": async (keyboard) => expect(await keyboard.changes("ctrl+r")).toContain("read again"),
  "^l": async ({ terminal }) => {
    const before = still(await terminal.screen());
    await terminal.press("C-l");
    await terminal.until((screen) => still(screen) === before);
  },
  "^z": async ({ terminal }) => {
    await terminal.press("C-z");
    await terminal.until(/Stopped[^]*\$\s*$/);
    await terminal.command("clear; fg");
    await terminal.until("● live");
  },
};

/** Each of them goes from the middle where its words say. */
async function moves(keyboard: Keyboard, { label }: Binding, key: KeyName): Promise<void> {
  if (positionIn(await keyboard.terminal.screen()) !== 1) await keyboard.terminal.press("g");
  await keyboard.terminal.until((screen) => positionIn(screen) === 1);
  await keyboard.terminal.press("C-d");
  const middle = positionIn(await keyboard.terminal.until((screen) => positionIn(screen) > 20));
  const isUp = /up|newest/.test(label);
  await keyboard.terminal.press(nameOf(key));
  await keyboard.terminal.until((screen) => (isUp ? positionIn(screen) < middle : positionIn(screen) !== middle));
}

inTerminal("the keys", () => {
  it.each(Object.keys(WAYS) as Place["kind"][])("of %s do what the help says, or say why not", async (place) => {
    const site = await openSite({ failing: ["out of memory", "out of memory"], delivered: 98 });
    const dashboard = await RunningDashboard.open({ ...site, ...SIZE });
    const keyboard = new Keyboard(dashboard.terminal, place);
    const { terminal } = keyboard;
    await keyboard.goHere();
    const help = await keyboard.help();
    // What is the same everywhere is tried once.
    const here = BINDINGS.filter(({ on }) => (on === undefined ? place === "events" : on.includes(place)));
    for (const binding of here) {
      const why = help.get(binding.show);
      expect(why, `the help names ${binding.show}`).toBeDefined();
      for (const key of binding.keys) {
        if (["q", "ctrl+c"].includes(key)) continue;
        await keyboard.goHere();
        if (why !== null) {
          await terminal.press(nameOf(key));
          await terminal.until(`${binding.show} is off: ${why}`);
        } else if (binding.on === undefined && (binding.moves === true || /^[gG] /.test(binding.show))) {
          await moves(keyboard, binding, key);
        } else {
          await (DOES[binding.show]?.(keyboard, key) ?? keyboard.changes(key));
        }
      }
    }
    await keyboard.goHere();
    await terminal.press(place === "events" ? "C-c" : "q");
    await dashboard.isOver(place === "events" ? 130 : 0);
  });

  it("that change something are off while the dashboard is read-only", async () => {
    const site = await openSite({ failing: ["out of memory"] });
    const { terminal } = await RunningDashboard.open({ ...site, flags: "--read-only" });
    for (const { keys, show } of BINDINGS.filter(({ acts, on }) => acts === true && on?.includes("events"))) {
      await terminal.press(nameOf(keys[0]!));
      await terminal.until(`${show} is off: this dashboard is read-only`);
    }
  });
});
