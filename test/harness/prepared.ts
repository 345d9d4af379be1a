/**
 * Replaces the SQLite library's `prepare`, so that a test can substitute its own statements in the database of a given
 * file.
 */
import Database from "better-sqlite3";

/** `make` prepares the real statement. */
export type Prepares = (sql: string, make: () => Database.Statement, db: Database.Database) => Database.Statement;

const byFile = new Map<string, Prepares>();
const { prepare } = Database.prototype;

Database.prototype.prepare = function (this: Database.Database, sql: string) {
  const prepares = byFile.get(this.name);
  if (prepares === undefined) return prepare.call(this, sql);
  return prepares(sql, () => prepare.call(this, sql), this);
} as typeof prepare;

/** Applies to databases that are opened on this file until the returned function is called. */
export function onPrepare(file: string, prepares: Prepares): () => void {
  byFile.set(file, prepares);
  return () => void byFile.delete(file);
}

/** Returns an error like the library's own. */
export function sqliteError(code: string): Error {
  return new Database.SqliteError(`a planted ${code}`, code);
}
