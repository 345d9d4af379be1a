/**
 * The data of large batches, in separate rows. In a single commit, the data would delay everybody for as long as the
 * disk takes to write it. So it is written before the events, in parts with a commit each. The last commit adds the
 * events, all at once, and they refer to it. Data whose events never came is removed.
 */
import type { Statement } from "better-sqlite3";
import type { EventDraft } from "../../../domain/events/event.ts";
import type { Routed } from "../../../domain/events/routing.ts";
import type { Engine } from "../engine/engine.ts";
import { CHUNK_SIZE, LARGE_BYTES } from "../engine/group-commit.ts";
import { bodyHash } from "../../rows/codes.ts";
import { unawaited } from "../../../domain/unawaited.ts";

/** The number of rows that one commit removes. SQLite reads the pages of a row to free them. */
const REMOVED = 4;

/** The row that contains the data of one draft. */
export interface DataRow {
  readonly num: number;
  readonly hash: Buffer;
}

/** The rows written for a batch whose events are not committed yet. */
export interface LargeBatch {
  readonly first: number;
  /** The rows in the order of the drafts. Undefined if a draft's data was not written. */
  readonly rows: readonly (DataRow | undefined)[];
}

interface Range {
  readonly first: number;
  readonly last: number;
}

export class LargeData {
  readonly #engine: Engine;
  readonly #begin: Statement<[number, number]>;
  readonly #end: Statement<[number]>;
  readonly #add: Statement<[number, Uint8Array]>;
  readonly #removeSome: Statement<[Range]>;
  readonly #left: Statement<[], Range>;
  #next: number;
  /** The first numbers of batches whose events may still come. */
  readonly #underWay = new Set<number>();
  /** The end of each tenant's last large batch. */
  readonly #ends = new Map<string, Promise<unknown>>();

  constructor(engine: Engine) {
    const { db } = engine;
    this.#engine = engine;
    this.#begin = db.prepare("INSERT OR IGNORE INTO large_batch (first, last) VALUES (?, ?)");
    this.#end = db.prepare("DELETE FROM large_batch WHERE first = ?");
    this.#add = db.prepare("INSERT INTO large_data (num, data) VALUES (?, ?)");
    this.#removeSome = db.prepare(
      `DELETE FROM large_data WHERE num BETWEEN @first AND @last AND EXISTS (SELECT 1 FROM large_batch WHERE first = @first)
       LIMIT ${REMOVED}`,
    );
    this.#left = db.prepare("SELECT first, last FROM large_batch");
    const last =
      "max(coalesce((SELECT max(num) FROM large_data), 0), coalesce((SELECT max(last) FROM large_batch), 0))";
    this.#next = 1 + db.prepare<[], number>(`SELECT ${last}`).pluck().get()!;
  }

  /**
   * Writes the data, then calls `commit` for the last commit, or with null if nothing was written because every draft
   * repeats an earlier event. Writes nothing if `route` throws a refusal. A tenant's batches run one after another,
   * because otherwise all of their last commits would come at the end.
   */
  async publish<T>(
    drafts: readonly EventDraft[],
    tenant: string,
    route: () => Promise<readonly Routed<unknown, unknown>[]>,
    commit: (batch: LargeBatch | null) => Promise<T>,
  ): Promise<T> {
    const result = (this.#ends.get(tenant) ?? Promise.resolve()).then(async () => {
      const routed = await route();
      const isNew = (at: number) => "recipients" in routed[at]!;
      if (!drafts.some((_, at) => isNew(at))) return commit(null);
      const batch = await this.#write(drafts, tenant, isNew);
      try {
        return await commit(batch);
      } finally {
        this.#finish(batch.first);
      }
    });
    const end = result.catch(() => {});
    this.#ends.set(tenant, end);
    unawaited(end.then(() => this.#ends.get(tenant) === end && this.#ends.delete(tenant)));
    return result;
  }

  async #write(drafts: readonly EventDraft[], tenant: string, wanted: (at: number) => boolean): Promise<LargeBatch> {
    const [first, last] = [this.#next, this.#next + drafts.length - 1];
    this.#next = last + 1;
    this.#underWay.add(first);
    const rows = Array.from({ length: drafts.length }, (): DataRow | undefined => undefined);
    let isGivenUp = false;
    const commits = partsOf(drafts, wanted).map(async ({ places, bytes }) => {
      const work = () => {
        if (isGivenUp) return;
        this.#begin.run(first, last);
        for (const at of places) {
          const { data } = drafts[at]!;
          this.#add.run(first + at, data);
          rows[at] = { num: first + at, hash: bodyHash(data) };
        }
      };
      try {
        await this.#engine.commit.run(work, { events: 0, deliveries: 0, published: { tenant, bytes } });
      } catch (error) {
        isGivenUp = true;
        throw error;
      }
    });
    // All of them must have ended before anything is removed.
    const results = await Promise.allSettled(commits);
    const failed = results.find((result) => result.status === "rejected");
    if (failed === undefined) return { first, rows };
    this.#finish(first);
    throw failed.reason;
  }

  /** Marks the rows as used by their events, except those in `left`. Call it inside a transaction. */
  refer({ first }: LargeBatch, left: readonly DataRow[]): void {
    if (this.#end.run(first).changes !== 1) throw new Error("the data of a large batch is not there");
    for (const { num } of left) this.#begin.run(num, num);
  }

  /** No more events of the batch will come. */
  #finish(first: number): void {
    this.#underWay.delete(first);
    unawaited(this.dropLeft());
  }

  /** Removes rows that no event refers to, of refused batches and of processes that ended. Never rejects. */
  async dropLeft(): Promise<void> {
    const { commit, read } = this.#engine;
    try {
      const left = read(() => this.#left.all()).filter(({ first }) => !this.#underWay.has(first));
      for (const range of left) while ((await commit.run(() => this.#dropSome(range), CHUNK_SIZE)) === REMOVED);
    } catch {
      // The disk may be full. The next check of its space tries again.
    }
  }

  #dropSome(range: Range): number {
    const { changes } = this.#removeSome.run(range);
    if (changes < REMOVED) this.#end.run(range.first);
    return changes;
  }
}

interface Part {
  readonly places: readonly number[];
  readonly bytes: number;
}

function partsOf(drafts: readonly EventDraft[], wanted: (at: number) => boolean): Part[] {
  const parts: Part[] = [];
  let [places, bytes]: [number[], number] = [[], 0];
  for (const [at, { data }] of drafts.entries()) {
    if (!wanted(at)) continue;
    places.push(at);
    bytes += data.length;
    if (bytes <= LARGE_BYTES) continue;
    parts.push({ places, bytes });
    [places, bytes] = [[], 0];
  }
  return places.length === 0 ? parts : [...parts, { places, bytes }];
}
