import { hostsOf } from "../network/postgres-address.ts";

/**
 * An outbox: a table in the application's own database. The application inserts a row in the transaction of its own
 * change. webhookd publishes the row as an event once that has been committed, and then deletes it.
 */
export interface OutboxSettings {
  /** The name by which status, metrics and commands know it. */
  readonly name: string;
  readonly database: OutboxDatabase;
  /** The table's name, with its schema before a dot if it is not in the search path. */
  readonly table: string;
  readonly tenant: OutboxTenant;
}

export type OutboxDatabase =
  | { readonly kind: "postgres"; readonly url: string }
  /** The URL is in a file, which is read again for each connection. */
  | { readonly kind: "postgres"; readonly urlFile: string }
  | { readonly kind: "sqlite"; readonly file: string };

export type OutboxTenant =
  /** All events belong to this tenant. */
  | { readonly name: string }
  /** Each row has the name of its tenant in this column. */
  | { readonly column: string };

export const DEFAULT_TABLE = "webhookd_outbox";

export const OUTBOX_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
/** A name that SQL takes in quotes. PostgreSQL would cut a longer one. */
export const COLUMN = /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/;
export const TABLE = /^([A-Za-z_][A-Za-z0-9_$]{0,62}\.)?[A-Za-z_][A-Za-z0-9_$]{0,62}$/;

/** Columns that every outbox has, and those that it may lack. */
export const REQUIRED_COLUMNS = ["id", "type", "data", "problem"] as const;

/** A row as the application's database returns it. Texts are as they are in the database, and not yet checked. */
export interface OutboxRow {
  readonly id: string;
  readonly type: string | null;
  /** Null if it is null in the table, or if `dataBytes` is more than an event may have. */
  readonly data: Uint8Array | null;
  readonly dataBytes: number | null;
  /** RFC 3339. Null if the table has none. */
  readonly createdAt: string | null;
  readonly publisherId: string | null;
  /** A JSON array. */
  readonly tags: string | null;
  readonly orderingKey: string | null;
  readonly tenant: string | null;
}

/** A row is on our disk as an event, waits, or cannot become an event, and then the problem says why. */
export type RowOutcome = "published" | "waits" | { readonly problem: string };

/** A row that could not become an event, and why. */
export interface SetAsideRow {
  readonly id: string;
  readonly type: string | null;
  readonly problem: string;
}

/** Everything that a reader knows about its outbox. */
export interface OutboxStanding {
  /** True while the outbox can be read. */
  readonly isUp: boolean;
  /** Since when it can be read, or cannot. Epoch milliseconds. */
  readonly since: number;
  /** The reason why it cannot be read, or why its rows cannot be published. Null while all is well. */
  readonly trouble: OutboxTrouble | null;
  /** Rows that wait to be published, up to `MAX_COUNTED`. Null until they have been counted. */
  readonly waiting: number | null;
  /** The age of the oldest of these rows. Null if there is none, or if the table has no `created_at`. */
  readonly oldestMs: number | null;
  /** Rows that could not become events, up to `MAX_COUNTED`. */
  readonly setAside: number | null;
  /** Events published by this process since its start. */
  readonly published: number;
}

export interface OutboxTrouble {
  readonly what: string;
  readonly todo: string;
}

/** Says a trouble of the outbox, which cannot be read, or whose events cannot be stored. */
export function outboxTroubleText(name: string, { what }: Pick<OutboxTrouble, "what">): string {
  return `nothing is published from ${name}: ${what}`;
}

/** The most rows that are counted, because a count reads them all. */
export const MAX_COUNTED = 100_000;

/** Returns an identifier in double quotes, for either database. */
export function quoted(name: string): string {
  return name
    .split(".")
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join(".");
}

/** Returns where an outbox is, without user and password. */
export function placeOf({ database }: Pick<OutboxSettings, "database">): string {
  if (database.kind === "sqlite") return database.file;
  if ("urlFile" in database) return `the address in ${database.urlFile}`;
  return hostsOf(database.url);
}
