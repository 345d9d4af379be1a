/** Chooses where the power is cut, what the disk then loses, and how it lied before. */
import type { Random } from "../../test/sim/random.ts";
import type { Loss } from "./disk.ts";
import type { Recorded } from "./recording.ts";
import type { Session } from "./session.ts";

/**
 * `honest` keeps what was synced. The others are controls, which must lose something: `swallow` acknowledges every sync
 * of a file but writes nothing; `normal` syncs the write-ahead log only before a checkpoint, like `synchronous=NORMAL`.
 */
export type Honesty = "honest" | "normal" | "swallow";

export interface Cut {
  /** The number of operations that reached the disk. */
  readonly after: number;
  readonly loss: Loss;
  readonly seed: number;
  /** True to start the whole daemon on what is left. Otherwise only the store is opened. */
  readonly starts: boolean;
  /** Acknowledged events that a lying disk does not hold at this cut. An honest disk holds all of them. */
  readonly dropped: readonly string[];
}

/** A daemon takes many times as long as its store. */
const STARTS = 20;

const LOSSES = ["dropped", "torn", "torn", "kept"] as const;

/**
 * Sorts cuts by their position. Half of them are just after a sync or a change of names, where the most can go wrong.
 */
export function drawCuts(operations: readonly Recorded[], count: number, random: Random): Cut[] {
  const edges = operations.flatMap(({ kind }, at) => (kind === "write" || kind === "truncate" ? [] : [at + 1]));
  return inOrder(count, (at) => ({
    after: random.chance(0.5) ? random.pick(edges) : random.between(1, operations.length),
    loss: LOSSES[at % LOSSES.length]!,
    seed: random.between(0, 0x7fff_ffff),
    starts: Math.floor(at / LOSSES.length) % STARTS === 0,
    dropped: [],
  }));
}

/**
 * Cuts the power when the lying disk lacks acknowledged events, and drops everything that was not synced. The store and
 * the daemon, which starts at every second cut, must both miss these events. Otherwise they would notice no loss.
 */
export function drawControls(session: Pick<Session, "operations" | "answered">, options: ControlOptions): Cut[] {
  const { disk, count, random } = options;
  const losing = lossesAt(session, disk).filter(({ dropped }) => dropped.length > 0);
  if (losing.length === 0) return [];
  return inOrder(count, (at) => {
    const { after, dropped } = random.pick(losing);
    return { after, loss: "dropped", seed: random.between(0, 0x7fff_ffff), starts: at % 2 === 0, dropped };
  });
}

interface ControlOptions {
  readonly disk: Honesty;
  readonly count: number;
  readonly random: Random;
}

/**
 * Returns, for each answered publish, which acknowledged events the disk lacks if the power is cut right after the
 * answer.
 */
export function lossesAt(
  { operations, answered }: Pick<Session, "operations" | "answered">,
  disk: Honesty,
): { readonly after: number; readonly dropped: readonly string[] }[] {
  const events = answered.flatMap((one) => (one.kind === "event" ? [one] : [])).toSorted((a, b) => a.end - b.end);
  const byMarker = new Map(events.map(({ marker, id }) => [marker, id]));
  const listened = new Set(surviving(operations, disk));
  const unsynced = new Map<bigint, Set<string>>();
  const [written, kept] = [new Set<string>(), new Set<string>()];
  const losses: { after: number; dropped: readonly string[] }[] = [];
  const due = events.values();
  let next = due.next();
  for (const [at, operation] of operations.entries()) {
    if (operation.kind === "write") {
      for (const id of idsIn(operation.data, byMarker)) {
        written.add(id);
        getOrSet(unsynced, operation.inode).add(id);
      }
    }
    if (operation.kind === "sync" && listened.has(operation)) {
      for (const id of unsynced.get(operation.inode) ?? []) kept.add(id);
      unsynced.delete(operation.inode);
    }
    for (; !next.done && next.value.end <= operation.end; next = due.next()) {
      const { end } = next.value;
      // This cannot see an event whose marker spans two pages, so it does not count such an event as dropped.
      const dropped = events.filter((one) => one.end <= end && written.has(one.id) && !kept.has(one.id));
      losses.push({ after: at + 1, dropped: dropped.map(({ id }) => id) });
    }
  }
  return losses;
}

const MARKER = /"marker":"m\d+"/g;

function idsIn(data: Buffer, byMarker: ReadonlyMap<string, string>): string[] {
  return [...data.toString("latin1").matchAll(MARKER)].flatMap(([marker]) => byMarker.get(marker) ?? []);
}

function getOrSet(sets: Map<bigint, Set<string>>, key: bigint): Set<string> {
  const set = sets.get(key) ?? new Set();
  sets.set(key, set);
  return set;
}

function inOrder(count: number, draw: (at: number) => Cut): Cut[] {
  return Array.from({ length: count }, (_, at) => draw(at)).toSorted((a, b) => a.after - b.after);
}

/** Returns the operations that the disk really performed. */
export function surviving(operations: readonly Recorded[], disk: Honesty): readonly Recorded[] {
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
