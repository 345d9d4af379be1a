/**
 * Letters that a sentence on the screen names. Each is written here alone: its row in the key table and the sentences
 * take it from here, and so do the tests of the two replays, which are many. The prose of `docs/dashboard.md` does not.
 */
export const KEY = {
  add: "a",
  cancelMany: "X",
  failed: "f",
  pauseJob: "z",
  pauseSending: "B",
  replay: "r",
  replayMany: "R",
  rotate: "S",
  test: "t",
  tryMany: "N",
} as const;
