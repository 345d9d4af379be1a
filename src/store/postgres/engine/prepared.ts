/** Statements are prepared once in each session, under names that say what they are. */
import { createHash } from "node:crypto";
import type { Client } from "pg";
import { columnOf, kindsIn } from "./columns.ts";
import { streamOf } from "./session.ts";

/**
 * Short statements find their rows by their keys. A plan is made once for a session, perhaps while the tables are empty;
 * without this it would read all of a table for as long as the server has no statistics of it. Where a table has no
 * other way, it is read all the same; compiling such a plan would only cost more.
 */
export const BY_KEYS = { enable_seqscan: "off", enable_hashjoin: "off", enable_mergejoin: "off", jit: "off" };

/**
 * A list is planned each time, for the tables as they are: a plan that was made while they were small may read all of them.
 * Each list has an index that holds its rows in its order, so that none need be sorted but those of a page.
 */
export const LIST_PLANS = { ...BY_KEYS, enable_bitmapscan: "off", plan_cache_mode: "force_custom_plan" };

interface Prepared {
  readonly name: string;
  readonly kinds: ReturnType<typeof kindsIn>;
}

const statements = new Map<string, Prepared>();
let migrations = 0;

/** What is sent in one turn goes out in one piece: each write of its own wakes the server, and costs both sides more than a row. */
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

/** A newer version has added columns to what was prepared: that is of no use any more, so all is prepared once again. */
export function isOfOldTables(error: unknown): boolean {
  const isSo = error instanceof Error && "routine" in error && error.routine === "RevalidateCachedQuery";
  if (isSo) {
    statements.clear();
    migrations++;
  }
  return isSo;
}

/** A row with that key is there already. */
export function isTaken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "23505";
}
