/**
 * A disk that keeps what POSIX promises, and no more: the contents of a file are durable once the file was synced, and
 * a name once its directory was. After a power cut, later changes may be there, in part, or not at all.
 */
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Random } from "../../test/sim/random.ts";
import type { Operation } from "./recording.ts";

/** Decides what happens to everything that was not synced. */
export type Loss = "dropped" | "torn" | "kept";

type Change = { readonly offset: number; readonly data: Buffer } | { readonly bytes: number };

class File {
  synced = Buffer.alloc(0);
  #size = 0;
  #unsynced: Change[] = [];

  change(change: Change): void {
    this.#unsynced.push(change);
  }

  sync(): void {
    for (const change of this.#unsynced) this.#take(change);
    this.#unsynced = [];
  }

  /** Returns the file as a start after the power cut finds it. */
  after(loss: Loss, random: Random): Buffer {
    if (loss === "dropped" || this.#unsynced.length === 0) return this.synced.subarray(0, this.#size);
    const copy = new File();
    copy.synced = Buffer.from(this.synced);
    copy.#size = this.#size;
    for (const change of this.#unsynced) {
      const left = loss === "kept" ? change : torn(change, random);
      if (left !== null) copy.#take(left);
    }
    return copy.synced.subarray(0, copy.#size);
  }

  #take(change: Change): void {
    if ("bytes" in change) {
      if (change.bytes < this.#size) this.synced.fill(0, change.bytes, this.#size);
      this.#reserve(change.bytes);
      this.#size = change.bytes;
      return;
    }
    const end = change.offset + change.data.length;
    this.#reserve(end);
    change.data.copy(this.synced, change.offset);
    this.#size = Math.max(this.#size, end);
  }

  #reserve(bytes: number): void {
    if (bytes <= this.synced.length) return;
    const larger = Buffer.alloc(Math.max(bytes, this.synced.length * 2));
    this.synced.copy(larger);
    this.synced = larger;
  }
}

/** The names in a directory. Their changes reach the disk in order, as a journal would write them. */
class Directory {
  readonly now = new Map<string, Node>();
  #synced = new Map<string, Node>();
  #unsynced: (readonly [name: string, node: Node | null])[][] = [];

  /** The entries change together or not at all. */
  change(...entries: (readonly [name: string, node: Node | null])[]): void {
    this.#unsynced.push(entries);
    setAll(this.now, entries);
  }

  sync(): void {
    this.#synced = new Map(this.now);
    this.#unsynced = [];
  }

  after(loss: Loss, random: Random): Map<string, Node> {
    const left = loss === "dropped" ? 0 : loss === "kept" ? Infinity : random.between(0, this.#unsynced.length);
    const names = new Map(this.#synced);
    for (const entries of this.#unsynced.slice(0, left)) setAll(names, entries);
    return names;
  }
}

type Node = File | Directory;

export class Disk {
  readonly #root = new Directory();
  readonly #path: string;
  readonly #nodes = new Map<bigint, Node>();

  /** @param path the path of the root, which exists before the recording and stays */
  constructor(path: string) {
    this.#path = path;
  }

  apply(operation: Operation): void {
    switch (operation.kind) {
      case "create":
      case "mkdir": {
        const node = operation.kind === "create" ? new File() : new Directory();
        this.#nodes.set(operation.inode, node);
        this.#parentOf(operation.path).change([basename(operation.path), node]);
        return;
      }
      case "write":
        return this.#file(operation.inode)?.change(operation);
      case "truncate":
        return this.#file(operation.inode)?.change({ bytes: operation.bytes });
      case "sync":
        // The recording did not create the root itself, so a sync of the root has an unknown inode.
        return (this.#nodes.get(operation.inode) ?? this.#root).sync();
      case "unlink":
        return this.#parentOf(operation.path).change([basename(operation.path), null]);
      case "rename":
      case "link":
        this.#move(operation);
    }
  }

  /**
   * Returns what a start finds if the power is cut now: files by their paths from the root, with null for a directory.
   */
  after(loss: Loss, random: Random): Map<string, Buffer | null> {
    const found = new Map<string, Buffer | null>();
    addNames(found, ".", this.#root.after(loss, random), { loss, random });
    return found;
  }

  #move({ kind, path, to }: { kind: "rename" | "link"; path: string; to: string }): void {
    const from = this.#parentOf(path);
    const into = this.#parentOf(to);
    const node = from.now.get(basename(path))!;
    if (kind === "rename" && from === into) return from.change([basename(path), null], [basename(to), node]);
    into.change([basename(to), node]);
    if (kind === "rename") from.change([basename(path), null]);
  }

  #file(inode: bigint): File | null {
    const node = this.#nodes.get(inode);
    return node instanceof File ? node : null;
  }

  #parentOf(path: string): Directory {
    const parent = dirname(path);
    if (parent === this.#path) return this.#root;
    const node = this.#parentOf(parent).now.get(basename(parent));
    if (!(node instanceof Directory)) throw new Error(`${parent} is no directory of the recording`);
    return node;
  }
}

function setAll(names: Map<string, Node>, entries: readonly (readonly [name: string, node: Node | null])[]): void {
  for (const [name, node] of entries) {
    if (node === null) names.delete(name);
    else names.set(name, node);
  }
}

/** Loses the change, keeps it, replaces it by zeros, or keeps only some of its sectors. */
function torn(change: Change, random: Random): Change | null {
  const roll = random.next();
  if (roll < 0.3) return null;
  if ("bytes" in change || roll < 0.6) return change;
  if (roll < 0.75) return { offset: change.offset, data: Buffer.alloc(change.data.length) };
  const sector = random.pick([512, 4096]);
  const sectors = Math.ceil(change.data.length / sector);
  const first = random.between(0, sectors - 1) * sector;
  return { offset: change.offset + first, data: change.data.subarray(first, first + sector) };
}

function addNames(
  found: Map<string, Buffer | null>,
  directory: string,
  names: ReadonlyMap<string, Node>,
  { loss, random }: { loss: Loss; random: Random },
): void {
  for (const [name, node] of names) {
    const path = `${directory}/${name}`;
    // The first process to open the database rebuilds the index of a WAL.
    if (name.endsWith("-shm")) continue;
    found.set(path, node instanceof File ? node.after(loss, random) : null);
    if (node instanceof Directory) addNames(found, path, node.after(loss, random), { loss, random });
  }
}

/** Returns the same name for disks with the same contents. */
export function nameOf(found: ReadonlyMap<string, Buffer | null>): string {
  const hash = createHash("sha1");
  for (const [path, content] of found) {
    hash.update(`${path} ${content?.length ?? "directory"}\n`);
    if (content !== null) hash.update(content);
  }
  return hash.digest("hex");
}

export function writeTo(directory: string, found: ReadonlyMap<string, Buffer | null>): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const [path, content] of found) {
    if (content === null) mkdirSync(join(directory, path), { recursive: true, mode: 0o700 });
    else writeFileSync(join(directory, path), content, { mode: 0o600 });
  }
}
