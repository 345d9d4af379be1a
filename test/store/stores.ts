/** Opens the stores that the conformance suites run against; another kind of store adds a function here. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import { openStore, type OpenOptions } from "../../src/store/opening/open.ts";
import type { Store } from "../../src/store/store.ts";
import { startThread } from "../../src/thread.ts";
import { ManualClock } from "../harness/clock.ts";

export interface StoreUnderTest {
  readonly store: Store;
  readonly clock: ManualClock;
  /** Closes the store and opens it again, as a restart does. */
  reopen(): Promise<Store>;
  /** Opens what the disk holds now, as the start after a kill -9 does. */
  crash(): Promise<Store>;
}

/** A fresh store that ends with the test. */
export type OpenFresh = (limits?: StoreLimits) => Promise<StoreUnderTest>;

/** What every kind of store can be told to keep to. */
export type StoreLimits = Pick<OpenOptions, "maxPendingPerTenant" | "shares">;

export const openSqlite: OpenFresh = (limits) => openSqliteWith({})(limits);

export const openSqliteWith =
  (more: Pick<OpenOptions, "startReader">): OpenFresh =>
  async (limits = {}) => {
    let dir = temporaryDirectory();
    const clock = new ManualClock();
    let store = await open({ dir, clock, ...limits, ...more });
    return {
      get store() {
        return store;
      },
      clock,
      async reopen() {
        await store.close();
        store = await open({ dir, clock, ...limits, ...more });
        return store;
      },
      async crash() {
        dir = copyOf(dir);
        store = await open({ dir, clock, ...limits, ...more });
        return store;
      },
    };
  };

/** The disk as a kill -9 leaves it: nothing is closed. */
export function copyOf(dir: string): string {
  const copy = temporaryDirectory();
  for (const name of ["webhookd.db", "webhookd.db-wal", "secret.key", "STORE"])
    cpSync(join(dir, name), join(copy, name));
  return copy;
}

/** One number of the store's file. */
export function ask(dir: string, sql: string): number {
  const db = new Database(join(dir, "webhookd.db"), { readonly: true });
  try {
    return db.prepare<[], number>(sql).pluck().get()!;
  } finally {
    db.close();
  }
}

export function temporaryDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-store-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Closed at the end of the test, unless it was before. */
export async function open(options: Partial<OpenOptions> & { dir: string }): Promise<Store> {
  const { store } = await openStore(optionsOf(options));
  onTestFinished(() => store.close());
  return store;
}

export function optionsOf(options: Partial<OpenOptions> & { dir: string }): OpenOptions {
  return {
    create: true,
    diskFloor: 0,
    clock: new ManualClock(),
    startBackup: (data) => startThread("backup", data),
    onFault: (error) => {
      throw error;
    },
    ...options,
  };
}
