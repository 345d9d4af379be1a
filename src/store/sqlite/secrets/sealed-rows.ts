/**
 * The sealed values in a store. New secrets are made if the key is lost, and values are sealed again if it is replaced.
 */
import type { Database, Statement } from "better-sqlite3";
import { ALERT_TENANT } from "../../../domain/alert.ts";
import { Meta } from "../engine/meta.ts";
import type { Box } from "../../rows/box.ts";
import { headersPlace, secretPlace, stringsOf, nextSecretPlace } from "../../rows/endpoint-row.ts";

interface Row {
  readonly number: number;
  readonly id: string;
  readonly tenant: string | null;
  readonly uid: string | null;
  readonly url: string;
  readonly description: string;
  readonly enabled: number;
  readonly header_names: string;
  readonly headers: string;
}

/** An endpoint whose owner must be told. */
export interface Affected {
  readonly endpoint: string;
  readonly tenant: string;
  readonly uid: string | null;
  readonly url: string;
  readonly description: string;
  readonly enabled: boolean;
  /** The names of headers whose values are lost. Nothing is sent without them. */
  readonly lostHeaders: readonly string[];
}

export class SealedRows {
  readonly #db: Database;
  readonly #all: Statement<[], Row>;
  readonly #set: Statement<[string, string | null, string, number]>;

  constructor(db: Database) {
    this.#db = db;
    this.#all = db.prepare(
      `SELECT e.number, e.id, t.name AS tenant, e.uid, e.url, e.description, e.enabled, e.header_names,
         e.headers
       FROM endpoint e LEFT JOIN tenant t ON t.num = e.tenant WHERE e.deleted_at IS NULL ORDER BY e.number`,
    );
    this.#set = db.prepare("UPDATE endpoint SET secret = ?, next_secret = ?, headers = ? WHERE number = ?");
  }

  affected(): Affected[] {
    return this.#all
      .all()
      .filter(({ tenant }) => tenant !== ALERT_TENANT)
      .map((row) => ({
        endpoint: row.id,
        tenant: row.tenant ?? "unknown",
        uid: row.uid,
        url: row.url,
        description: row.description,
        enabled: row.enabled === 1,
        lostHeaders: stringsOf(row.header_names) ?? ["unknown"],
      }));
  }

  /**
   * Gives every endpoint a new secret. Header values stay sealed with the lost key: their endpoint is damaged, and
   * nothing is sent to it until they are set again. The responses under idempotency keys are dropped, because they
   * cannot be matched any more.
   */
  reissue(box: Box, newSecret: () => string): void {
    this.#db.exec(
      `UPDATE endpoint SET secret_version = secret_version + 1, next_secret = NULL, switches_at = NULL
       WHERE deleted_at IS NULL;
       DELETE FROM idempotency;`,
    );
    for (const row of this.#all.all()) {
      const hasHeaders = stringsOf(row.header_names)?.length !== 0;
      const headers = hasHeaders ? row.headers : box.seal("{}", headersPlace(row.id));
      this.#set.run(box.seal(newSecret(), secretPlace(row.id)), null, headers, row.number);
    }
  }
}

interface Sealed {
  readonly secret: string;
  readonly next_secret: string | null;
  readonly headers: string;
}

interface SealedRow extends Sealed {
  readonly number: number;
  readonly id: string;
}

interface Anew extends Sealed {
  readonly from: Sealed;
  readonly isWhole: boolean;
}

export interface Resealed {
  readonly resealed: number;
  /** The endpoints with a sealed value that did not open before either. */
  readonly damaged: readonly string[];
}

/** The number of rows in a step, which takes about 5 ms. */
const STEP = 16;

/**
 * Seals all values in a store again with another key. Opening and sealing takes time, so it is done in steps before the
 * transaction. Inside the transaction, rows that have changed since are sealed again, and all are written.
 */
export class Resealing {
  readonly #db: Database;
  readonly #from: Box;
  readonly #to: Box;
  readonly #select: Statement<[number, number], SealedRow>;
  readonly #set: Statement<[string, string | null, string, number]>;
  /** Keyed by the endpoint's number. */
  readonly #anew = new Map<number, Anew>();
  #last = 0;

  constructor(db: Database, from: Box, to: Box) {
    this.#db = db;
    this.#from = from;
    this.#to = to;
    this.#select = db.prepare(
      `SELECT number, id, secret, next_secret, headers FROM endpoint
       WHERE deleted_at IS NULL AND number > ? ORDER BY number LIMIT ?`,
    );
    this.#set = db.prepare("UPDATE endpoint SET secret = ?, next_secret = ?, headers = ? WHERE number = ?");
  }

  /** Seals some more rows, without writing them. Returns false if none are left. */
  step(): boolean {
    const rows = this.#select.all(this.#last, STEP);
    for (const row of rows) this.#anew.set(row.number, this.#seal(row));
    this.#last = rows.at(-1)?.number ?? this.#last;
    return rows.length > 0;
  }

  /** Call it inside a transaction. From its commit on, the new key is the store's. */
  write(): Resealed {
    const damaged: string[] = [];
    const rows = this.#select.all(0, -1);
    for (const row of rows) {
      const before = this.#anew.get(row.number);
      const anew = before !== undefined && isSame(before.from, row) ? before : this.#seal(row);
      this.#set.run(anew.secret, anew.next_secret, anew.headers, row.number);
      if (!anew.isWhole) damaged.push(row.id);
    }
    const meta = new Meta(this.#db);
    meta.setKey(this.#to);
    meta.keepMarks(this.#to);
    return { resealed: rows.length, damaged };
  }

  /** Throws unless the new values open. A value that did not open before is left as it is. */
  #seal(row: SealedRow): Anew {
    let isWhole = true;
    const again = (sealed: string, place: string) => {
      const text = this.#from.open(sealed, place);
      if (text === null) {
        isWhole = false;
        return sealed;
      }
      const anew = this.#to.seal(text, place);
      if (this.#to.open(anew, place) !== text) throw new Error(`${place} could not be sealed again`);
      return anew;
    };
    const secret = again(row.secret, secretPlace(row.id));
    const next_secret = row.next_secret === null ? null : again(row.next_secret, nextSecretPlace(row.id));
    const headers = again(row.headers, headersPlace(row.id));
    return { secret, next_secret, headers, from: row, isWhole };
  }
}

function isSame(one: Sealed, other: Sealed): boolean {
  return one.secret === other.secret && one.next_secret === other.next_secret && one.headers === other.headers;
}
