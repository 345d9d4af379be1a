/**
 * Careful mode: after deaths of the process in quick succession, deliveries are marked before they are dialled, so that
 * the next start knows what was on the wire when the process died.
 */
import type { Database, Statement } from "better-sqlite3";
import type { Job } from "../../domain/delivery.ts";
import type { Suspect } from "../store.ts";
import type { Due } from "./due.ts";
import type { EndpointIndex } from "./endpoint-index.ts";
import { keyOf } from "./ids.ts";
import type { Manual } from "./manual.ts";
import type { Meta } from "./meta.ts";

const QUICK_DEATHS = 2;

interface Row {
  readonly event: number;
  readonly endpoint: number;
  readonly interruptions: number;
}

export class Started {
  readonly #meta: Meta;
  readonly #index: EndpointIndex;
  readonly #due: Due;
  readonly #manual: Manual;
  readonly #mark: Statement<[number, number]>;
  readonly #clear: Statement<[number, number]>;
  readonly #all: Statement<[], Row>;
  /** Whether any delivery may be marked. */
  #some: boolean;
  readonly careful: boolean;

  constructor(db: Database, parts: { meta: Meta; index: EndpointIndex; due: Due; manual: Manual }) {
    const { meta, index, due, manual } = parts;
    this.#meta = meta;
    this.#index = index;
    this.#due = due;
    this.#manual = manual;
    this.#mark = db.prepare(
      `INSERT INTO started (event, endpoint, interruptions, dialled) VALUES (?, ?, 0, 1)
       ON CONFLICT DO UPDATE SET dialled = 1`,
    );
    this.#clear = db.prepare("DELETE FROM started WHERE event = ? AND endpoint = ?");
    this.#all = db.prepare("SELECT event, endpoint, interruptions FROM started");
    // Only those of the last life: others still wait for their turn to be tried alone.
    const accuse = db.prepare("UPDATE started SET interruptions = interruptions + 1, dialled = 0 WHERE dialled = 1");
    const any = db.prepare("SELECT 1 FROM started LIMIT 1");
    // A life that neither lasted nor ended cleanly died young.
    const begin = db.transaction(() => {
      const deaths = meta.young ? meta.quickDeaths + 1 : 0;
      meta.beginLife(deaths);
      accuse.run();
      this.#some = any.get() !== undefined;
      return deaths;
    });
    this.#some = false;
    this.careful = begin.immediate() >= QUICK_DEATHS;
  }

  /** What was on the wire at a death; what has ended since is forgotten. Inside a transaction. */
  suspects(): Suspect[] {
    return this.#all.all().flatMap(({ event, endpoint, interruptions }) => {
      // One that was asked for is tried as such: its delivery need not be due.
      const claim = this.#manual.claim(event, endpoint) ?? this.#due.claim(event, endpoint);
      if (claim === null) this.#clear.run(event, endpoint);
      return claim === null ? [] : [{ claim, interruptions }];
    });
  }

  mark(jobs: readonly Job[]): void {
    this.#some = true;
    for (const { event, endpoint } of jobs) {
      const number = this.#index.byId(endpoint)?.number;
      if (number !== undefined) this.#mark.run(keyOf(event), number);
    }
  }

  /** Its attempt was recorded. */
  ended(event: number, endpoint: number): void {
    if (this.#some) this.#clear.run(event, endpoint);
  }

  /** This life has lasted, or ends cleanly: its death, if any, is no sign of a deadly delivery. */
  outlive(): void {
    this.#meta.outlive();
  }
}
