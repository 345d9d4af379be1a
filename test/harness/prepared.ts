/**
 * Replaces the SQLite library's `prepare`. The tests open thousands of stores and use few of the 370 statements of
 * each: preparing all of them would take half of the CPU time of an open. So a statement is prepared when it is first
 * run, but in the tests' own processes only. test/store/sqlite/engine/open-file.test.ts prepares all of them. A test
 * can also substitute its own statements in the database of a given file.
 */
import Database from "better-sqlite3";
import { LateStatement } from "./late-statement.ts";

/** `make` returns the real statement. */
export type Prepares = (sql: string, make: () => Database.Statement, db: Database.Database) => Database.Statement;

const byFile = new Map<string, Prepares>();
const { prepare } = Database.prototype;

/** From now on, this process prepares statements when they are first run. test/harness/hooks.ts calls it. */
export function prepareLate(): void {
  Database.prototype.prepare = function (this: Database.Database, sql: string) {
    const prepares = byFile.get(this.name);
    const make = () => new LateStatement(() => prepare.call(this, sql)) as unknown as Database.Statement;
    return prepares === undefined ? make() : prepares(sql, make, this);
  } as typeof prepare;
}

/** Applies to databases that are opened on this file until the returned function is called. */
export function onPrepare(file: string, prepares: Prepares): () => void {
  byFile.set(file, prepares);
  return () => void byFile.delete(file);
}

/** Returns an error like the library's own. */
export function sqliteError(code: string): Error {
  return new Database.SqliteError(`a planted ${code}`, code);
}
