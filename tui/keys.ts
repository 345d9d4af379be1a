/**
 * The key table. One entry is what a key does, where it does it, what the footer and the help say of it, and why it is
 * off when it is. To add an action: one entry here with `acts: true`, whose `run` opens a dialog (`dialog.ts`) or calls
 * `perform` (`state/acts.ts`); what its answer came to is a line in `SAYS` there. Nothing else knows of keys.
 */
import { ACTIONS } from "./keys/actions.ts";
import { ENDPOINT_ACTIONS } from "./keys/endpoints.ts";
import { MOVES } from "./keys/moves.ts";
import { VIEWS } from "./keys/views.ts";
import type { Binding } from "./keys/binding.ts";
import type { KeyName } from "./keystrokes.ts";
import type { Place, State } from "./model.ts";
import { here } from "./state/places.ts";
import { whyNoActs } from "./state/acts.ts";

/** In the order of the footer and the help. */
export const BINDINGS: readonly Binding[] = [...MOVES, ...VIEWS, ...ACTIONS, ...ENDPOINT_ACTIONS];

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
