/** The store on one SQLite file: puts all of its parts together. */
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import type { StartBackup } from "../backup/backup.ts";
import type { Reserve, SetAside } from "../files/spare-files.ts";
import type { OwnershipStore, Store } from "../store.ts";
import { Attempts } from "./attempts/attempts.ts";
import { DataSearch } from "./lists/data-search.ts";
import { Responses } from "./attempts/responses.ts";
import { Sources } from "./lists/sources.ts";
import { SqliteAudit } from "./callers/audit.ts";
import { IdempotencyKeys } from "./callers/idempotency.ts";
import { SqliteKeys } from "./callers/keys.ts";
import { Due } from "./claims/due.ts";
import { FreshMark } from "./claims/fresh.ts";
import { ManualAttempts, Started } from "./claims/manual-attempts.ts";
import { Deliveries } from "./deliveries/deliveries.ts";
import { RecordAttempts, SqliteDeliveries } from "./deliveries/delivery-store.ts";
import { SqliteRecovery } from "./deliveries/recovery-store.ts";
import { Choices } from "./endpoints/choices.ts";
import { SqliteEndpoints } from "./endpoints/endpoint-store.ts";
import { Endpoints } from "./endpoints/endpoints.ts";
import { FirstKeys } from "./endpoints/first-keys.ts";
import { Health } from "./endpoints/health.ts";
import { OldEndpoints, Sweep } from "./endpoints/sweep.ts";
import { SqliteTypes } from "./endpoints/type-store.ts";
import { TypeRows } from "./endpoints/types.ts";
import { Engine, type EngineOptions } from "./engine/engine.ts";
import type { NativeBinding } from "./engine/open-database.ts";
import { emptyLogAtStop } from "./engine/write-ahead-log.ts";
import { SqliteEvents } from "./events/event-store.ts";
import { Events } from "./events/events.ts";
import { LargeData } from "./events/large-data.ts";
import { Labels } from "./lists/labels.ts";
import { Lines } from "./ordering/lines.ts";
import { JobSteps } from "./jobs/job-steps.ts";
import { SqliteJobs } from "./jobs/job-store.ts";
import { SqliteOperations } from "./operation-store.ts";
import { ReaderHere, type Answers, type Reader } from "./questions/questions.ts";
import { ReaderThreadPort, type StartReader } from "./questions/reader-thread-port.ts";
import { answersFrom, namesIn, type Rows } from "./reads/answers.ts";
import { SqliteReads } from "./reads/read-store.ts";
import { Secrets } from "../work/secrets.ts";
import { SigningKeys } from "../work/signing-keys.ts";
import { workplaceOf } from "./work.ts";
import { Counters } from "./statistics/counters.ts";
import { SqliteStatistics } from "./statistics/statistics-store.ts";
import { SqliteUpkeep } from "./upkeep-store.ts";
import { unawaited } from "../../domain/unawaited.ts";

export interface SqliteStoreOptions extends EngineOptions {
  /** 0 means no limit. */
  readonly maxPendingPerTenant: number;
  /** The path of the box's key. */
  readonly secretKeyFile: string;
  readonly nativeBinding: NativeBinding | undefined;
  readonly startBackup: StartBackup;
  /** Without one, lists are read on this thread. */
  readonly startReader?: StartReader | undefined;
  /** The log reports the write-ahead log as growing above this size. */
  readonly walLimitBytes?: number | undefined;
  /** The number of deliveries after which the lower bound of the fresh events is moved. */
  readonly freshStep?: number | undefined;
  /** Keeps results that a damaged database cannot record. */
  readonly setAside: SetAside;
  readonly reserve: Reserve;
  /** Called when the database is closed. */
  readonly onClosed: () => void;
}

const EVERYTHING = { endpoints: "everything", holdsForMs: Number.POSITIVE_INFINITY } as const;

/** No other process can open the file, so this one owns all endpoints. */
const ONE_PROCESS: OwnershipStore = {
  owns: null,
  renew: async () => EVERYTHING,
  leave: async () => EVERYTHING,
  give: async () => {},
  remoteChanges: async () => ({ waiting: [], requested: [], withdrawn: [], changed: [] }),
  acknowledgeChanges: async () => {},
  untilNotified: async () => {},
  nodes: async () => [],
  drain: async () => false,
  stream: null,
  alerts: null,
  release: async () => {},
};

export class SqliteStore implements Store {
  readonly events: SqliteEvents;
  readonly deliveries: SqliteDeliveries;
  readonly endpoints: SqliteEndpoints;
  readonly secrets: Secrets;
  readonly signingKeys: SigningKeys;
  readonly types: SqliteTypes;
  readonly keys: SqliteKeys;
  readonly jobs: SqliteJobs;
  readonly reads: SqliteReads;
  readonly statistics: SqliteStatistics;
  readonly audit: SqliteAudit;
  readonly idempotency: IdempotencyKeys;
  readonly recovery: SqliteRecovery;
  readonly upkeep: SqliteUpkeep;
  readonly operations: SqliteOperations;
  readonly ownership = ONE_PROCESS;
  readonly #engine: Engine;
  readonly #fresh: FreshMark;
  readonly #large: LargeData;
  readonly #reader: Reader;
  readonly #onClosed: () => void;
  #closed = false;

