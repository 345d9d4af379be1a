/** Chooses where the power is cut, what the disk loses then, and how it lied before. */
import type { Random } from "../../test/sim/random.ts";
import type { Loss } from "./disk.ts";
import type { Recorded } from "./recording.ts";
import type { Session } from "./session.ts";

/**
 * `honest` keeps what was synced. The others are controls, on which something must be lost: `swallow` acknowledges
 * every sync of a file and writes nothing; `normal` syncs the write-ahead log only before a checkpoint, as
 * `synchronous=NORMAL` does.
 */
export type Honesty = "honest" | "normal" | "swallow";

export interface Cut {
  /** The number of operations that reached the disk. */
  readonly after: number;
  readonly loss: Loss;
  readonly seed: number;
  /** True if the whole daemon is started on what is left; otherwise only the store is opened. */
  readonly starts: boolean;
}

/** A daemon takes many times as long as its store. */
const STARTS = 20;

const LOSSES = ["dropped", "torn", "torn", "kept"] as const;

/** Sorts cuts by their place. Half of them are just behind a sync or a change of names, where most can go wrong. */
export function drawCuts(operations: readonly Recorded[], count: number, random: Random): Cut[] {
  const edges = operations.flatMap(({ kind }, at) => (kind === "write" || kind === "truncate" ? [] : [at + 1]));
  return inOrder(count, (at) => ({
    after: random.chance(0.5) ? random.pick(edges) : random.between(1, operations.length),
    loss: LOSSES[at % LOSSES.length]!,
    seed: random.between(0, 0x7fff_ffff),
    starts: Math.floor(at / LOSSES.length) % STARTS === 0,
  }));
}

/**
 * Cuts just behind acknowledgements and drops everything that was not synced, so a disk that lies has always lost
 * something. Both ways of checking must notice it.
 */
export function drawControls(session: Pick<Session, "operations" | "answered">, count: number, random: Random): Cut[] {
  const { operations, answered } = session;
  return inOrder(count, (at) => {
    const { end } = random.pick(answered);
    const after = operations.findIndex((operation) => operation.end >= end) + 1;
    return { after, loss: "dropped", seed: random.between(0, 0x7fff_ffff), starts: at % 2 === 0 };
  });
}

function inOrder(count: number, draw: (at: number) => Cut): Cut[] {
  return Array.from({ length: count }, (_, at) => draw(at)).toSorted((a, b) => a.after - b.after);
}

/** Returns the operations that the disk really performed. */
export function heard(operations: readonly Recorded[], disk: Honesty): readonly Recorded[] {
  if (disk === "honest") return operations;
  const wals = new Set<bigint>();
  const directories = new Set<bigint>();
  return operations.filter((operation, at) => {
    if (operation.kind === "mkdir") directories.add(operation.inode);
    if (operation.kind === "create" && operation.path.endsWith("-wal")) wals.add(operation.inode);
    if (operation.kind !== "sync" || directories.has(operation.inode)) return true;
    if (disk === "swallow") return false;
    const next = operations[at + 1];
    const isCheckpoint = next?.kind === "write" && next.inode !== operation.inode;
    return !wals.has(operation.inode) || isCheckpoint;
  });
}
