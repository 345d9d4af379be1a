/** Stands where the store meets the library: a test can have its own statements where a file's database prepares some. */
import Database from "better-sqlite3";

/** `make` prepares the real one. */
export type Prepares = (sql: string, make: () => Database.Statement, db: Database.Database) => Database.Statement;

const byFile = new Map<string, Prepares>();
const { prepare } = Database.prototype;

Database.prototype.prepare = function (this: Database.Database, sql: string) {
  const prepares = byFile.get(this.name);
  if (prepares === undefined) return prepare.call(this, sql);
  return prepares(sql, () => prepare.call(this, sql), this);
} as typeof prepare;

/** For databases that are opened on this file from now on, until the answer is called. */
export function onPrepare(file: string, prepares: Prepares): () => void {
  byFile.set(file, prepares);
  return () => void byFile.delete(file);
}

/** An error as the library throws it. */
export function sqliteError(code: string): Error {
  return new Database.SqliteError(`a planted ${code}`, code);
}
