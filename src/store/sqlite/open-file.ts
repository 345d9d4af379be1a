import Database from "better-sqlite3";

/** The SQLite addon, or its path, where it cannot be found in node_modules. */
export type NativeBinding = string | object;

export function openFile(
  file: string,
  options: { timeout: number; nativeBinding?: NativeBinding | undefined },
): Database.Database {
  const { timeout, nativeBinding } = options;
  if (nativeBinding === undefined) return new Database(file, { timeout });
  // The package takes the addon itself as well as its path; its types know of the path only.
  return new Database(file, { timeout, nativeBinding: nativeBinding as string });
}
