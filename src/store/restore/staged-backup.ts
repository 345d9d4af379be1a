/** A copy of a backup that is about to become a store. */
import type { Database } from "better-sqlite3";
import { matchesHash, type NewApiKey, type Token } from "../../domain/caller.ts";
import type { Pause } from "../../domain/deliveries/pause.ts";
import { StoreRefused } from "../files/refused.ts";
import { Keys } from "../sqlite/callers/keys.ts";
import { Meta } from "../sqlite/engine/meta.ts";
import { applySteps, schemaOf, openFile, type NativeBinding } from "../sqlite/engine/open-database.ts";
import type { Migration } from "../sqlite/engine/schema.ts";
import { IS_FRESH } from "../sqlite/numbers/fragments.ts";

export interface BackupContents {
  /** The time at which the backup was made. Null for a database that is not a backup. */
  readonly at: number | null;
  readonly endpoints: number;
  readonly events: number;
  readonly due: DueReport;
}

export interface StagedOptions {
  readonly file: string;
  /** The backup that the file is a copy of, for messages. */
  readonly backup: string;
  readonly migrations: readonly Migration[];
  readonly nativeBinding: NativeBinding | undefined;
}

const BUSY_MS = 5000;

/**
 * Returns the time at which the file was made as a backup, which has no write-ahead log. Null for any other database.
 */
export function copiedAt(file: string, nativeBinding: NativeBinding | undefined): number | null {
  const db = openFile(file, { timeout: BUSY_MS, nativeBinding, readonly: true });
  try {
    // If a store crashed before its first checkpoint, all of it is still in its log.
    const hasMeta = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get() !== undefined;
    return hasMeta ? new Meta(db).copiedAt : null;
  } finally {
    db.close();
  }
}

export class StagedBackup {
  /** The schema in the backup. */
  readonly schema: number;
  readonly #db: Database;
  readonly #meta: Meta;

  /**
   * Migrates the copy to the schema that this program needs. Throws `StoreRefused` unless the file is ours and whole.
   */
  constructor({ file, backup, migrations, nativeBinding }: StagedOptions) {
    this.#db = openFile(file, { timeout: BUSY_MS, nativeBinding });
    try {
      this.schema = requireWhole(this.#db, backup, migrations.length);
      applySteps(this.#db, this.schema, { migrations });
      this.#meta = new Meta(this.#db);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  get neededKey() {
    return { check: this.#meta.keyCheck, keyId: this.#meta.keyId, sealed: this.#meta.sealedKey };
  }

  contents(now: number): BackupContents {
    const number = (sql: string) => this.#db.prepare<[], number>(sql).pluck().get()!;
    return {
      at: this.#meta.copiedAt,
      endpoints: number("SELECT count(*) FROM endpoint WHERE deleted_at IS NULL"),
      events: number("SELECT count(*) FROM event"),
      due: reportDue(this.#db, now),
    };
  }

  /** Returns true if the token is an admin's, and valid. */
  admits(token: Token | null, now: number): boolean {
    const key = token && new Keys(this.#db).get(token.keyId);
    if (!key || !matchesHash(token.secret, key.hash)) return false;
    const lives = key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
    return lives && key.tenant === "*" && key.scopes.includes("admin");
  }

  /** Makes the copy a store that is paused. */
  takeUp(pause: Pause, newAdmin: NewApiKey | null): void {
    const all = this.#db.transaction(() => {
      this.#meta.takeUp(pause);
      if (newAdmin !== null) new Keys(this.#db).add(newAdmin, pause.at);
    });
    all.immediate();
  }

  close(): void {
    this.#db.close();
  }
}

/** Returns the schema's number. Throws unless the database is ours, whole, and not newer than we know. */
function requireWhole(db: Database, backup: string, wanted: number): number {
  const version = schemaOf(db, backup, { mayCreate: false, wanted });
  const found = db.pragma("integrity_check(1)", { simple: true });
  if (found !== "ok") throw new StoreRefused(65, `${backup} is damaged: ${String(found)}`, "choose another backup");
  // Keep one file, because a copy of a store that was in use is in WAL mode.
  db.pragma("journal_mode = DELETE");
  db.pragma("synchronous = FULL");
  // Remove the sealed key beyond recovery.
  db.pragma("secure_delete = ON");
  db.pragma("foreign_keys = ON");
  return version;
}

/** The deliveries that a restored store would send, counted once before it serves. */
export interface DueReport {
  /** All pending deliveries, including those that are not due yet. */
  readonly pending: number;
  readonly due: number;
  /** Epoch milliseconds. Null if nothing is pending. */
  readonly oldestDueAt: number | null;
  /** At most 20 endpoints, those with the most pending deliveries first. */
  readonly endpoints: readonly DueOfEndpoint[];
}

export interface DueOfEndpoint {
  readonly id: string;
  readonly url: string;
  /** False if the endpoint is disabled, so that its pending deliveries are held. */
  readonly enabled: boolean;
  readonly pending: number;
  readonly due: number;
  readonly oldestDueAt: number;
}

const SHOWN = 20;

const COUNTS = `
  SELECT e.id, e.url, e.enabled, sum(d.pending) AS pending, sum(d.due) AS due, min(d.oldest) AS oldest FROM (
    SELECT endpoint, count(*) AS pending, sum(due_at <= $now) AS due, min(due_at) AS oldest
      FROM delivery INDEXED BY delivery_waiting WHERE status = 1 GROUP BY endpoint
    UNION ALL
    SELECT endpoint, count(*), count(*), min(due_at)
      FROM delivery WHERE ${IS_FRESH} GROUP BY endpoint
  ) d JOIN endpoint e ON e.number = d.endpoint WHERE e.deleted_at IS NULL
  GROUP BY e.number ORDER BY pending DESC, e.number`;

interface Row {
  readonly id: string;
  readonly url: string;
  readonly enabled: 0 | 1;
  readonly pending: number;
  readonly due: number;
  readonly oldest: number;
}

export function reportDue(db: Database, now: number): DueReport {
  const rows = db.prepare<[{ now: number }], Row>(COUNTS).all({ now });
  const sum = (count: (row: Row) => number) => rows.reduce((total, row) => total + count(row), 0);
  return {
    pending: sum(({ pending }) => pending),
    due: sum(({ due }) => due),
    oldestDueAt: rows.length === 0 ? null : rows.reduce((least, { oldest }) => Math.min(least, oldest), Infinity),
    endpoints: rows
      .slice(0, SHOWN)
      .map(({ oldest, enabled, ...row }) => ({ ...row, enabled: enabled === 1, oldestDueAt: oldest })),
  };
}
