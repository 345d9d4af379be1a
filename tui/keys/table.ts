/**
 * The key table. Each entry defines what a key does and where, what the footer and the help say about it, and why it
 * may be off. To add an action, add an entry with `acts: true`, whose `run` opens a dialog (`model/dialog.ts`) or calls
 * `perform` (`state/acts.ts`), and a line for its result in `SAYS` (`state/act-answers.ts`). The only key outside this
 * table is on the screen of a lost connection (`state/press.ts`).
 */
import { COPIES } from "./copies.ts";
import { DELIVERIES } from "./deliveries.ts";
import { ENDPOINT_ACTIONS } from "./endpoints.ts";
import { JOBS } from "./jobs.ts";
import { MOVES } from "./moves.ts";
import { REPLAYS } from "./replays.ts";
import { SENDING } from "./sending.ts";
import { VIEWS } from "./views.ts";
import type { Binding } from "./binding.ts";
import type { KeyName } from "../keystrokes.ts";
import type { Place, State } from "../model/state.ts";
import { here } from "../state/lists/places.ts";
import { whyNoActs } from "../state/acts.ts";

/** In the order of the footer and the help. */
export const BINDINGS: readonly Binding[] = [
  ...MOVES,
  ...VIEWS,
  ...REPLAYS,
  ...DELIVERIES,
  ...JOBS,
  ...SENDING,
  ...COPIES,
  ...ENDPOINT_ACTIONS,
];

export function bindingFor(key: KeyName, place: Place): Binding | undefined {
  return BINDINGS.find(({ keys, on }) => keys.includes(key) && (on === undefined || on.includes(place.kind)));
}

/** Returns the keys of this screen, including those that are off now. */
export function bindingsHere(state: State): Binding[] {
  const { kind } = here(state);
  return BINDINGS.filter(({ on }) => on === undefined || on.includes(kind));
}

/** Returns why a key does nothing now, in words for its user, or null if it works. */
export function whyOff(state: State, { acts, off }: Binding): string | null {
  return (acts === true ? whyNoActs(state) : null) ?? off?.(state) ?? null;
}
