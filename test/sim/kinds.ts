/** Which kinds of trouble a seed has at all: few at a time find what all at once would hide. */
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
  /** Senders on threads of their own, which die. */
  threads: boolean;
  threadDeaths: boolean;
  /** Everything is paused and resumed. */
  pauses: boolean;
  /** Times without a file descriptor left. */
  shortages: boolean;
  /** Times in which nobody can be reached. */
  outages: boolean;
  /** Endpoints are deleted, and others registered. */
  deletions: boolean;
  /** Bulk jobs are made and steered. */
  jobs: boolean;
  /** What is over is removed soon. */
  prunes: boolean;
  /** A tenant may have few deliveries pending. */
  shares: boolean;
  /** Backups are made, and restored. */
  restores: boolean;
  /** Batches so large that memory must give some of them back. */
  bursts: boolean;
  /** Names get addresses that nobody may be sent to, and the rules change. */
  addresses: boolean;
}

const UNDONE = ["rotations", "hands", "deadly", "holds", "deletions", "jobs", "prunes"] as const;

/** Each kind that came later has its chance from another source, so that old seeds go on as they did. */
export interface KindSources {
  readonly random: Random;
  readonly ofHands: Random;
  readonly ofUpkeep: Random;
  readonly ofAddresses: Random;
}

/** With a bug put in, only what it needs to show: `planted`. */
export function drawKinds(
  { random, ofHands, ofUpkeep, ofAddresses }: KindSources,
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
    ...planted,
  };
  // A job would make the same deadly event anew again and again.
  if (kinds.deadly) kinds.jobs = false;
  // What an operator was answered after the backup is undone by its restore.
  if (kinds.restores) for (const kind of UNDONE) kinds[kind] = false;
  return kinds;
}
