/**
 * The key table. One entry is what a key does, where it does it, what the footer and the help say of it, and why it is
 * off when it is. To add an action: one entry here with `acts: true`, whose `run` opens a dialog (`model/dialog.ts`) or
 * calls `perform` (`state/acts.ts`); what its answer came to is a line in `SAYS` (`state/act-answers.ts`). Outside this
 * table only the screen of a lost connection has a key of its own (`state/press.ts`).
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

/** What is here, whether it works now or not. */
export function bindingsHere(state: State): Binding[] {
  const { kind } = here(state);
  return BINDINGS.filter(({ on }) => on === undefined || on.includes(kind));
}

/** Why a key does nothing now, in words for its user; null when it works. */
export function whyOff(state: State, { acts, off }: Binding): string | null {
  return (acts === true ? whyNoActs(state) : null) ?? off?.(state) ?? null;
}
