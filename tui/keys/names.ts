/**
 * Letters that sentences on the screen mention. Each is written only here: the key table and the sentences use it, and
 * so do the many tests of the two replays. The prose of `docs/dashboard.md` does not.
 */
export const KEY = {
  add: "a",
  cancelMany: "X",
  failed: "f",
  freeKey: "H",
  pauseJob: "z",
  pauseSending: "B",
  replay: "r",
  replayMany: "R",
  rotate: "S",
  test: "t",
  tryMany: "N",
} as const;
