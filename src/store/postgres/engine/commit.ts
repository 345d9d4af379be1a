/**
 * Makes every commit. If `pg_cancel_backend` or a timeout ends a commit's wait for a synchronous standby, the server
 * has committed alone and reports success, only with a warning. Such a commit is not durable.
 */
import type { Client, ClientConfig } from "pg";

/** The server has committed, but perhaps the standby has not. */
export class NotReplicated extends Error {}

/** An earlier statement of the transaction had failed, so nothing was committed, and no caller had reported it. */
export class FailedBefore extends Error {}

/** The answer to a commit was lost, and for now no server can tell whether it succeeded. */
export class CommitInDoubt extends Error {
  /** Resolves once that is known. Resolves to false if the database is closed first. */
  readonly wasMade: Promise<boolean>;

  constructor(wasMade: Promise<boolean>, cause: unknown) {
    super("it is not known whether it was committed", { cause });
    this.wasMade = wasMade;
  }
}

interface Warning {
  readonly count: number;
  readonly text: string;
}

const NONE: Warning = { count: 0, text: "" };
const warnings = new WeakMap<Client, Warning>();

/**
 * Counts the warnings of a connection from its beginning. Sessions ask for warnings and nothing less severe. Every
 * warning counts, because its text is in the server's language.
 */
export function heed(client: Client): void {
  client.on("notice", ({ message }) => {
    const { count } = warnings.get(client) ?? NONE;
    warnings.set(client, { count: count + 1, text: message ?? "" });
  });
}

/**
 * Rejects with `NotReplicated` if the server warns before it answers. If statements are pipelined, the warning may
 * belong to the one before. This one then counts as not replicated too, which is safe.
 */
export async function durably<T>(client: Client, commit: () => Promise<T>): Promise<T> {
  const before = warnings.get(client) ?? NONE;
  const result = await commit();
  const after = warnings.get(client) ?? NONE;
  if (after.count > before.count) throw new NotReplicated(after.text);
  return result;
}

/** Commits the open transaction. */
export async function commit(client: Client, limits: Pick<ClientConfig, "query_timeout"> = {}): Promise<void> {
  const { command } = await durably(client, () => client.query({ text: "COMMIT", ...limits }));
  if (command !== "COMMIT") throw new FailedBefore("a statement of the transaction failed, and that was not reported");
}
