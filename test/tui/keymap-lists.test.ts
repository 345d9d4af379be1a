import { it } from "vitest";
import { OTHER_LISTS, tryKeys } from "./keyboard.ts";
import { inTerminal } from "./tmux.ts";

inTerminal("the keys", () => {
  // On a busy machine Ctrl-\\ behind a mark did nothing in one run of ten, and nobody knows yet where it was lost.
  it.each(OTHER_LISTS)("of %s do what the help says, or say why not", { retry: 1 }, (place) => tryKeys(place));
});
