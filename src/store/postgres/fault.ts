/**
 * Explains the errors of PostgreSQL, and of the network to it. It has one row for each kind of error, by its SQLSTATE
 * or the system's code. The server's own message is shown beside it, in the server's language. So a row depends on the
 * message only if one code has several meanings.
 */
import { CommitInDoubt, NotReplicated } from "./engine/commit.ts";

export interface Fault {
  /**
   * - `full`: nothing was stored; it passes when there is space.
   * - `unavailable`: callers get a 503; it may pass by itself, or somebody must act.
   * - `outrun`: another commit was faster, so everything is repeated.
   * - `unknown`: the storage is not the cause, so it counts as our own bug while the daemon runs.
   */
  readonly is: "full" | "unavailable" | "outrun" | "unknown";
  /** Tells the operator what happened, and what to do about it. */
  readonly what: string;
  readonly todo: string;
}

interface Row extends Fault {
  readonly code: RegExp;
  readonly said?: RegExp;
}

/**
 * Each process has this many connections: one writes, one renews the lease, one is for short queries, two are for
 * lists, and one is for the pulse.
 */
export const CONNECTIONS = 6;

const WAIT = "nothing: the process tries again by itself";
const REACH = "make sure that it is running and can be reached, and that the hosts and ports of [data] store are right";
const LOOK = "see the log of PostgreSQL";

const ROWS: readonly Row[] = [
  {
    code: /^(42P05|26000)$/,
    is: "unavailable",
    what: "a pooler in transaction mode is in front of it",
    todo: "connect webhookd to PostgreSQL itself, or through a pooler in session mode (pgbouncer: pool_mode = session): it prepares statements and sets parameters for as long as it is connected",
  },
  {
    code: /^08P01$/,
    said: /startup parameter/,
    is: "unavailable",
    what: "a pooler in front of it refuses a parameter of the connection",
    todo: "remove `options` from the address in [data] store, or let the pooler pass it (pgbouncer: ignore_startup_parameters)",
  },
  {
    code: /^53300$/,
    is: "unavailable",
    what: "it takes no more connections",
    todo: `each webhookd process needs ${CONNECTIONS} connections: raise max_connections, or the CONNECTION LIMIT of the user or the database`,
  },
  { code: /^53100$/, is: "full", what: "its disk is full", todo: "free space on the disk of PostgreSQL" },
  { code: /^53200$/, is: "unavailable", what: "it has too little memory", todo: LOOK },
  { code: /^53/, is: "unavailable", what: "it has reached one of its own limits", todo: LOOK },
  {
    code: /^25006$/,
    is: "unavailable",
    what: "it takes no writes",
    todo: "name the primary in [data] store, too, if this is a standby; otherwise see why it is read-only (default_transaction_read_only, or a disk that is nearly full)",
  },
  { code: /^57P0[1235]$/, is: "unavailable", what: "it is stopping, starting or recovering", todo: WAIT },
  {
    code: /^57P04$|^3D000$/,
    is: "unavailable",
    what: "the database does not exist",
    todo: "create it (CREATE DATABASE <database> OWNER <user>), restore it, or name another one in [data] store",
  },
  { code: /^57014$/, is: "unavailable", what: "it stopped one of webhookd's statements", todo: LOOK },
  { code: /^25P0[34]$/, is: "unavailable", what: "a transaction of webhookd took too long for it", todo: LOOK },
  {
    code: /^28P01$/,
    is: "unavailable",
    what: "it refuses the password",
    todo: "correct the password in [data] store; @, : and / in it are written %40, %3A and %2F",
  },
  {
    code: /^28/,
    is: "unavailable",
    what: "it does not let the user in",
    todo: "see pg_hba.conf, and whether the user of [data] store exists and may log in",
  },
  {
    code: /^42501$/,
    said: /\bschema\b/,
    is: "unavailable",
    what: "the user may not create tables in the schema",
    todo: "make the user the owner (ALTER DATABASE <database> OWNER TO <user>), or run in that database: GRANT USAGE, CREATE ON SCHEMA public TO <user>",
  },
  {
    code: /^42501$/,
    is: "unavailable",
    what: "the user lacks a right",
    todo: "make the user of [data] store the owner of the tables, or run in that database: GRANT ALL ON ALL TABLES IN SCHEMA public TO <user>",
  },
  {
    code: /^3F000$/,
    is: "unavailable",
    what: "the schema does not exist",
    todo: "create it, or correct search_path, which `options` in the address or ALTER ROLE … SET may name",
  },
  {
    code: /^42P01$/,
    is: "unavailable",
    what: "tables of the store are gone",
    todo: "restore the database from a backup; or, to begin with an empty store, restart webhookd",
  },
  { code: /^(23505|40001|40P01|55P03)$/, is: "outrun", what: "another process was faster", todo: WAIT },
  { code: /^55/, is: "unavailable", what: "it is not ready for what webhookd asked", todo: LOOK },
  { code: /^58/, is: "unavailable", what: "its system or its disk failed", todo: LOOK },
  {
    code: /^XX/,
    is: "unavailable",
    what: "it found damage, or has a bug",
    todo: `${LOOK}; if data is damaged, restore a backup`,
  },
  { code: /^08/, is: "unavailable", what: "the connection failed", todo: REACH },
  { code: /^ENOTFOUND$|^EAI_/, is: "unavailable", what: "its host name was not found", todo: REACH },
  {
    code: /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/,
    is: "unavailable",
    what: "its certificate is not trusted",
    todo: "name the authority in the address (sslrootcert=…), or correct sslmode",
  },
  {
    code: /^$/,
    said: /SSL/,
    is: "unavailable",
    what: "no TLS connection can be made",
    todo: "turn on ssl in PostgreSQL, or correct sslmode in the address",
  },
  {
    code: /^$/,
    said: /^(Connection|Query read timeout|timeout expired|Client )/,
    is: "unavailable",
    what: "it does not answer",
    todo: REACH,
  },
  { code: /^E[A-Z]+$/, is: "unavailable", what: "it cannot be reached", todo: REACH },
];