  constructor(db: Database, options: SqliteStoreOptions) {
    const { freshStep, maxPendingPerTenant, onClosed, reserve, setAside, shares, walLimitBytes } = options;
    const engine = (this.#engine = new Engine(db, options));
    this.#onClosed = onClosed;

    const names = namesIn(db);
    for (const memory of Object.values(names)) engine.mirror(memory);
    const { index, tenants, urls } = names;
    const reader = (this.#reader = this.#openReader(options, () => shown));

    const idempotency = (this.idempotency = new IdempotencyKeys(engine, tenants));
    this.keys = new SqliteKeys(engine, idempotency);
    this.audit = new SqliteAudit(engine, reader);

    const due = new Due(db, index);
    const fresh = (this.#fresh = engine.mirror(new FreshMark(db, freshStep)));
    const manual = engine.mirror(new ManualAttempts(db, index));
    const started = new Started(db, { meta: engine.meta, index, due, manual });
    const lines: Lines = engine.mirror(new Lines(db, { index, manual, flushRows: () => this.events.flushRows() }));
    const responses = new Responses(db, engine.meta);
    const attempts = new Attempts(db, { index, urls, responses });

    const typeRows = new TypeRows(db, names.types);
    this.types = new SqliteTypes(engine, typeRows);
    const firstKeys = new FirstKeys(db, tenants, engine);
    const choices = engine.mirror(new Choices(db));
    const rows = new Endpoints(db, { ...names, typeRows, box: engine.box, firstKeys, choices });
    const health = new Health(db, index);
    const sweep = new Sweep(db, { index, fresh, manual, lines });
    const old = new OldEndpoints(db, { ...names, choices });
    const its = { endpoints: rows, index, health, sweep, old, manual, idempotency, lines };
    const endpoints = (this.endpoints = new SqliteEndpoints(engine, its));
    const workplace = workplaceOf(engine, names, idempotency);
    this.secrets = new Secrets(workplace);
    this.signingKeys = new SigningKeys(workplace);
    const counters = engine.mirror(new Counters(db, names));
    this.statistics = new SqliteStatistics(engine, { ...names, counters, endpoints: rows, health, reader });
    const jobs = engine.mirror(new JobSteps(db, { fresh, index, manual, lines }));
    this.jobs = new SqliteJobs(engine, { index, idempotency, reader, steps: jobs });

    const labels = new Labels(db);
    const lists = { ...names, attempts, labels, data: new DataSearch(db), sources: new Sources(db, labels) };
    const deliveries = new Deliveries(db, lists);
    const record = new RecordAttempts(db, { index, attempts, fresh, started, manual, lines, clock: engine.clock });
    const shared = { counters, idempotency, manual, lines };
    this.deliveries = new SqliteDeliveries(engine, { ...shared, deliveries, due, health, jobs, record, setAside });
    this.recovery = new SqliteRecovery(engine, { fresh, index, manual, reserve, started });

    const events = new Events(db, { ...lists, deliveries });
    const large = (this.#large = new LargeData(engine));
    const written = { events, fresh, large, choices };
    this.events = new SqliteEvents(engine, { ...lists, ...shared, ...written, maxPendingPerTenant, shares });
    const shown: Rows = { ...lists, deliveries, events };
    this.reads = new SqliteReads(engine, { ...shown, endpoints: rows, choices, reader });

    const operations = (this.operations = new SqliteOperations(engine, options));
    const kept = { attempts, choices, counters, endpoints, index, large, lines, responses };
    this.upkeep = new SqliteUpkeep(engine, { ...kept, operations, reserve, walLimitBytes });
  }

  /** Takes over what the last process left. The time for this does not grow with the backlog. */
  async start(): Promise<void> {
    await this.recovery.takeUp();
    await this.#engine.condition.look();
    this.endpoints.start();
    this.upkeep.noteCauses();
    // Nothing is lost if the process stops in the meantime, because the next start continues.
    this.jobs.dropUnplanned().catch(() => {});
    unawaited(this.#large.dropLeft());
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    const { clock, commit, condition, db } = this.#engine;
    // If the process dies from here on, no delivery is to blame.
    this.recovery.outlived().catch(() => {});
    commit.run(() => this.#fresh.move(clock.now())).catch(() => {});
    this.endpoints.close();
    this.upkeep.close();
    this.operations.close();
    this.statistics.close();
    this.#closed = true;
    commit.flush();
    const wasFull = condition.state === "disk_full";
    const usable = condition.close();
    // The log cannot be emptied while the reader still reads from it.
    await this.#reader.close();
    try {
      if (usable) emptyLogAtStop(db);
    } finally {
      db.close();
      // Make the reserve at once, in the space that the write-ahead log frees, because there is no other.
      if (wasFull) this.upkeep.makeReserve();
      this.#onClosed();
    }
  }

  #openReader({ dir, nativeBinding, startReader: start }: SqliteStoreOptions, rows: () => Rows): Reader {
    const engine = this.#engine;
    const { box, clock, cursors, db } = engine;
    if (start !== undefined) {
      const data = { database: join(dir, "webhookd.db"), nativeBinding, markKey: box.markKey };
      return new ReaderThreadPort(engine, () => start(data));
    }
    let answers: Answers | undefined;
    const means = { cursors, monotonic: () => clock.monotonic() };
    return new ReaderHere(engine, () => (answers ??= answersFrom(db, rows(), means)));
  }
}
