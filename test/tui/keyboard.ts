/** Presses every key of the dashboard in a real terminal. */
import { expect } from "vitest";
import { BINDINGS } from "../../tui/keys/table.ts";
import type { Binding } from "../../tui/keys/binding.ts";
import { KEY } from "../../tui/keys/names.ts";
import type { KeyName } from "../../tui/keystrokes.ts";
import type { Place } from "../../tui/model/state.ts";
import { RunningDashboard } from "./dashboard.ts";
import { openSite } from "./site.ts";
import type { Tmux } from "./tmux.ts";

/** tmux's names of keys, where they differ from ours. */
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
const HOLDS = { failing: ["out of memory", "out of memory"], delivered: 98 };

interface Keystrokes {
  readonly keys: readonly string[];
  /** Matches the tab's title. */
  readonly shows: RegExp;
  /** Matches the screen once all of it has been read. */
  readonly last: RegExp;
}

const WAYS: Readonly<Record<Place["kind"], Keystrokes>> = {
  overview: { keys: ["0"], shows: /0 OVERVIEW  1/, last: /▶ .*500 from/ },
  events: { keys: ["1"], shows: /1 EVENTS  2/, last: /"(n|text)": / },
  deliveries: { keys: ["2"], shows: /2 DELIVERIES  3/, last: /"(n|text)": / },
  endpoints: { keys: ["3"], shows: /3 ENDPOINTS  4/, last: /▶ .*\d %/ },
  failures: { keys: ["4"], shows: /4 FAILURES  5/, last: /out of memory/ },
  activity: { keys: ["5"], shows: /5 ACTIVITY/, last: /▶ / },
  event: { keys: ["1", "Enter"], shows: /1 EVENTS › evt_/, last: /"(n|text)": / },
  endpoint: { keys: ["3", "Enter"], shows: /3 ENDPOINTS › ep_/, last: /\d attempts[^]*▶ / },
};

export const PLACES = Object.keys(WAYS) as Place["kind"][];
/** The lists other than events. They have a test file of their own, because one file would take too long. */
export const OTHER_LISTS: readonly Place["kind"][] = ["overview", "deliveries", "endpoints", "failures", "activity"];

export const nameOf = (key: KeyName) => NAMES[key] ?? key.replace(/^ctrl\+/, "C-");
const marked = (screen: string) => Number(/, (\d+) marked/.exec(screen)?.[1] ?? 0);
const positionIn = (screen: string) => Number(/^ (\d+) (of|from)/m.exec(screen)?.[1]);

class Keyboard {
  readonly terminal: Tmux;
  readonly place: Place["kind"];

  constructor(terminal: Tmux, place: Place["kind"]) {
    this.terminal = terminal;
    this.place = place;
  }

  /** Opens the place anew, with no dialog over it and no filter. */
  async goHere(): Promise<void> {
    const { terminal } = this;
    const { keys, shows, last } = WAYS[this.place];
    const isCovered = (screen: string) => /[╭╰]─|^ [/:]( |$)|Keys on this screen/m.test(screen);
    // Esc is pressed only if needed, because a key right behind it looks like that key with Alt.
    if (isCovered(await terminal.screen())) await terminal.press("Escape");
    await terminal.until((screen) => !isCovered(screen));
    // Goes by another tab, and then presses the digit twice to get the tab's first list. Each key is sent alone,
    // because in one chunk only the last would count.
    const list = WAYS[BASE[this.place] ?? this.place];
    const other = keys[0] === "1" ? WAYS.activity : WAYS.events;
    await this.#step(other.keys[0]!, new RegExp(other.shows.source.slice(0, 5)));
    await this.#step(keys[0]!, new RegExp(list.shows.source.slice(0, 5)));
    await this.#step(keys[0]!, list.shows);
    await terminal.until(list.last);
    for (const key of keys.slice(1)) await this.#step(key, shows);
    await terminal.until(last);
  }

  async #step(key: string, shows: RegExp): Promise<void> {
    // If the screen already shows it, nobody could see when the key has arrived, so it is not pressed.
    if (!shows.test(await this.terminal.screen())) await this.terminal.press(key);
    await this.terminal.until(shows);
  }

  /**
   * Returns each key in the help. The value is null, or the reason why the key is off, as far as it fits into the line.
   */
  async help(): Promise<ReadonlyMap<string, string | null>> {
    await this.terminal.press("?");
    // This waits for the whole help, and until everything is known that keys may depend on.
    const screen = await this.terminal.until(
      (now) => /Keys on this screen[^]*any other key closes/.test(now) && !now.includes("not known yet"),
    );
    const rows = screen.split("\n").map((line) => /^  (\S.*?)  +\S.*?(?:\(off: (.*?)(?:\)|…))?$/.exec(line.trimEnd()));
    return new Map(rows.flatMap((row) => (row === null ? [] : [[row[1]!, row[2] ?? null] as const])));
  }

  async does({ show }: Binding, key: KeyName): Promise<void> {
    const wanted = SHOWS[show];
    if (wanted === undefined) throw new Error(`test/tui/keyboard.ts does not say what ${show} shows`);
    await this.shows(key, typeof wanted === "function" ? wanted(this.place) : wanted);
  }

  /** Presses the key and waits until the screen shows the text. */
  async shows(key: KeyName, wanted: string | RegExp): Promise<void> {
    await this.terminal.press(nameOf(key));
    await this.terminal.until(wanted);
  }
}

const BASE: Partial<Record<Place["kind"], Place["kind"]>> = { event: "events", endpoint: "endpoints" };

