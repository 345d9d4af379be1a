/**
 * The dashboard's only reducer. From a state (`model/state.ts`) and a message it computes the next state and the
 * effects to carry out, as data. Nothing here waits, draws or reads a clock. After every message, `questions.ts` looks
 * at what the screen shows and requests what is unknown. Responses go where their request says (`answers.ts`), the
 * stream marks what is stale (`stream.ts`), and keys run the table in `keys/table.ts`, unless a layer over the screen
 * takes them first (`press.ts`).
 */
import { type Tab, TABS } from "../model/list.ts";
import type { Effect, Message, Place, Settings, Size, State, Step } from "../model/state.ts";
import { layoutFor } from "../layout.ts";
import { point } from "../mouse/point.ts";
import { pinJobs, takeAnswer, takeFailure } from "./answers.ts";
import { takeStream } from "./stream.ts";
import { lose, retry } from "./connection.ts";
import { scrolled } from "./lists/paged-list.ts";
import { press, typeText } from "./press.ts";
import { changePlaces, firstPlace, onList } from "./lists/places.ts";
import { PACE_MS } from "./tick.ts";
import { toast } from "./toast.ts";
import { resendActs } from "./acts.ts";
import { askKey, questions } from "./questions.ts";

export interface Start {
  readonly now: number;
  readonly size: Size;
  readonly settings: Settings;
  readonly tab?: Tab;
  /** The filter of the first screen. */
  readonly filter?: string;
}

export function initialState({ now, size, settings, tab = "overview", filter = "" }: Start): State {
  const places = TABS.map((name, index) => [name, [firstPlace(name, index, name === tab ? filter : "")]]);
  return {
    now,
    openedAt: now,
    size,
    settings,
    link: { kind: "connecting" },
    tab,
    lastTab: tab,
    tabs: Object.fromEntries(places) as { [T in Tab]: readonly Place[] },
    known: {
      status: null,
      day: null,
      hour: null,
      jobs: null,
      types: null,
      forbidden: new Set(),
      endpoints: new Map(),
      switches: new Map(),
      roll: null,
      gone: new Set(),
      health: new Map(),
      causes: new Map(),
      endpointStats: new Map(),
      lastAttempts: new Map(),
      tested: new Map(),
      events: new Map(),
      attempts: new Map(),
      reasons: new Map(),
      samples: new Map(),
      since: { delivered: 0, failed: 0 },
      pace: [],
      lagMs: 0,
      leastDelay: null,
      lastEventId: null,
      lastNews: now,
    },
    asked: new Map(),
    resting: new Map(),
    modes: [],
    focus: "list",
    paneTop: 0,
    mouse: { isOn: settings.mouse, pressed: null, clicked: null },
    acts: [],
    actedAt: now,
    toast: null,
    history: [],
    finding: null,
    counter: TABS.length,
  };
}

export function reduce(state: State, message: Message): Step {
  const step = take({ ...state, now: message.now }, message);
  const settled = settle(step.state);
  const calls = questions(settled);
  if (calls.length === 0) return { state: settled, effects: step.effects };
  const asked = new Map([...settled.asked, ...calls.map((call) => [askKey(call), { call, at: message.now }] as const)]);
  const effects = [...step.effects, ...calls.map((call): Effect => ({ do: "call", call }))];
  return { state: { ...settled, asked }, effects };
}

function take(state: State, message: Message): Step {
  switch (message.kind) {
    case "keys":
      return press(state, message.keys);
    case "paste":
      return { state: typeText(state, message.text), effects: [] };
    case "mouse":
      return point(state, message.reports);
    case "size":
      return { state: { ...state, size: message.size }, effects: [] };
    case "tick":
      return state.link.kind === "live" ? resendActs(tick(state)) : retry(tick(state));
    case "saved":
      return { state: toast(state, `written to ${message.path}`, "good"), effects: [] };
    case "unsaved":
      return { state: toast(state, `no file was written: ${message.why}`, "bad"), effects: [] };
    case "stream":
      return takeStream(state, message.messages);
    case "lost":
      return { state: lose(state, message.problem), effects: [] };
    case "answered":
      return { state: takeAnswer(state, message), effects: [] };
    case "failed":
      return { state: takeFailure(state, message.call, message.problem), effects: [] };
  }
}

function tick(state: State): State {
  const { toast, known, now, resting } = state;
  const pace = known.pace.filter(({ at }) => at > now - PACE_MS);
  return {
    ...state,
    resting: resting.size === 0 ? resting : new Map([...resting].filter(([, until]) => until > now)),
    toast: toast !== null && toast.until <= now ? null : toast,
    known: pace.length === known.pace.length ? known : { ...known, pace },
  };
}

/** Restores what must hold after every message. */
function settle(state: State): State {
  const version = state.known.status?.value.version;
  const { link, settings } = state;
  if (version !== undefined && !areCompatible(version, settings.version) && link.kind !== "differs") {
    return { ...state, link: { kind: "differs", daemon: version } };
  }
  return changePlaces(pinJobs(state), (place) =>
    onList(place, (list) => scrolled(list, layoutFor(state.size, place).list)),
  );
}

/** `/v1` only grows within a major version. Before 1.0 a minor version may change it. */
function areCompatible(one: string, other: string): boolean {
  const [[major, minor], [otherMajor, otherMinor]] = [one.split("."), other.split(".")];
  return major === otherMajor && (major !== "0" || minor === otherMinor);
}
