/** All outboxes of the configuration. This folder is loaded only if there are some. */
import type { Clock } from "../clock.ts";
import { KEPT_MS, rowOfKey } from "../domain/outbox/key.ts";
import type { OutboxSettings } from "../domain/outbox/outbox.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import { PostgresTable } from "./postgres-table.ts";
import { RowPublisher, type PublisherParts } from "./publisher.ts";
import { OutboxReader } from "./reader.ts";
import { SqliteTable } from "./sqlite-table.ts";
import type { OutboxTable } from "./table.ts";

export interface OutboxesParts extends PublisherParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly nativeBinding: string | undefined;
  /** Called with what operators have to hear of. */
  readonly onFault: (outbox: string, detail: string) => void;
}

/** The number of keys that are checked at once. */
const PAGE = 500;

export class Outboxes {
  readonly readers: readonly OutboxReader[];
  readonly #parts: OutboxesParts;

  constructor(settings: readonly OutboxSettings[], parts: OutboxesParts) {
    this.#parts = parts;
    this.readers = settings.map((outbox) => {
      const table = tableOf(outbox, parts);
      return new OutboxReader(outbox, { ...parts, table, publisher: new RowPublisher(parts, outbox) });
    });
  }

  start(): void {
    for (const reader of this.readers) reader.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.readers.map((reader) => reader.stop()));
  }

  /**
   * Forgets the keys of rows that are gone. The key of a row that is still there stays, however old it is, because the
   * row will be read again.
   */
  async forgetKeys(): Promise<void> {
    const { clock, store } = this.#parts;
    const until = clock.now() - KEPT_MS;
    let after = 0;
    for (;;) {
      const keys = await store.idempotency.lasting(after, until, PAGE);
      const rows = keys.flatMap((key) => {
        const of = rowOfKey(key.key);
        return of === null ? [] : [{ key, ...of }];
      });
      for (const [name, some] of Map.groupBy(rows, ({ outbox }) => outbox)) {
        const reader = this.readers.find(({ outbox }) => outbox.name === name);
        // An outbox that cannot be read keeps its keys.
        const present = await reader?.table.present(some.map(({ row }) => row)).catch(() => null);
        if (present === undefined || present === null) continue;
        const gone = some.filter(({ row }) => !present.has(row)).map(({ key }) => key);
        if (gone.length > 0) await store.idempotency.forget(gone);
      }
      if (keys.length < PAGE) return;
      after = keys.at(-1)!.usedAt;
    }
  }
}

function tableOf(outbox: OutboxSettings, parts: OutboxesParts): OutboxTable {
  const { database } = outbox;
  if (database.kind === "sqlite") return new SqliteTable({ ...outbox, database }, parts);
  return new PostgresTable({ ...outbox, database }, parts);
}