/**
 * The text on the screen once each key has arrived. Waiting for any change is not enough: other things change too, and
 * a key that is pressed before the last one was read is lost together with it.
 */
const SHOWS: Readonly<Record<string, string | RegExp | ((place: Place["kind"]) => string | RegExp)>> = {
  Enter: (place) =>
    place === "failures" || place === "overview" ? "/ status:failed" : place === "endpoints" ? "› ep_" : "› evt_",
  "/": /^ \/( |$)/m,
  ":": /^ :( |$)/m,
  "?": "Keys on this screen",
  "0": "0 OVERVIEW",
  "2": "2 DELIVERIES",
  "3": "3 ENDPOINTS",
  "4": "4 FAILURES",
  "5": "5 ACTIVITY",
  // The list from which the place was opened.
  "-": "5 ACTIVITY",
  "^r": "reloaded",
  Space: /[13] marked/,
  [KEY.replay]: "Replay event",
  [KEY.replayMany]: /Replay \d/,
  c: "Canary replay of",
  N: /Try \d+ waiting deliver/,
  X: /Cancel \d+ waiting deliver/,
  M: /Back-fill \d+ missing deliver/,
  m: /mouse o(n|ff)/,
  B: "Pause sending",
  y: "copied evt_",
  Y: "In a shell",
  C: "In a shell",
  w: "written to",
  a: "Add endpoint",
  e: "Edit ep_",
  t: "Send a test event",
  z: "Disable ep_",
  S: "Rotate the secret of ep_",
  D: "Delete ep_",
};

/** Keys whose effect takes several keys to see. */
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
  f: async (keyboard) => {
    await keyboard.shows("f", "/ status:failed");
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
  "^\\": async (keyboard, key) => {
    // Waits for a whole frame: rows may still be marked from before, and marks that arrive with the other half would be
    // taken for this one. The next key would then share a chunk with Space, and both would be lost.
    const before = marked(await keyboard.terminal.settled((screen) => `${marked(screen)}`));
    await keyboard.terminal.press("Space");
    await keyboard.terminal.until((screen) => marked(screen) > before);
    await keyboard.terminal.press(nameOf(key));
    await keyboard.terminal.until((screen) => !screen.includes("marked"));
  },
  // Goes through all orders, so that the next keys find the list as it was.
  o: async ({ terminal }) => {
    const orderIn = (screen: string) => /^ \d+ of [^,\n]+(?:, \d+ marked)?, (\D+?) *( \/.*)?$/m.exec(screen)?.[1];
    for (let before: string | undefined; ;) {
      await terminal.press("o");
      const order = await terminal.until((screen) => orderIn(screen) !== before).then(orderIn);
      if (order === undefined) return;
      before = order;
    }
  },
  // The line between the halves shows which half has the keys.
  Tab: async ({ terminal }, key) => {
    const before = await terminal.painted();
    await terminal.press(nameOf(key));
    await expect
      .poll(async () => /\x1b\[1m│|\x1b\[1m┃/.test(await terminal.painted()))
      .toBe(!/\x1b\[1m[│┃]/.test(before));
  },
  "^l": async ({ terminal }) => {
    await terminal.scribble("Broadcast message");
    await terminal.press("C-l");
    await terminal.until((screen) => !screen.includes("Broadcast message"));
  },
  "^z": async ({ terminal }) => {
    await terminal.press("C-z");
    await terminal.until(/Stopped[^]*\$\s*$/);
    await terminal.command("clear; fg");
    await terminal.until("● live");
  },
};

/** Presses the key in the middle of the list and waits until the cursor has moved as the key's label says. */
async function moves(keyboard: Keyboard, { label }: Binding, key: KeyName): Promise<void> {
  if (positionIn(await keyboard.terminal.screen()) !== 1) await keyboard.terminal.press("g");
  await keyboard.terminal.until((screen) => positionIn(screen) === 1);
  await keyboard.terminal.press("C-d");
  await keyboard.terminal.until((screen) => positionIn(screen) > 20);
  // Waits for a whole frame. In half of one the cursor may not be where the key starts from.
  const middle = positionIn(await keyboard.terminal.settled((screen) => `${positionIn(screen)}`));
  const isThere = (screen: string) => {
    // Moving is not enough for the last row: until the last page is read, the cursor is at its beginning, and the next
    // key would count from there.
    if (label === "last row") return / (\d+) of \1\b/.test(screen);
    return /up|first/.test(label) ? positionIn(screen) < middle : positionIn(screen) !== middle;
  };
  await keyboard.terminal.press(nameOf(key));
  await keyboard.terminal.until(isThere).catch((error: unknown) => {
    throw new Error(`${key} (${label}) did not move the cursor from row ${middle}`, { cause: error });
  });
}

/**
 * Tests that each key of the place does what the help says, or says why it is off. Keys that are the same everywhere
 * are tried on events.
 */
export async function tryKeys(place: Place["kind"]): Promise<void> {
  const site = await openSite(HOLDS);
  const dashboard = await RunningDashboard.open({ ...site, ...SIZE });
  const keyboard = new Keyboard(dashboard.terminal, place);
  const { terminal } = keyboard;
  await keyboard.goHere();
  const help = await keyboard.help();
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
        await (DOES[binding.show]?.(keyboard, key) ?? keyboard.does(binding, key));
      }
    }
  }
  await keyboard.goHere();
  await terminal.press(place === "events" ? "C-c" : "q");
  await dashboard.isOver(place === "events" ? 130 : 0);
}
