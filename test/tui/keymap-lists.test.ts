import { it } from "vitest";
import { OTHER_LISTS, tryKeys } from "./keyboard.ts";
import { inTerminal } from "./tmux.ts";

inTerminal("the keys", () => {
  it.each(OTHER_LISTS)("of %s do what the help says, or say why not", (place) => tryKeys(place));
});
