import { constants } from "node:os";

/** Those that libuv has no name for: Node calls each of them UNKNOWN. */
const UNNAMED = new Map([[constants.errno.EDQUOT, "EDQUOT"]]);

/** The code of an error of the system or of SQLite; empty where it has none. */
export function systemCode(error: unknown): string {
  if (!(error instanceof Error) || !("code" in error)) return "";
  const { code, errno } = error as NodeJS.ErrnoException;
  return (code === "UNKNOWN" && UNNAMED.get(Math.abs(errno ?? 0))) || String(code);
}
