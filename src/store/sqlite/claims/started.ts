/**
 * Careful mode: after deaths of the process in quick succession, deliveries are marked before they are dialled, so that
 * the next start knows what was on the wire when the process died.
 */
import type { Database, Statement } from "better-sqlite3";
import type { Send } from "../../../domain/deliveries/delivery.ts";
import type { Suspect } from "../../store.ts";
import type { Due } from "./due.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { storageFull } from "../engine/faults.ts";
import { keyOf } from "../numbers/ids.ts";
import type { ManualAttempts } from "./manual-attempts.ts";
import type { Meta } from "../engine/meta.ts";

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
  readonly #manual: ManualAttempts;
  readonly #mark: Statement<[number, number]>;
  readonly #clear: Statement<[number, number]>;
  readonly #all: Statement<[], Row>;
  readonly #begin: () => void;
  #begun = false;
  /** Whether any delivery may be marked. */
  #some: boolean;
  readonly careful: boolean;

  constructor(db: Database, parts: { meta: Meta; index: EndpointIndex; due: Due; manual: ManualAttempts }) {
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
    const deaths = meta.young ? meta.quickDeaths + 1 : 0;
    this.#begin = db.transaction(() => {
      meta.beginLife(deaths);
      accuse.run();
    }).immediate;
    this.#some = any.get() !== undefined;
    this.careful = deaths >= QUICK_DEATHS;
  }

  /** Writes down that this life began. Not inside a transaction. */
  begin(): void {
    if (this.#begun) return;
    this.#begin();
    this.#begun = true;
  }

  /** What was on the wire at a death, and which of it has ended since. */
  suspects(): { readonly suspects: Suspect[]; readonly ended: (readonly [event: number, endpoint: number])[] } {
    const suspects: Suspect[] = [];
    const ended: (readonly [event: number, endpoint: number])[] = [];
    for (const { event, endpoint, interruptions } of this.#all.all()) {
      // One that was asked for is tried as such: its delivery need not be due.
      const claim = this.#manual.claim(event, endpoint) ?? this.#due.claim(event, endpoint);
      if (claim === null) ended.push([event, endpoint]);
      else suspects.push({ claim, interruptions });
    }
    return { suspects, ended };
  }

  mark(sends: readonly Send[]): void {
    // Or it would be taken for one of the last life's.
    if (!this.#begun) throw storageFull();
    this.#some = true;
    for (const { event, endpoint } of sends) {
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