const NOT_REPLICATED: Fault = {
  is: "unavailable",
  what: "a commit did not wait for the synchronous standby",
  todo: "see whether the standby is connected (pg_stat_replication), and who cancels statements of webhookd",
};

/** The lease of this node ran out. */
export class LeaseLost extends Error {}

const LOST: Fault = {
  is: "unavailable",
  what: "the lease of this node ran out",
  todo: "nothing: it joins the others again by itself; if this host was neither suspended nor cut off, check its load",
};

const IN_DOUBT: Fault = {
  is: "unavailable",
  what: "the outcome of a commit is still unknown",
  todo: "webhookd keeps asking; see whether the synchronous standby is connected (pg_stat_replication)",
};

/** The prepared statements no longer fit the tables. */
const MIGRATED: Fault = { is: "outrun", what: "a newer version has changed its tables", todo: WAIT };

const UNKNOWN: Fault = {
  is: "unknown",
  what: "it refused what webhookd asked",
  todo: `${LOOK}; if nothing is wrong there, please report this`,
};

export function faultOf(error: unknown): Fault {
  if (error instanceof NotReplicated) return NOT_REPLICATED;
  if (error instanceof CommitInDoubt) return IN_DOUBT;
  if (error instanceof LeaseLost) return LOST;
  if (!(error instanceof Error)) return UNKNOWN;
  if ("routine" in error && error.routine === "RevalidateCachedQuery") return MIGRATED;
  const code = "code" in error ? String(error.code) : "";
  return ROWS.find((row) => row.code.test(code) && (row.said?.test(error.message) ?? true)) ?? UNKNOWN;
}

/** Returns the server's or the system's own words. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return "no answer";
  return error.message || String((error as NodeJS.ErrnoException).code ?? error.name);
}

/** Explains an error to people. Commands to type contain the names of the user and the database. */
export function explained(error: unknown, url: string): { readonly what: string; readonly todo: string } {
  const { what, todo } = faultOf(error);
  const names: Readonly<Record<string, string>> = namesIn(url);
  return {
    what: `${what}: ${wordsOf(error)}`,
    todo: todo.replaceAll(/<(user|database)>/g, (_, name: string) => names[name]!),
  };
}

/** Returns the names as SQL writes them. */
function namesIn(url: string) {
  const [, user = "", database = ""] = /^postgres(?:ql)?:\/\/(?:([^:@/]*)[^@/]*@)?[^/]*\/?([^?]*)/.exec(url) ?? [];
  const named = (name: string, otherwise: string) => {
    const text = decoded(name);
    if (text === "") return otherwise;
    return /^[a-z_][a-z0-9_]*$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
  };
  return { user: named(user, "<user>"), database: named(database, "<database>") };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
