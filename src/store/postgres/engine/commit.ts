/**
 * Every commit goes through here. One that waits for a synchronous standby may be told to wait no longer, by
 * `pg_cancel_backend` or a timeout: then the server has committed alone, answers that all is well, and only sends a
 * warning beside it. What it warns of is not durable.
 */
import type { Client, ClientConfig } from "pg";

/** The server has committed, and the standby perhaps has not. */
export class NotReplicated extends Error {}

/** A statement of the transaction had failed, so that nothing was committed; and nobody had said so. */
export class FailedBefore extends Error {}

/** The answer to a commit was lost, and for now nobody can be asked what became of it. */
export class CommitInDoubt extends Error {
  /** Resolves when that is known; to false if the database is closed first. */
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
 * From its beginning. Sessions ask for warnings and nothing below them; the text of one is in the server's language, so
 * that each counts.
 */
export function heed(client: Client): void {
  client.on("notice", ({ message }) => {
    const { count } = warnings.get(client) ?? NONE;
    warnings.set(client, { count: count + 1, text: message ?? "" });
  });
}

/**
 * Rejects with `NotReplicated` if the server warns before it has answered. Where statements are pipelined, a warning may
 * have been meant for the one before: then this one is held to be in doubt as well, which is safe.
 */
export async function durably<T>(client: Client, commit: () => Promise<T>): Promise<T> {
  const before = warnings.get(client) ?? NONE;
  const result = await commit();
  const after = warnings.get(client) ?? NONE;
  if (after.count > before.count) throw new NotReplicated(after.text);
  return result;
}

/** Of the transaction that is open. */
export async function commit(client: Client, limits: Pick<ClientConfig, "query_timeout"> = {}): Promise<void> {
  const { command } = await durably(client, () => client.query({ text: "COMMIT", ...limits }));
  if (command !== "COMMIT") throw new FailedBefore("a statement of the transaction failed, and that was not reported");
}
