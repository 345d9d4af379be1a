/** Jobs that are over and old go, with what they came to at each of their endpoints, some rows at a time. */
import type { Database, Statement } from "better-sqlite3";
import type { Pruned } from "../../store.ts";
import { CHUNK } from "../endpoints/sweep.ts";

interface Candidate {
  readonly num: number;
  /** Nothing is left of its set. */
  readonly shut: number;
  readonly ended_at: number | null;
}

export class OldJobs {
  readonly #candidates: Statement<[number, number], Candidate>;
  readonly #endpoints: Statement<[number, number]>;
  readonly #job: Statement<[number]>;

  constructor(db: Database) {
    this.#candidates = db.prepare("SELECT num, open = 0 AS shut, ended_at FROM job WHERE num > ? ORDER BY num LIMIT ?");
    this.#endpoints = db.prepare("DELETE FROM job_endpoint WHERE job = ? LIMIT ?");
    this.#job = db.prepare("DELETE FROM job WHERE num = ?");
  }

  /** Inside a transaction. A job's own row goes last, so that a later step, or a later process, finds it again. */
  prune(before: number, from: string | null): Pruned {
    const candidates = this.#candidates.all(from === null ? -1 : Number(from), CHUNK);
    let [rows, pruned] = [0, 0];
    for (const { num, shut, ended_at } of candidates) {
      if (shut === 0 || ended_at === null || ended_at >= before) continue;
      rows += this.#endpoints.run(num, CHUNK - rows).changes;
      if (rows >= CHUNK) return { pruned, next: String(num - 1) };
      rows += this.#job.run(num).changes;
      pruned++;
    }
    return { pruned, next: candidates.length < CHUNK ? null : String(candidates.at(-1)!.num) };
  }
}
