/** The kinds of trouble that a seed has. A few at a time find what all of them together would hide. */
import type { Random } from "./random.ts";

export interface Kinds {
  crash: boolean;
  crashAtAwait: boolean;
  disk: boolean;
  /** Commits fail, before or after they took effect. */
  commits: boolean;
  clock: boolean;
  receivers: boolean;
  operators: boolean;
  rotations: boolean;
  /** Attempts by hand, cancels and erasures. */
  hands: boolean;
  deadly: boolean;
  /** Endpoints are disabled and enabled. */
  holds: boolean;
  /** Senders run on separate threads, which die. */
  threads: boolean;
  threadDeaths: boolean;
  /** Sending is paused and resumed. */
  pauses: boolean;
  /** Sometimes there is no file descriptor left. */
  shortages: boolean;
  /** Sometimes no receiver can be reached. */
  outages: boolean;
  /** Endpoints are deleted, and others registered. */
  deletions: boolean;
  /** Bulk jobs are created and steered. */
  jobs: boolean;
  /** Ended events are pruned soon. */
  prunes: boolean;
  /** A tenant may have only a few deliveries pending. */
  shares: boolean;
  /** Backups are made and restored. */
  restores: boolean;
  /** Batches are so large that memory must give some deliveries back. */
  bursts: boolean;
  /** Names get addresses that may not be dialled, and the rules change. */
  addresses: boolean;
  /** Endpoints choose by patterns and filters and use private keys, and types are added and deleted. */
  choices: boolean;
  /** Endpoints get the events of each ordering key in order. */
  orders: boolean;
}

const UNDONE = ["rotations", "hands", "deadly", "holds", "deletions", "jobs", "prunes", "choices"] as const;

/** Newer kinds draw their chance from separate sources, so that old seeds still produce the same runs. */
export interface KindSources {
  readonly random: Random;
  readonly ofHands: Random;
  readonly ofUpkeep: Random;
  readonly ofAddresses: Random;
  readonly ofChoices: Random;
  readonly ofOrders: Random;
}

/** Draws the kinds of a seed. With a planted bug, only those that show it. */
export function drawKinds(
  { random, ofHands, ofUpkeep, ofAddresses, ofChoices, ofOrders }: KindSources,
  planted: Partial<Kinds> | null,
): Kinds {
  const kind = () => random.chance(0.5);
  const kinds: Kinds = {
    crash: kind(),
    crashAtAwait: kind(),
    disk: kind(),
    commits: kind(),
    clock: kind(),
    receivers: kind(),
    operators: kind(),
    deadly: random.chance(0.05),
    bursts: random.chance(0.3),
    rotations: kind(),
    outages: random.chance(0.3),
    threads: kind(),
    threadDeaths: random.chance(0.3),
    holds: random.chance(0.3),
    hands: planted === null && ofHands.chance(0.5),
    pauses: planted === null && ofHands.chance(0.2),
    shortages: planted === null && ofHands.chance(0.2),
    deletions: planted === null && ofUpkeep.chance(0.3),
    jobs: planted === null && ofUpkeep.chance(0.3),
    prunes: planted === null && ofUpkeep.chance(0.3),
    shares: planted === null && ofUpkeep.chance(0.2),
    restores: planted === null && ofUpkeep.chance(0.15),
    addresses: planted === null && ofAddresses.chance(0.3),
    choices: planted === null && ofChoices.chance(0.4),
    orders: planted === null && ofOrders.chance(0.5),
    ...planted,
  };
  // A job would send the deadly event again and again.
  if (kinds.deadly) kinds.jobs = false;
  // A restore undoes what operators did since the backup.
  if (kinds.restores) for (const kind of UNDONE) kinds[kind] = false;
  return kinds;
}
