/**
 * Letters that a sentence on the screen names, or many tests press. Each is written here alone: its row in the key
 * table, the sentences and the tests take it from here. `docs/dashboard.md` names some of them in its prose.
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
