/** The store on PostgreSQL: puts all of its parts together. */
import type { Clock } from "../../clock.ts";
import type { NewApiKey } from "../../domain/caller.ts";
import type { TenantShares } from "../../domain/time/timetable.ts";
import { StoreRefused } from "../files/refused.ts";
import type { Store } from "../store.ts";
import { addKey, PostgresAudit, PostgresKeys } from "./callers/callers.ts";
import { Counters } from "./statistics/counters.ts";
import { Database, type Queries } from "./engine/database.ts";
import { Pending } from "./deliveries/pending.ts";
import { Lines } from "./ordering/lines.ts";
import { PostgresDeliveries } from "./deliveries/deliveries.ts";
import { PostgresEndpoints } from "./endpoints/endpoints.ts";
import { Engine, getMeta, lastKeys, NodeKeys, setMeta, keyTimes } from "./engine/engine.ts";
import { OF_EVENTS, OF_NUMBERS } from "../rows/key-times.ts";
import { PostgresEvents } from "./events/events.ts";
import { Health } from "./endpoints/health.ts";
import { IdempotencyKeys } from "./callers/idempotency.ts";
import { PostgresJobs } from "./jobs/jobs.ts";
import { PostgresOperations } from "./operations.ts";
import { OWNS_EVERYTHING, type Owner } from "./engine/owner.ts";
import type { Node } from "./node.ts";
import { PostgresReads } from "./reads/reads.ts";
import { leftBy, PostgresRecovery, type Left } from "./deliveries/recovery.ts";
import { requireHere } from "./engine/moved.ts";
import { migrateBesideOthers } from "./engine/migrate.ts";
import { META } from "./engine/schema.ts";
import { Secrets } from "../work/secrets.ts";
import { SigningKeys } from "../work/signing-keys.ts";
import { workplaceOf } from "./work.ts";
import { PostgresTypes } from "./endpoints/types.ts";
import { PostgresStatistics } from "./statistics/statistics.ts";
import { PostgresUpkeep } from "./upkeep.ts";
import type { Box } from "../rows/box.ts";

export interface PostgresOptions {
  /** `postgres://user:password@host1,host2/name` */
  readonly url: string;
  readonly box: Box;
  /** The path of the key in `box`, for messages. */
  readonly secretKeyFile: string;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  /** 0 means no limit. */
  readonly maxPendingPerTenant: number;
  readonly shares: TenantShares;
  /**
   * Present if other processes may want the store, or share it. This process then joins them, and migrates the store if
   * it may.
   */
  readonly node?: { readonly owner: Node; readonly take: (database: Database) => Promise<number> };
  /** Makes the first key of a new store. */
  readonly adminKey: () => NewApiKey;
  readonly onClosed?: () => void;
}

const HOUR_MS = 3_600_000;

