/**
 * The sealed values in a store. If the key is lost, new secrets are made. If it is replaced, values are sealed again.
 */
import type { Database, Statement } from "better-sqlite3";
import { ALERT_TENANT } from "../../../domain/alert.ts";
import { Meta } from "../engine/meta.ts";
import type { Box } from "../../rows/box.ts";
import { authPlace, headersPlace, secretPlace, stringsOf, nextSecretPlace } from "../../rows/endpoint-row.ts";
import { nextPrivateKeyPlace, privateKeyPlace } from "../../rows/signing-key-row.ts";

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
  readonly has_auth: number;
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
  /** True if it had an auth, which is lost. Nothing is sent without it either. */
  readonly lostAuth: boolean;
}

export class SealedRows {
  readonly #db: Database;
  readonly #all: Statement<[], Row>;
  readonly #set: Statement<[string, string | null, string, number]>;
  readonly #keys: Statement<[], { readonly tenant: number; readonly name: string }>;
  readonly #setKey: Statement<[string, number]>;

  constructor(db: Database) {
    this.#db = db;
    this.#keys = db.prepare("SELECT k.tenant, t.name FROM signing_key k JOIN tenant t ON t.num = k.tenant");
    this.#setKey = db.prepare("UPDATE signing_key SET private_key = ? WHERE tenant = ?");
    this.#all = db.prepare(
      `SELECT e.number, e.id, t.name AS tenant, e.uid, e.url, e.description, e.enabled, e.header_names,
         e.headers, e.auth IS NOT NULL AS has_auth
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
        lostAuth: row.has_auth === 1,
      }));
  }

  /**
   * Gives every endpoint a new secret, and every tenant that has a private key a new one. Header values and auth stay
   * sealed with the lost key: their endpoint is damaged, and nothing is sent to it until they are set again. The
   * responses under idempotency keys are dropped, because they can no longer be matched.
   */
  reissue(box: Box, newSecret: () => string, newKey: () => string): void {
    this.#db.exec(
      `UPDATE endpoint SET secret_version = secret_version + 1, next_secret = NULL, switches_at = NULL
       WHERE deleted_at IS NULL;
       UPDATE signing_key SET next_private_key = NULL, switches_at = NULL;
       DELETE FROM idempotency;`,
    );
    for (const row of this.#all.all()) {
      const hasHeaders = stringsOf(row.header_names)?.length !== 0;
      const headers = hasHeaders ? row.headers : box.seal("{}", headersPlace(row.id));
      this.#set.run(box.seal(newSecret(), secretPlace(row.id)), null, headers, row.number);
    }
    for (const { tenant, name } of this.#keys.all()) {
      this.#setKey.run(box.seal(newKey(), privateKeyPlace(name)), tenant);
    }
  }
}

interface Sealing {
  /** The rows above a number, in the order of their numbers, with the name to which their texts are bound. */
  readonly select: string;
  /** Takes the texts in the order of `places`, then the number. */
  readonly set: string;
  /** The columns with sealed text, and the place of each. */
  readonly places: Readonly<Record<string, (name: string) => string>>;
}

const ENDPOINTS: Sealing = {
  select: `SELECT number, id AS name, secret, next_secret, headers, auth FROM endpoint
    WHERE deleted_at IS NULL AND number > ? ORDER BY number LIMIT ?`,
  set: "UPDATE endpoint SET secret = ?, next_secret = ?, headers = ?, auth = ? WHERE number = ?",
  places: { secret: secretPlace, next_secret: nextSecretPlace, headers: headersPlace, auth: authPlace },
};

const SIGNING_KEYS: Sealing = {
  select: `SELECT k.tenant AS number, t.name AS name, private_key, next_private_key
    FROM signing_key k LEFT JOIN tenant t ON t.num = k.tenant WHERE k.tenant > ? ORDER BY k.tenant LIMIT ?`,
  set: "UPDATE signing_key SET private_key = ?, next_private_key = ? WHERE tenant = ?",
  places: { private_key: privateKeyPlace, next_private_key: nextPrivateKeyPlace },
};

type SealedRow = Readonly<Record<string, string | null>> & { readonly number: number; readonly name: string };

interface Anew {
  readonly from: SealedRow;
  readonly texts: readonly (string | null)[];
  readonly isWhole: boolean;
}

export interface Resealed {
  /** The number of endpoints. */
  readonly resealed: number;
  /** The endpoints with a sealed value that could not be opened before either. */
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
  readonly #to: Box;
  readonly #endpoints: ResealedTable;
  readonly #signingKeys: ResealedTable;

  constructor(db: Database, from: Box, to: Box) {
    this.#db = db;
    this.#endpoints = new ResealedTable(db, ENDPOINTS, { from, to });
    this.#signingKeys = new ResealedTable(db, SIGNING_KEYS, { from, to });
    this.#to = to;
  }

  /** Seals some more rows, without writing them. Returns false if none are left. */
  step(): boolean {
    return this.#endpoints.step() || this.#signingKeys.step();
  }

  /** Call it inside a transaction. From its commit on, the new key is the store's. */
  write(): Resealed {
    const done = this.#endpoints.write();
    this.#signingKeys.write();
    const meta = new Meta(this.#db);
    meta.setKey(this.#to);
    meta.keepMarks(this.#to);
    return done;
  }
}

class ResealedTable {
  readonly #from: Box;
  readonly #to: Box;
  readonly #columns: readonly (readonly [column: string, place: (name: string) => string])[];
  readonly #select: Statement<[number, number], SealedRow>;
  readonly #set: Statement<unknown[]>;
  /** Keyed by the row's number. */
  readonly #anew = new Map<number, Anew>();
  #last = 0;

  constructor(db: Database, { select, set, places }: Sealing, { from, to }: { readonly from: Box; readonly to: Box }) {
    this.#from = from;
    this.#to = to;
    this.#columns = Object.entries(places);
    this.#select = db.prepare(select);
    this.#set = db.prepare(set);
  }

  step(): boolean {
    const rows = this.#select.all(this.#last, STEP);
    for (const row of rows) this.#anew.set(row.number, this.#seal(row));
    this.#last = rows.at(-1)?.number ?? this.#last;
    return rows.length > 0;
  }

  write(): Resealed {
    const damaged: string[] = [];
    const rows = this.#select.all(0, -1);
    for (const row of rows) {
      const before = this.#anew.get(row.number);
      const anew = before !== undefined && this.#isSame(before.from, row) ? before : this.#seal(row);
      this.#set.run(...anew.texts, row.number);
      if (!anew.isWhole) damaged.push(row.name);
    }
    return { resealed: rows.length, damaged };
  }

  /** Throws unless the new values open. A value that could not be opened before is left as it is. */
  #seal(row: SealedRow): Anew {
    let isWhole = true;
    const texts = this.#columns.map(([column, placeOf]) => {
      const sealed = row[column] ?? null;
      if (sealed === null) return null;
      const place = placeOf(row.name);
      const text = this.#from.open(sealed, place);
      if (text === null) {
        isWhole = false;
        return sealed;
      }
      const anew = this.#to.seal(text, place);
      if (this.#to.open(anew, place) !== text) throw new Error(`${place} could not be sealed again`);
      return anew;
    });
    return { from: row, texts, isWhole };
  }

  #isSame(one: SealedRow, other: SealedRow): boolean {
    return this.#columns.every(([column]) => one[column] === other[column]);
  }
}
