/** What everything in the store stands on: the condition of the disk, the memories that mirror rows, and the doors. */
import type { Database } from "better-sqlite3";
import type { SqliteStoreOptions } from "./engine/options.ts";
import { Condition } from "./engine/condition.ts";
import { Counters } from "./statistics/counters.ts";
import { Cursors } from "./engine/cursor.ts";
import { doorsOf } from "./engine/doors.ts";
import { EndpointIndex } from "./numbers/endpoint-index.ts";
import { GroupCommit } from "./engine/group-commit.ts";
import { IdempotencyKeys } from "./callers/idempotency.ts";
import { Interned } from "./numbers/interned.ts";
import { Keys } from "./callers/keys.ts";
import { Manual } from "./claims/manual.ts";
import { Meta } from "./engine/meta.ts";

export type Foundation = ReturnType<typeof layFoundation>;

export function layFoundation(db: Database, options: SqliteStoreOptions) {
  const { box, clock, defer, diskFloor, dir, onFault, statfs } = options;
  const tenants = new Interned(db, "tenant");
  const types = new Interned(db, "event_type");
  const urls = new Interned(db, "url");
  const index = new EndpointIndex(db, tenants, types);
  const condition = new Condition(db, { dir, floorBytes: diskFloor, statfs, onFault });
  const meta = new Meta(db);
  const keys = new Keys(db);
  const counters = new Counters(db);
  const manual = new Manual(db, index);
  const idempotency = new IdempotencyKeys(db, { tenants, box });
  /** Of rows: they are thrown away when a commit is undone. */
  const memories: { forget(): void }[] = [tenants, types, urls, index, meta, keys, manual, counters];
  const commit = new GroupCommit(db, {
    clock,
    defer,
    condition,
    onBegin: () => {
      meta.noteInstant(clock.now());
      counters.write(clock.now());
    },
    onRollback: () => {
      for (const memory of memories) memory.forget();
    },
  });
  const doors = doorsOf({ condition, commit, idempotency, defer });
  const lastInstant = meta.lastInstant;
  return {
    ...doors,
    clock,
    condition,
    counters,
    cursors: new Cursors((bytes) => box.mark(bytes)),
    idempotency,
    index,
    keys,
    lastInstant,
    manual,
    memories,
    meta,
    tenants,
    types,
    urls,
  };
}
