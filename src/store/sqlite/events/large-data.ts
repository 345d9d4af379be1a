/**
 * The data of large batches, in rows beside their events. In one commit, it would hold up everyone for as long as the
 * disk takes to write it. So it is written before the events, in parts with a commit each; the events come with the last
 * commit, all at once, and refer to it. What was written for events that never came is removed.
 */
import type { Statement } from "better-sqlite3";
import type { EventDraft } from "../../../domain/events/event.ts";
import type { Engine } from "../engine/engine.ts";
import { CHUNK_SIZE, MAX_BYTES } from "../engine/group-commit.ts";
import { bodyHash } from "../numbers/codes.ts";

/** Up to here a batch has one commit: a second one costs as much as the rest of it. */
const WHOLE_BYTES = 256 * 1024;
/** Rows that one commit removes. */
const REMOVED = 16;

/** Where the data of one draft is. */
export interface LargePart {
  readonly num: number;
  readonly hash: Buffer;
}

export interface LargeBatch {
  readonly first: number;
  readonly last: number;
  /** By the place of the draft; undefined for one whose data was not written. */
  readonly parts: readonly (LargePart | undefined)[];
}

export function isLarge(drafts: readonly EventDraft[]): boolean {
  // A single event has one row, however large.
  return drafts.length > 1 && bytesOf(drafts) > WHOLE_BYTES;
}

export function bytesOf(drafts: readonly EventDraft[]): number {
  return drafts.reduce((sum, { data }) => sum + data.length, 0);
}

type Range = Pick<LargeBatch, "first" | "last">;

export class LargeData {
  readonly #engine: Engine;
  readonly #begin: Statement<[number, number]>;
  readonly #end: Statement<[number]>;
  readonly #add: Statement<[number, Uint8Array]>;
  readonly #remove: Statement<[number]>;
  readonly #removeSome: Statement<[Range]>;
  readonly #left: Statement<[], Range>;
  #next: number;

  constructor(engine: Engine) {
    const { db } = engine;
    this.#engine = engine;
    this.#begin = db.prepare("INSERT OR IGNORE INTO large_batch (first, last) VALUES (?, ?)");
    this.#end = db.prepare("DELETE FROM large_batch WHERE first = ?");
    this.#add = db.prepare("INSERT INTO large_data (num, data) VALUES (?, ?)");
    this.#remove = db.prepare("DELETE FROM large_data WHERE num = ?");
    this.#removeSome = db.prepare(
      `DELETE FROM large_data WHERE num BETWEEN @first AND @last AND EXISTS (SELECT 1 FROM large_batch WHERE first = @first)
       LIMIT ${REMOVED}`,
    );
    this.#left = db.prepare("SELECT first, last FROM large_batch");
    const last =
      "SELECT max(coalesce((SELECT max(num) FROM large_data), 0), coalesce((SELECT max(last) FROM large_batch), 0))";
    this.#next = 1 + db.prepare<[], number>(last).pluck().get()!;
  }

  /** Writes the data of the drafts that are `wanted`. Whoever calls it ends it, by `ended` or by `drop`. */
  async write(drafts: readonly EventDraft[], tenant: string, wanted: (at: number) => boolean): Promise<LargeBatch> {
    const first = this.#next;
    this.#next += drafts.length;
    const last = this.#next - 1;
    const parts: (LargePart | undefined)[] = drafts.map(() => undefined);
    const commits: Promise<void>[] = [];
    let [from, bytes] = [0, 0];
    for (const [at, { data }] of drafts.entries()) {
      if (wanted(at)) bytes += data.length;
      const isLast = at === drafts.length - 1;
      if (bytes <= MAX_BYTES && !isLast) continue;
      const begin = from;
      const work = () => {
        this.#begin.run(first, last);
        for (let place = begin; place <= at; place++) {
          if (!wanted(place)) continue;
          const num = first + place;
          this.#add.run(num, drafts[place]!.data);
          parts[place] = { num, hash: bodyHash(drafts[place]!.data) };
        }
      };
      commits.push(this.#engine.commit.run(work, { events: 0, deliveries: 0, published: { tenant, bytes } }));
      [from, bytes] = [at + 1, 0];
    }
    // All of them have ended before anything is removed.
    const results = await Promise.allSettled(commits);
    const failed = results.find((result) => result.status === "rejected");
    if (failed === undefined) return { first, last, parts };
    await this.drop({ first, last });
    throw failed.reason;
  }

  /** Its events are there, which use all that was not `remove`d. Inside a transaction. */
  ended({ first }: Range): void {
    this.#end.run(first);
  }

  /** Inside a transaction. */
  remove({ num }: Pick<LargePart, "num">): void {
    this.#remove.run(num);
  }

  /** Unless its events are there, after all. What cannot be removed now is at the next start. */
  async drop({ first, last }: Range): Promise<void> {
    const { commit } = this.#engine;
    const some = () => {
      const { changes } = this.#removeSome.run({ first, last });
      if (changes < REMOVED) this.#end.run(first);
      return changes;
    };
    try {
      while ((await commit.run(some, CHUNK_SIZE)) === REMOVED);
    } catch {
      // A full disk, most likely: nobody asks for these rows.
    }
  }

  /** Of a process that ended. */
  async dropLeft(): Promise<void> {
    for (const left of this.#engine.read(() => this.#left.all())) await this.drop(left);
  }
}
