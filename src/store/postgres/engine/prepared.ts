/** Prepares statements once in each session, under names that identify them. */
import { createHash } from "node:crypto";
import type { Client } from "pg";
import { columnOf, kindsIn } from "./columns.ts";
import { streamOf } from "./session.ts";

/**
 * Short statements find their rows by keys. A plan is made once per session, perhaps while the tables are empty.
 * Without these settings it would read whole tables until the server has statistics of them. A table without a suitable
 * index is read as a whole anyway, and compiling such a plan would only cost more.
 */
export const BY_KEYS = { enable_seqscan: "off", enable_hashjoin: "off", enable_mergejoin: "off", jit: "off" };

/**
 * A list is planned each time, for the tables as they are then, because a plan made while they were small may read all
 * of them. Each list has an index with its rows in its order, so that only the rows of a page are sorted.
 */
export const LIST_PLANS = { ...BY_KEYS, enable_bitmapscan: "off", plan_cache_mode: "force_custom_plan" };

interface Prepared {
  readonly name: string;
  readonly kinds: ReturnType<typeof kindsIn>;
}

const statements = new Map<string, Prepared>();
let migrations = 0;

/**
 * Sends the statements of a turn in one piece. Each separate write would wake the server, and cost both sides more than
 * a row.
 */
export function gather(client: Client): Client {
  const stream = streamOf(client);
  if (stream.writableCorked === 0) {
    stream.cork();
    process.nextTick(() => stream.uncork());
  }
  return client;
}

export function run(client: Client, text: string, values: readonly unknown[]) {
  let statement = statements.get(text);
  if (statement === undefined) {
    const name = createHash("sha256").update(`${migrations} ${text}`).digest("base64url").slice(0, 20);
    statements.set(text, (statement = { name, kinds: kindsIn(text) }));
  }
  const { kinds, name } = statement;
  const sent = values.map((value, at) => {
    const kind = Array.isArray(value) ? kinds.get(at) : undefined;
    return kind === undefined ? value : columnOf(value as unknown[], kind);
  });
  return gather(client).query({ name, text, values: sent });
}

/**
 * Returns true if a newer version has added columns to prepared statements' tables. Then prepares all of them again.
 */
export function isOfOldTables(error: unknown): boolean {
  const isSo = error instanceof Error && "routine" in error && error.routine === "RevalidateCachedQuery";
  if (isSo) {
    statements.clear();
    migrations++;
  }
  return isSo;
}

/** Returns true if a row with that key exists already. */
export function isTaken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "23505";
}
