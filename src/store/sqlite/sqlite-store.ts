/** The store on one SQLite file: one connection, one writer, its roles put together from the files beside this one. */
import type { Database } from "better-sqlite3";
import type { Condition, Space, Store } from "../store.ts";
import { emptyLogAtStop } from "./engine/empty-log.ts";
import { layFoundation, type Foundation } from "./foundation.ts";
import type { SqliteStoreOptions } from "./engine/options.ts";
import { rolesOf } from "./roles.ts";
import { rowsOf, type Rows } from "./rows.ts";
import { WalWatch } from "./engine/wal-watch.ts";
import { verbsOf, type Verbs } from "./verbs.ts";

export class SqliteStore implements Store {
  readonly events: Store["events"];
  readonly deliveries: Store["deliveries"];
  readonly endpoints: Store["endpoints"];
  readonly secrets: Store["secrets"];
  readonly keys: Store["keys"];
  readonly jobs: Store["jobs"];
  readonly reads: Store["reads"];
  readonly statistics: Store["statistics"];
  readonly audit: Store["audit"];
  readonly idempotency: Store["idempotency"];
  readonly recovery: Store["recovery"];
  readonly upkeep: Store["upkeep"];
  readonly operations: Store["operations"];
  readonly ownership: Store["ownership"];
  readonly #db: Database;
  readonly #options: SqliteStoreOptions;
  readonly #base: Foundation;
  readonly #rows: Rows;
  readonly #verbs: Verbs;
  readonly #wal: WalWatch;
  #tookUp = false;
  #closed = false;

  constructor(db: Database, options: SqliteStoreOptions) {
    this.#db = db;
    this.#options = options;
    this.#base = layFoundation(db, options);
    this.#rows = rowsOf(db, this.#base, options);
    this.#verbs = verbsOf(db, this.#base, this.#rows, options);
    this.#wal = new WalWatch(db, {
      monotonic: () => options.clock.monotonic(),
      walBytes: async () => (await this.#verbs.operations.size()).logBytes,
      ...(options.walLimitBytes !== undefined && { limitBytes: options.walLimitBytes }),
    });
    const roles = rolesOf({
      base: this.#base,
      verbs: this.#verbs,
      careful: this.#rows.started.careful,
      takeUp: this.#takeUp,
      checkSpace: this.#checkSpace,
      condition: async () => this.#conditionNow(),
    });
    this.events = roles.events;
    this.deliveries = roles.deliveries;
    this.endpoints = roles.endpoints;
    this.secrets = roles.secrets;
    this.keys = roles.keys;
    this.jobs = roles.jobs;
    this.reads = roles.reads;
    this.statistics = roles.statistics;
    this.audit = roles.audit;
    this.idempotency = roles.idempotency;
    this.recovery = roles.recovery;
    this.upkeep = roles.upkeep;
    this.operations = roles.operations;
    this.ownership = roles.ownership;
  }

  /** Takes up what the last process left; nothing here grows with the backlog. */
  async start(): Promise<void> {
    await this.#takeUp();
    await this.#base.condition.look();
    this.#verbs.registry.start();
    // A stop meanwhile is no loss: the next start goes on.
    this.#verbs.jobs.dropUnplanned().catch(() => {});
  }

  readonly #takeUp = async (): Promise<boolean> => {
    const { condition, manual } = this.#base;
    const { started, sweep } = this.#rows;
    if (this.#tookUp) return true;
    try {
      started.begin();
      sweep.releaseFresh(this.#options.clock.now());
      manual.dropVain();
      this.#tookUp = true;
    } catch (error) {
      if (!condition.isFull(error)) throw error;
      if (this.#options.reserve.release()) return this.#takeUp();
    }
    condition.behind = !this.#tookUp;
    return this.#tookUp;
  };

  readonly #checkSpace = async (): Promise<Space> => {
    const space = await this.#base.condition.look();
    // It stays in memory as long as the disk refuses it.
    await this.#verbs.operations.savePause().catch(() => {});
    await this.#wal.look();
    if (this.#base.condition.state === "ready") this.#makeReserve();
    return { ...space, ...this.#conditionNow() };
  };

  #conditionNow(): Condition {
    return { state: this.#base.condition.state, trouble: this.#wal.trouble };
  }

  /** Without it a start on a full disk may be refused; that is no reason to refuse anything now. */
  #makeReserve(): void {
    try {
      this.#options.reserve.make();
    } catch {
      // Tried again at the next look.
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    const { commit, condition, counters } = this.#base;
    // A death from here on was no sign of a deadly delivery.
    commit.run(() => this.#rows.started.outlive()).catch(() => {});
    this.#verbs.registry.close();
    this.#verbs.operations.close();
    commit.run(() => counters.writeAll()).catch(() => {});
    this.#closed = true;
    commit.flush();
    const wasFull = condition.state === "disk_full";
    const usable = condition.close();
    try {
      if (usable) emptyLogAtStop(this.#db);
    } finally {
      this.#db.close();
      // At once, of what the write-ahead log gives back: there is no other room.
      if (wasFull) this.#makeReserve();
      this.#options.onClosed();
    }
  }
}
