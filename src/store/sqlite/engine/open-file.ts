import Database from "better-sqlite3";

/** The SQLite addon, or its path, where it cannot be found in node_modules. */
export type NativeBinding = string | object;

const QUOTED_OR_PARAMETER = /'[^']*'|"[^"]*"|--.*|\?\d*|[@$]\w+/g;

export function openFile(
  file: string,
  options: { timeout: number; nativeBinding?: NativeBinding | undefined; readonly?: boolean },
): Database.Database {
  const { timeout, nativeBinding, readonly = false } = options;
  if (nativeBinding === undefined) return keepPlans(new Database(file, { timeout, readonly }));
  // The package takes the addon itself as well as its path; its types know of the path only.
  return keepPlans(new Database(file, { timeout, readonly, nativeBinding: nativeBinding as string }));
}

/**
 * Where a bound value might change its plan, SQLite prepares a statement anew at each run, and does so for most that
 * have an ORDER BY, a LIMIT or a join: 5 to 50 µs a time, for plans that never differ. It looks through no unary plus.
 */
function keepPlans(db: Database.Database): Database.Database {
  const prepare = db.prepare.bind(db) as typeof db.prepare;
  db.prepare = ((sql: string) => prepare(sql.replaceAll(QUOTED_OR_PARAMETER, hidden))) as typeof db.prepare;
  return db;
}

function hidden(part: string): string {
  return /^[?@$]/.test(part) ? `+${part}` : part;
}
