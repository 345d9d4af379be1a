/** All that is sealed in a store, where its key is lost. Inside a transaction. */
import type { Database, Statement } from "better-sqlite3";
import { ALERT_TENANT } from "../../../domain/alert.ts";
import type { Box } from "../engine/box.ts";
import { headersPlace, secretPlace, stringsOf } from "../endpoints/endpoint-row.ts";

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

/** An endpoint whose people have to be told. */
export interface Affected {
  readonly endpoint: string;
  readonly tenant: string;
  readonly uid: string | null;
  readonly url: string;
  readonly description: string;
  readonly enabled: boolean;
  /** Names of headers whose values are lost; nothing is sent without them. */
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
   * A new secret for every endpoint. Header values stay as they are, sealed with the key that is lost: their endpoint is
   * damaged, and nothing is sent to it, until they are given anew. What idempotency keys stood for cannot be told again.
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
