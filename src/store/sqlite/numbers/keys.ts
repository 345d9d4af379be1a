/** Makes keys that rise whatever the clock does, and computes when the objects that have them were created. */
import type { Database, Statement } from "better-sqlite3";
import type { Clock } from "../../../clock.ts";
import {
  aheadOf,
  KeyTimes,
  ON_TIME,
  RisingKeys,
  type OF_EVENTS,
  type OF_NUMBERS,
  type Slowdown,
} from "../../rows/key-times.ts";

type Kind = typeof OF_EVENTS | typeof OF_NUMBERS;

/** The key times on the disk, which another connection may write. */
export class StoredTimes {
  readonly #kind: Kind;
  readonly #all: Statement<[number], Slowdown>;

  constructor(db: Database, kind: Kind) {
    this.#kind = kind;
    this.#all = db.prepare("SELECT key, at FROM key_time WHERE kind = ?");
  }

  get now(): KeyTimes {
    const slowdowns = this.#all.all(this.#kind);
    return slowdowns.length === 0 ? ON_TIME : new KeyTimes(slowdowns);
  }
}

interface KeysParts {
  readonly db: Database;
  readonly clock: Pick<Clock, "now">;
  readonly kind: Kind;
  /** The last key that was used. */
  readonly last: number;
}

/** The keys of one kind, for their only writer. */
export class Keys {
  readonly #clock: () => number;
  readonly #kind: Kind;
  readonly #note: Statement<[kind: number, key: number, at: number]>;
  readonly #keys: RisingKeys;
  /** The times that were written, in this transaction or before it. */
  #noted: KeyTimes | null;

  constructor({ db, clock, kind, last }: KeysParts) {
    this.#clock = () => clock.now();
    this.#kind = kind;
    this.#keys = new RisingKeys(last, new StoredTimes(db, kind).now);
    this.#noted = this.#keys.times;
    this.#note = db.prepare("INSERT INTO key_time (kind, key, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
  }

  /** Call it inside a transaction. */
  next(now: number): number {
    const key = this.#keys.next(now, this.#clock);
    if (this.#keys.times !== this.#noted) this.#noteAll();
    return key;
  }

  aheadMs(now: number): number | null {
    return aheadOf(this.#keys.last, now);
  }

  /** The transaction was undone. */
  forget(): void {
    this.#noted = null;
  }

  #noteAll(): void {
    const { times } = this.#keys;
    for (const { key, at } of times.slowdowns) this.#note.run(this.#kind, key, at);
    this.#noted = times;
  }
}
