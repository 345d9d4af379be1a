/** What a command's end means, for scripts: a contract. */
export const EXIT = {
  ok: 0,
  /** Refused or failed, without a code of its own. */
  refused: 1,
  /** Wrong usage or a bad configuration; nothing was done. */
  usage: 2,
  not_found: 3,
  not_allowed: 4,
  /** The daemon cannot be reached. */
  unreachable: 5,
  conflict: 6,
  partly_done: 7,
  /** The command worked, and the answer is no. */
  answer_is_no: 8,
  wait_ran_out: 9,
  /** The data is not what it should be. */
  data_corrupt: 65,
  bug: 70,
  storage_failed: 74,
  /** Another daemon holds the data directory. */
  data_held: 75,
  sigint: 130,
  sigterm: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
