/** The meaning of PostgreSQL's errors, and the advice that people get. */
import { DatabaseError } from "pg";
import { describe, expect, it } from "vitest";
import { CONNECTIONS, faultOf } from "../../../src/store/postgres/fault.ts";

/** Returns an error as a server sends it. */
function said(code: string, message: string): Error {
  return Object.assign(new DatabaseError(message, message.length, "error"), { code });
}

const system = (code: string) => Object.assign(new Error(code), { code });

const CASES: readonly (readonly [error: Error, is: string, what: RegExp, todo: RegExp])[] = [
  [said("08006", "connection failure"), "unavailable", /connection failed/, /can be reached/],
  [said("08P01", "unsupported startup parameter: options"), "unavailable", /pooler/, /ignore_startup_parameters/],
  [said("08P01", "invalid message format"), "unavailable", /connection failed/, /can be reached/],
  [said("23505", "duplicate key value"), "outrun", /faster/, /by itself/],
  [said("40001", "could not serialize access"), "outrun", /faster/, /by itself/],
  [said("40P01", "deadlock detected"), "outrun", /faster/, /by itself/],
  [said("55P03", "canceling statement due to lock timeout"), "outrun", /faster/, /by itself/],
  [said("25006", "cannot execute INSERT in a read-only transaction"), "unavailable", /no writes/, /primary/],
  [said("25P03", "terminating connection due to idle-in-transaction timeout"), "unavailable", /too long/, /log/],
  [said("25P04", "terminating connection due to transaction timeout"), "unavailable", /too long/, /log/],
  [said("26000", 'prepared statement "x" does not exist'), "unavailable", /transaction mode/, /session mode/],
  [said("42P05", 'prepared statement "x" already exists'), "unavailable", /transaction mode/, /session mode/],
  [said("28000", "no pg_hba.conf entry for host"), "unavailable", /not let the user in/, /pg_hba/],
  [said("28P01", "password authentication failed"), "unavailable", /password/, /%40/],
  [said("3D000", 'database "x" does not exist'), "unavailable", /database does not exist/, /CREATE DATABASE/],
  [said("3F000", "no schema has been selected to create in"), "unavailable", /schema does not/, /search_path/],
  [said("42501", "permission denied for schema public"), "unavailable", /create tables/, /GRANT.*ON SCHEMA public/],
  [said("42501", "permission denied for table event"), "unavailable", /lacks a right/, /GRANT ALL ON ALL TABLES/],
  [said("42P01", 'relation "last_commit" does not exist'), "unavailable", /tables .* gone/, /restore/],
  [said("53000", "insufficient resources"), "unavailable", /limit/, /log/],
  [said("53100", "could not extend file: No space left on device"), "full", /disk is full/, /free space/],
  [said("53200", "out of memory"), "unavailable", /memory/, /log/],
  [said("53300", 'too many connections for role "x"'), "unavailable", /connections/, RegExp(`${CONNECTIONS} connec`)],
  [said("53400", "temporary file size exceeds temp_file_limit"), "unavailable", /limit/, /log/],
  [said("55000", "cannot run now"), "unavailable", /not ready/, /log/],
  [
    said("57014", "canceling statement due to statement timeout"),
    "unavailable",
    /stopped one of webhookd's statements/,
    /log/,
  ],
  [said("57P01", "terminating connection due to administrator command"), "unavailable", /stopping/, /by itself/],
  [said("57P02", "terminating connection because of crash"), "unavailable", /stopping/, /by itself/],
  [said("57P03", "the database system is starting up"), "unavailable", /starting/, /by itself/],
  [said("57P04", "database was dropped"), "unavailable", /database does not exist/, /CREATE DATABASE/],
  [said("57P05", "terminating connection due to idle-session timeout"), "unavailable", /stopping/, /by itself/],
  [said("58030", "could not read block"), "unavailable", /disk failed/, /log/],
  [said("58P01", "could not open file"), "unavailable", /disk failed/, /log/],
  [said("XX001", "invalid page in block 7"), "unavailable", /damage/, /backup/],
  [said("XX000", "internal error"), "unavailable", /damage, or has a bug/, /log/],
  [system("ECONNREFUSED"), "unavailable", /cannot be reached/, /running/],
  [system("ECONNRESET"), "unavailable", /cannot be reached/, /running/],
  [system("ENOTFOUND"), "unavailable", /host name/, /hosts/],
  [system("EAI_AGAIN"), "unavailable", /host name/, /hosts/],
  [system("SELF_SIGNED_CERT_IN_CHAIN"), "unavailable", /certificate/, /sslrootcert/],
  [new Error("The server does not support SSL connections"), "unavailable", /TLS/, /sslmode/],
  [new Error("Connection terminated unexpectedly"), "unavailable", /does not answer/, /can be reached/],
  [new Error("timeout expired"), "unavailable", /does not answer/, /can be reached/],
  // No person can fix these errors: they are our bugs, or are new.
  [said("42601", 'syntax error at or near "SELCT"'), "unknown", /refused what/, /report/],
  [said("22003", "bigint out of range"), "unknown", /refused what/, /report/],
  [said("99999", "of tomorrow"), "unknown", /refused what/, /report/],
  [new TypeError("x is not a function"), "unknown", /refused what/, /report/],
];

describe("an error of PostgreSQL", () => {
  for (const [error, is, what, todo] of CASES) {
    const code = "code" in error ? String(error.code) : error.name;
    it(`is told from others by its code: ${code} ${error.message}`, () => {
      expect(faultOf(error)).toMatchObject({
        is,
        what: expect.stringMatching(what),
        todo: expect.stringMatching(todo),
      });
    });
  }
});
