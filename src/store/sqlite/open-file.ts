import Database from "better-sqlite3";

/** The SQLite addon, or its path, where it cannot be found in node_modules. */
export type NativeBinding = string | object;

export function openFile(
  file: string,
  options: { timeout: number; nativeBinding?: NativeBinding | undefined; readonly?: boolean },
): Database.Database {
  const { timeout, nativeBinding, readonly = false } = options;
  if (nativeBinding === undefined) return new Database(file, { timeout, readonly });
  // The package takes the addon itself as well as its path; its types know of the path only.
  return new Database(file, { timeout, readonly, nativeBinding: nativeBinding as string });
}