/** Rejects with `StoreRefused`, with a text for people, or with a `WebhookdError` if the database cannot be reached. */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStore> {
  const database = new Database(options.url);
  try {
    await database.ready();
    await database.transaction((tx) => tx.script(META));
    // A process with the wrong key must not take a share from those that are running, migrate anything, or stand by in
    // vain.
    await requireKey(database, options);
    const number = await comeAmongOthers(database, options);
    const keys = await database.transaction((tx) => makeReady(tx, options, number));
    const store = new PostgresStore(database, { ...options, ...keys, number, left: await leftBy(database) });
    await store.start();
    return store;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Returns the number of this process. */
async function comeAmongOthers(database: Database, { node }: PostgresOptions): Promise<number> {
  if (node !== undefined) return node.take(database);
  await migrateBesideOthers(database, { isHeld: async () => false, onLong: () => {} });
  return 0;
}

async function makeReady(tx: Queries, options: PostgresOptions, node: number) {
  const { adminKey, box, clock } = options;
  // If several nodes start on an empty database, one of them makes the keys.
  await tx.rows("SELECT 1 FROM meta WHERE name = 'schema' FOR UPDATE");
  await requireHere(tx);
  // These are marks of processes that were killed. A running process does not need them.
  await tx.change("DELETE FROM last_commit WHERE at < now() - interval '1 day'");
  const isNew = (await getMeta(tx, "key_id")) === null;
  const last = await lastKeys(tx);
  const times = await keyTimes(tx);
  const keys = new NodeKeys(last.key, node, times[OF_EVENTS]);
  const numbers = new NodeKeys(last.number, node, times[OF_NUMBERS]);
  if (isNew) {
    await setMeta(tx, "key_id", box.keyId);
    await setMeta(tx, "key_check", box.sealCheck());
    await addKey(tx, adminKey(), numbers.next(clock.now()), clock.now());
  }
  await requireKey(tx, options);
  // Take over the marks of a file whose key was changed.
  const marks = await getMeta(tx, "marks");
  if (marks !== null) box.takeMarks(marks);
  return { keys, numbers };
}

async function requireKey(queries: Queries, { box, secretKeyFile }: PostgresOptions): Promise<void> {
  const isNew = (await getMeta(queries, "key_id")) === null;
  if (isNew || box.opensCheck((await getMeta(queries, "key_check")) ?? "")) return;
  const what = `the secret key ${secretKeyFile} is not the one this database was sealed with`;
  throw new StoreRefused(1, what, "all nodes of a store have the same key: copy the file from a running node");
}

interface Opened extends PostgresOptions {
  readonly keys: NodeKeys;
  readonly numbers: NodeKeys;
  /** The number of this node. */
  readonly number: number;
  readonly left: Left;
}

export class PostgresStore implements Store {
  readonly events: PostgresEvents;
  readonly deliveries: PostgresDeliveries;
  readonly endpoints: PostgresEndpoints;
  readonly secrets: Secrets;
  readonly signingKeys: SigningKeys;
  readonly types: PostgresTypes;
  readonly keys: PostgresKeys;
  readonly jobs: PostgresJobs;
  readonly reads: PostgresReads;
  readonly statistics: PostgresStatistics;
  readonly audit: PostgresAudit;
  readonly idempotency: IdempotencyKeys;
  readonly recovery: PostgresRecovery;
  readonly upkeep: PostgresUpkeep;
  readonly operations: PostgresOperations;
  readonly ownership: Owner;
  readonly #engine: Engine;
  readonly #counters: Counters;
  readonly #health: Health;
  readonly #onClosed: () => void;
  #closed: Promise<void> | null = null;

  constructor(database: Database, options: Opened) {
    const owner = (this.ownership = options.node?.owner ?? OWNS_EVERYTHING);
    const isShared = owner.owns !== null;
    const engine = (this.#engine = new Engine({ ...options, database, owner }));
    const idempotency = (this.idempotency = new IdempotencyKeys(engine));
    const counters = (this.#counters = new Counters());
    const health = (this.#health = new Health(engine));
    engine.riders.push((tx, now) => counters.ride(tx, now));
    const pending = new Pending(options.number);
    const lines = new Lines(engine);
    const node = options.node?.owner;
    node?.attach(engine, health);
    if (node !== undefined) engine.riders.unshift((tx) => node.guard(tx));
    this.#onClosed = options.onClosed ?? (() => {});
    this.keys = new PostgresKeys(engine, idempotency);
    this.audit = new PostgresAudit(engine);
    this.endpoints = new PostgresEndpoints(engine, { health, idempotency, lines, pending });
    const workplace = workplaceOf(engine, idempotency);
    this.secrets = new Secrets(workplace);
    this.signingKeys = new SigningKeys(workplace);
    this.types = new PostgresTypes(engine);
    const { maxPendingPerTenant, shares } = options;
    this.events = new PostgresEvents(engine, { counters, idempotency, lines, pending, maxPendingPerTenant, shares });
    this.deliveries = new PostgresDeliveries(engine, { counters, health, idempotency, lines, pending });
    this.jobs = new PostgresJobs(engine, { idempotency, lines, pending });
    this.reads = new PostgresReads(engine);
    this.statistics = new PostgresStatistics(engine, { counters, health });
    this.recovery = new PostgresRecovery(engine, options.left, isShared);
    const operations = (this.operations = new PostgresOperations(engine));
    this.upkeep = new PostgresUpkeep(engine, {
      counters,
      endpoints: this.endpoints,
      health,
      lines,
      operations,
      pending,
    });
  }

  /** Takes over what the last process left. */
  async start(): Promise<void> {
    await this.recovery.takeUp();
    await this.endpoints.takeUp();
    // Another node may be writing one, which takes less than an hour.
    const isShared = this.ownership.owns !== null;
    const before = isShared ? this.#engine.clock.now() - HOUR_MS : Number.MAX_SAFE_INTEGER;
    // Nothing is lost if the process stops in the meantime, because the next start continues.
    this.jobs.drop(await this.jobs.unplanned(before)).catch(() => {});
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  /** A database that cannot be reached must not keep the process from stopping. */
  async #close(): Promise<void> {
    this.endpoints.close();
    // If the process dies from here on, no delivery is to blame.
    const last = [this.recovery.outlived(), this.#engine.write((tx) => this.#counters.saveAll(tx))];
    await Promise.allSettled(last);
    while (this.#health.hasChanges) {
      const saved = await this.#health.save().then(
        () => true,
        () => false,
      );
      if (!saved) break;
    }
    await this.#engine.idle();
    // The next process then need not wait for the lease to run out.
    await this.ownership.release().catch(() => {});
    await this.#engine.database.close();
    this.#onClosed();
  }
}
