/** Statements are prepared once in each session, under names that say what they are. */
import { createHash } from "node:crypto";
import type { Client } from "pg";

const names = new Map<string, string>();
let migrations = 0;

export function run(client: Client, text: string, values: readonly unknown[]) {
  let name = names.get(text);
  if (name === undefined) {
    name = createHash("sha256").update(`${migrations} ${text}`).digest("base64url").slice(0, 20);
    names.set(text, name);
  }
  return client.query({ name, text, values: values as unknown[] });
}

/** A newer version has added columns to what was prepared: that is of no use any more, so all is prepared once again. */
export function isOfOldTables(error: unknown): boolean {
  const isSo = error instanceof Error && "routine" in error && error.routine === "RevalidateCachedQuery";
  if (isSo) {
    names.clear();
    migrations++;
  }
  return isSo;
}
