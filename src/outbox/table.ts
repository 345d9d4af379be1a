/** The contract for the application's table, whichever database it is in. */
import {
  REQUIRED_COLUMNS,
  type OutboxRow,
  type OutboxSettings,
  type OutboxStanding,
  type OutboxTrouble,
  type RowOutcome,
  type SetAsideRow,
} from "../domain/outbox/outbox.ts";

export type PublishRows = (rows: readonly OutboxRow[]) => Promise<readonly RowOutcome[]>;

export type Counts = Pick<OutboxStanding, "waiting" | "oldestMs" | "setAside">;

export interface OutboxTable {
  /**
   * Takes some rows that no other reader has, in the order of their ids, and passes them to `publish`. Deletes those
   * that were published, and writes the problems of the others into the table. Nothing is deleted before `publish` has
   * resolved. Leaves out rows of the tenants in `resting`. Returns the number of rows that need no more work.
   */
  pass(publish: PublishRows, resting: readonly string[]): Promise<number>;
  /** Checks the table and our rights to it, and counts its rows. Rejects with `OutboxFault` if it cannot be used. */
  look(): Promise<Counts>;
  /** Resolves when rows may have been added, or after `ms`, or when `wake` is called. */
  wait(ms: number): Promise<void>;
  /** Ends `wait`. */
  wake(): void;
  /** Gives up the connection, so that the next call opens another. */
  drop(): void;
  close(): Promise<void>;

  // --- rows that were set aside, and keys: in transactions of their own ---

  /** The rows that were set aside, by id, at most `limit`. */
  setAside(limit: number): Promise<readonly SetAsideRow[]>;
  /** Lets rows be published again. Null means all that were set aside. Returns their number. */
  retry(ids: readonly string[] | null): Promise<number>;
  /** Deletes rows that were set aside. Null means all of them. Returns their number. */
  remove(ids: readonly string[] | null): Promise<number>;
  /** Returns those of the ids that are in the table. */
  present(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

/** The outbox cannot be used. Says why, and what to do. */
export class OutboxFault extends Error {
  readonly trouble: OutboxTrouble;

  constructor(trouble: OutboxTrouble, cause?: unknown) {
    super(trouble.what, { cause });
    this.trouble = trouble;
  }
}

export function printedBy({ database }: Pick<OutboxSettings, "database">): string {
  return `\`webhookd outbox init ${database.kind}\``;
}

export function createIt(outbox: Pick<OutboxSettings, "database">): string {
  return `create it with the output of ${printedBy(outbox)}, or correct [[outbox]] table`;
}

/** Throws `OutboxFault` unless the table has the columns that it needs. A table without columns does not exist. */
export function requireColumns(outbox: OutboxSettings, columns: Pick<ReadonlySet<string>, "size" | "has">): void {
  const { table, tenant } = outbox;
  if (columns.size === 0) throw new OutboxFault({ what: `there is no table ${table}`, todo: createIt(outbox) });
  const needed = [...REQUIRED_COLUMNS, ...("column" in tenant ? [tenant.column] : [])];
  const missing = needed.filter((name) => !columns.has(name));
  if (missing.length === 0) return;
  const what = `the table ${table} has no column ${missing.join(", ")}`;
  throw new OutboxFault({ what, todo: `add it, as in the output of ${printedBy(outbox)}` });
}

/** The most that is read at once, so that neither memory nor a turn of the event loop is used up. */
export const BATCH = { rows: 1000, bytes: 4 * 1024 * 1024 } as const;
