/** The exit codes and their meanings, which are a contract with scripts. */
export const EXIT = {
  ok: 0,
  /** The command was refused or failed, and no other code fits. */
  refused: 1,
  /** The usage or the configuration is wrong. Nothing was done. */
  usage: 2,
  not_found: 3,
  not_allowed: 4,
  /** The daemon cannot be reached. */
  unreachable: 5,
  conflict: 6,
  partly_done: 7,
  /** The command worked, and the answer to its question is no. */
  answer_is_no: 8,
  wait_ran_out: 9,
  /** The data is corrupt. */
  data_corrupt: 65,
  bug: 70,
  storage_failed: 74,
  /** Another daemon holds the data directory. */
  data_held: 75,
  sigint: 130,
  sigterm: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

interface End {
  /** True if the same start may succeed later without help. systemd then starts the daemon again. */
  readonly again: boolean;
  readonly why: string;
}

/**
 * The ways in which `serve` may end other than by a normal stop. The systemd unit and the runbook follow this table.
 */
export const ENDS_OF_SERVE = {
  refused: { again: true, why: "another program may be using the port, and a missing key file may come back" },
  usage: { again: false, why: "the configuration must be changed" },
  data_corrupt: { again: false, why: "a person must choose what to restore" },
  bug: { again: true, why: "what was acknowledged is on the disk" },
  storage_failed: { again: true, why: "space may be freed, and disks may come back" },
  data_held: { again: true, why: "a backup, a restore or another daemon may end" },
  sigint: { again: false, why: "it was interrupted twice" },
  sigterm: { again: false, why: "it was interrupted twice" },
} as const satisfies Partial<Record<keyof typeof EXIT, End>>;

export type EndOfServe = keyof typeof ENDS_OF_SERVE;
