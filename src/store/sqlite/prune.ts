/** Events that are over and old go, with all that belongs to them, some rows at a time. */
import type { Database, Statement } from "better-sqlite3";
import type { Pruned, PruneRules } from "../store.ts";
import { FAILED, WAITING } from "./codes.ts";
import { firstKeyAt, instantOf } from "./ids.ts";
import { CHUNK } from "./sweep.ts";

/** The pages of a large body are read one by one when it is deleted, which may be from the disk. */
const MAX_BODY_BYTES = 1024 * 1024;

interface Candidate {
  readonly key: number;
  readonly test: number;
  readonly bytes: number | null;
}

type DeleteSome = Statement<[event: number, limit: number]>;

export class Prune {
  readonly #candidates: Statement<[number, number, number], Candidate>;
  readonly #state: Statement<[number], { open: number | null; failed: number | null }>;
  readonly #lastAttempt: Statement<[number], number | null>;
  readonly #attempts: DeleteSome;
  readonly #deliveries: DeleteSome;
  readonly #event: Statement<[number]>;

  constructor(db: Database) {
    this.#candidates = db.prepare(
      "SELECT key, test, length(body) AS bytes FROM event WHERE key > ? AND key < ? ORDER BY key LIMIT ?",
    );
    this.#state = db.prepare(
      `SELECT max(status <= ${WAITING}) AS open, max(status = ${FAILED}) AS failed FROM delivery WHERE event = ?`,
    );
    this.#lastAttempt = db
      .prepare<[number], number | null>("SELECT max(started_at) FROM attempt WHERE event = ?")
      .pluck();
    this.#attempts = db.prepare("DELETE FROM attempt WHERE event = ? LIMIT ?");
    this.#deliveries = db.prepare("DELETE FROM delivery WHERE event = ? LIMIT ?");
    this.#event = db.prepare("DELETE FROM event WHERE key = ?");
  }

  /**
   * Inside a transaction. An event of many rows takes several steps: its own row goes last, so that a later step, or a
   * later process, finds it again.
   */
  prune(rules: PruneRules, from: string | null): Pruned {
    const end = firstKeyAt(Math.max(rules.delivered, rules.failed));
    const candidates = this.#candidates.all(from === null ? -1 : Number(from), end, CHUNK);
    let [rows, bytes, pruned] = [0, 0, 0];
    for (const event of candidates) {
      const here = String(event.key - 1);
      if (bytes >= MAX_BODY_BYTES) return { pruned, next: here };
      if (this.#isOld(event, rules)) {
        rows += this.#attempts.run(event.key, CHUNK - rows).changes;
        if (rows < CHUNK) rows += this.#deliveries.run(event.key, CHUNK - rows).changes;
        if (rows >= CHUNK) return { pruned, next: here };
        rows += this.#event.run(event.key).changes;
        bytes += event.bytes ?? 0;
        pruned++;
      }
    }
    return { pruned, next: candidates.length < CHUNK ? null : String(candidates.at(-1)!.key) };
  }

  #isOld({ key, test }: Candidate, { delivered, failed }: PruneRules): boolean {
    const state = this.#state.get(key)!;
    if (state.open === 1) return false;
    // Nobody looks for a failed test as for a failed delivery.
    const before = state.failed === 1 && test === 0 ? failed : delivered;
    // A replay makes an old event young: whoever made it wants to see what came of it.
    return instantOf(key) < before && (this.#lastAttempt.get(key) ?? 0) < before;
  }
}
