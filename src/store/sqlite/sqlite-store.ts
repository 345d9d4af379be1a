/** The store on one SQLite file: one connection, one writer, its verbs put together from the files beside this one. */
import type { Database } from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import type { AuditEntry } from "../../domain/audit.ts";
import type { Claim, Job, Position } from "../../domain/delivery.ts";
import type { Endpoint, NewEndpoint, NextSecret, SigningSecrets, Target } from "../../domain/endpoint.ts";
import { WebhookdError } from "../../domain/errors.ts";
import type { EventDraft } from "../../domain/event.ts";
import type { KeyedRequest, Once } from "../../domain/idempotency.ts";
import type { ApiKey, NewApiKey } from "../../domain/key.ts";
import type {
  CensusStep,
  AttemptRequest,
  DuePage,
  EndedAttempt,
  EventDelivery,
  HasRoom,
  Owed,
  Pruned,
  PruneRules,
  Publication,
  Recorded,
  Replay as Replayed,
  ReplayScope,
  Rotation as Rotated,
  Shift,
  Shifted,
  Space,
  Store,
  Suspect,
  TypeInUse,
  Waiting,
  Withdrawal,
} from "../store.ts";
import { AttemptLists } from "./attempt-lists.ts";
import { Attempts } from "./attempts.ts";
import { Audit } from "./audit.ts";
import type { StartBackup } from "./backup.ts";
import type { Box } from "./box.ts";
import { Census } from "./census.ts";
import { Condition, type StatFs } from "./condition.ts";
import { Counters } from "./counters.ts";
import { Deliveries } from "./deliveries.ts";
import { Due } from "./due.ts";
import { EndpointIndex } from "./endpoint-index.ts";
import { Endpoints } from "./endpoints.ts";
import { Events } from "./events.ts";
import { Failures } from "./failures.ts";
import { GroupCommit, type WorkSize } from "./group-commit.ts";
import { Health } from "./health.ts";
import { Held } from "./held.ts";
import { IdempotencyKeys } from "./idempotency.ts";
import { EventKeys, RandomChars } from "./ids.ts";
import { Interned } from "./interned.ts";
import { Jobs } from "./jobs.ts";
import { Keys } from "./keys.ts";
import { Manual } from "./manual.ts";
import { Meta } from "./meta.ts";
import { Operations } from "./operations.ts";
import type { NativeBinding } from "./open-file.ts";
import { Pending } from "./pending.ts";
import { Prune } from "./prune.ts";
import { Publish } from "./publish.ts";
import { Reads } from "./reads.ts";
import { RecordAttempts } from "./record.ts";
import { Registry } from "./registry.ts";
import { Replay } from "./replay.ts";
import { Responses } from "./responses.ts";
import { Rotation } from "./rotation.ts";
import { ShiftDue } from "./shift.ts";
import { Sources } from "./sources.ts";
import { Started } from "./started.ts";
import { Statistics } from "./statistics.ts";
import { CHUNK, Sweep } from "./sweep.ts";
import { Withdraw } from "./withdraw.ts";

/** Deliveries that one publish may make: they are one transaction, and everybody else's commit waits for it. */
const MAX_FAN_OUT = 20_000;
const CHUNK_SIZE: WorkSize = { events: 0, deliveries: CHUNK };

export interface SqliteStoreOptions {
  readonly dir: string;
  readonly diskFloor: number;
  /** 0: no limit. */
  readonly maxPendingPerTenant: number;
  readonly box: Box;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly statfs: StatFs;
  readonly defer: (run: () => void) => void;
  readonly nativeBinding: NativeBinding | undefined;
  readonly startBackup: StartBackup;
  readonly onFault: (error: Error) => void;
  /** Runs when the database is closed. */
  readonly onClosed: () => void;
}

export class SqliteStore implements Store {
  readonly lastInstant: number;
  readonly careful: boolean;
  readonly #db: Database;
  readonly #options: SqliteStoreOptions;
  readonly #condition: Condition;
  readonly #commit: GroupCommit;
  readonly #meta: Meta;
  readonly #index: EndpointIndex;
  readonly #endpoints: Endpoints;
  readonly #rotation: Rotation;
  readonly #publish: Publish;
  readonly #due: Due;
  readonly #record: RecordAttempts;
  readonly #started: Started;
  readonly #shift: ShiftDue;
  readonly #replay: Replay;
  readonly #manual: Manual;
  readonly #sweep: Sweep;
  readonly #registry: Registry;
  readonly #withdraw: Withdraw;
  readonly #jobs: Jobs;
  readonly #events: Events;
  readonly #deliveries: Deliveries;
  readonly #reads: Reads;
  readonly #failures: Failures;
  readonly #keys: Keys;
  readonly #audit: Audit;
  readonly #idempotency: IdempotencyKeys;
  readonly #prune: Prune;
  readonly #held: Held;
  readonly #responses: Responses;
  readonly #operations: Operations;
  readonly #counters: Counters;
  readonly #statistics: Statistics;
  readonly #census: Census;
  #closed = false;

  constructor(db: Database, options: SqliteStoreOptions) {
    const { box, clock, defer, diskFloor, dir, maxPendingPerTenant, onFault, random, statfs } = options;
    const tenants = new Interned(db, "tenant");
    const types = new Interned(db, "event_type");
    const urls = new Interned(db, "url");
    const index = new EndpointIndex(db, tenants, types);
    this.#db = db;
    this.#options = options;
    this.#condition = new Condition(db, { dir, floorBytes: diskFloor, statfs, onFault });
    this.#meta = new Meta(db);
    this.lastInstant = this.#meta.lastInstant;
    this.#keys = new Keys(db);
    const counters = new Counters(db);
    this.#counters = counters;
    this.#commit = new GroupCommit(db, {
      clock,
      defer,
      condition: this.#condition,
      onBegin: () => {
        this.#meta.noteInstant(clock.now());
        counters.write(clock.now());
      },
      onRollback: () => {
        const memories = [tenants, types, urls, index, this.#meta, this.#keys, this.#manual, this.#jobs, counters];
        for (const memory of memories) memory.forget();
      },
    });
    this.#index = index;
    this.#endpoints = new Endpoints(db, { tenants, types, index, box });
    this.#rotation = new Rotation(db, { tenants, index, box });
    const lastKey = db.prepare<[], number | null>("SELECT max(key) FROM event").pluck().get() ?? 0;
    this.#idempotency = new IdempotencyKeys(db, { tenants, box });
    const ids = { keys: new EventKeys(lastKey), random: new RandomChars(random) };
    const pending = maxPendingPerTenant > 0 ? new Pending(db, maxPendingPerTenant) : null;
    const manual = new Manual(db, index);
    this.#manual = manual;
    this.#publish = new Publish(db, { index, idempotency: this.#idempotency, manual, pending, ...ids });
    this.#responses = new Responses(db, this.#meta);
    const attempts = new Attempts(db, { index, urls, responses: this.#responses });
    this.#prune = new Prune(db);
    this.#held = new Held(db, attempts);
    this.#due = new Due(db, index);
    this.#started = new Started(db, { meta: this.#meta, index, due: this.#due, manual });
    this.careful = this.#started.careful;
    this.#record = new RecordAttempts(db, { index, attempts, started: this.#started, manual });
    this.#shift = new ShiftDue(db, index);
    this.#replay = new Replay(db, index);
    this.#sweep = new Sweep(db, index);
    this.#registry = new Registry({
      commit: this.#commit,
      endpoints: this.#endpoints,
      index,
      health: new Health(db),
      sweep: this.#sweep,
      manual,
      clock,
      read: (work) => this.#read(work),
    });
    this.#census = new Census(db, index);
    this.#statistics = new Statistics({
      commit: this.#commit,
      counters,
      endpoints: this.#endpoints,
      index,
      tenants,
      clock,
      read: (work) => this.#read(work),
      defer,
    });
    this.#withdraw = new Withdraw(db, { index, manual, commit: this.#commit });
    const read = <T>(work: () => T) => this.#read(work);
    this.#jobs = new Jobs(db, {
      tenants,
      types,
      index,
      attempts,
      manual,
      read,
      defer,
      run: (work, size) => this.#commit.run(work, size),
      once: (once, now, work) => this.#once(once, now, work),
    });
    this.#audit = new Audit(db);
    const sources = new Sources(db);
    const deliveries = new Deliveries(db, { tenants, types, index, attempts, sources });
    this.#deliveries = deliveries;
    this.#events = new Events(db, { tenants, types, index, attempts, deliveries, sources });
    this.#operations = new Operations(db, {
      dir,
      nativeBinding: options.nativeBinding,
      startBackup: options.startBackup,
      statfs,
      floorBytes: diskFloor,
      commit: this.#commit,
      meta: this.#meta,
      read,
      defer,
    });
    this.#reads = new Reads({
      endpoints: this.#endpoints,
      events: this.#events,
      deliveries,
      attempts: new AttemptLists(db, { attempts, deliveries }),
      keys: this.#keys,
      audit: this.#audit,
      read: (work) => this.#read(work),
      defer,
    });
    this.#failures = new Failures(db, {
      index,
      endpoints: this.#endpoints,
      read: (work) => this.#read(work),
      defer,
    });
  }

  /** Takes up what the last process left; nothing here grows with the backlog. */
  async start(): Promise<void> {
    this.#sweep.releaseFresh(this.#options.clock.now());
    this.#manual.dropVain();
    await this.checkSpace();
    this.#registry.start();
    // A stop meanwhile is no loss: the next start goes on.
    this.#jobs.dropUnplanned().catch(() => {});
  }

  addEndpoint(endpoint: NewEndpoint, maxPerTenant: number, now: number, once?: Once<Endpoint>): Promise<Endpoint> {
    return this.#once(once, now, () => this.#endpoints.add(endpoint, maxPerTenant, now));
  }

  async getEndpoint(tenant: string | null, id: string): Promise<Endpoint | null> {
    return this.#read(() => this.#endpoints.get(tenant, id));
  }

  async tenantOf(endpoint: string): Promise<string | null> {
    return this.#read(() => this.#endpoints.tenantOf(endpoint));
  }

  readonly listEndpoints: Store["listEndpoints"] = (query) => this.#reads.listEndpoints(query);

  readonly updateEndpoint: Store["updateEndpoint"] = (...given) => this.#registry.update(...given);

  readonly disableEndpoint: Store["disableEndpoint"] = (...given) => this.#registry.disable(...given);

  readonly deleteEndpoint: Store["deleteEndpoint"] = (...given) => this.#registry.delete(...given);

  readonly endpointHealth: Store["endpointHealth"] = (...given) => this.#registry.health(...given);

  readonly failingSince: Store["failingSince"] = (endpoint) => this.#registry.failingSince(endpoint);

  readonly saveHealth: Store["saveHealth"] = () => this.#registry.saveHealth();

  async typesInUse(known: readonly string[]): Promise<TypeInUse[]> {
    return this.#read(() => this.#endpoints.typesInUse(known));
  }

  async target(endpoint: string): Promise<Target | null> {
    return this.#read(() => this.#endpoints.target(endpoint));
  }

  async signingSecrets(tenant: string | null, id: string): Promise<SigningSecrets | null> {
    return this.#read(() => this.#rotation.secrets(tenant, id));
  }

  rotateSecret(
    tenant: string | null,
    id: string,
    next: NextSecret,
    now: number,
    once?: Once<Rotated>,
  ): Promise<Rotated> {
    return this.#once(once, now, () => this.#rotation.begin(tenant, id, next, now));
  }

  completeRotation(tenant: string | null, id: string, now: number, once?: Once<Rotated>): Promise<Rotated> {
    return this.#once(once, now, () => this.#rotation.complete(tenant, id));
  }

  async abandonRotation(tenant: string | null, id: string): Promise<Rotated> {
    return this.#commit.run(() => this.#rotation.abandon(tenant, id));
  }

  async switchSecrets(now: number): Promise<readonly string[]> {
    // Asked each second: a commit, which writes, is only for when there is something to do.
    if (!this.#read(() => this.#rotation.isDue(now))) return [];
    return this.#commit.run(() => this.#rotation.switchDue(now, CHUNK));
  }

  async publish(
    drafts: readonly EventDraft[],
    now: number,
    hasRoom: HasRoom,
    once?: Once<readonly Publication[]>,
  ): Promise<Publication[]> {
    this.#condition.requireSpace();
    const deliveries = this.#read(() =>
      drafts.reduce((sum, { tenant, type }) => sum + this.#index.fanOut(tenant, type), 0),
    );
    if (deliveries > MAX_FAN_OUT) throw fanOutTooLarge(deliveries);
    const size = { events: drafts.length, deliveries };
    const publications = await this.#once(once, now, () => this.#publish.publish(drafts, now, hasRoom), size);
    this.#statistics.notePublished(drafts, publications);
    return publications;
  }

  async due(endpoint: string, after: Position, until: number, limit: number): Promise<DuePage> {
    return this.#read(() => this.#due.page(endpoint, after, until, limit));
  }

  async earliestDue(after: string | null, limit: number): Promise<Map<string, number>> {
    return this.#read(() => this.#due.earliest(after, limit));
  }

  async waiting(endpoint: string, after: Position, limit: number): Promise<readonly Owed[]> {
    return this.#read(() => this.#due.waiting(endpoint, after, limit));
  }

  async fresh(after: Owed | null, limit: number): Promise<readonly Owed[]> {
    return this.#read(() => this.#due.fresh(after, limit));
  }

  async record(attempts: readonly EndedAttempt[]): Promise<Recorded[]> {
    const size = { events: 0, deliveries: attempts.length, patient: true };
    const recorded = await this.#commit.run(() => attempts.map((attempt) => this.#recordOne(attempt)), size);
    this.#registry.noteAttempts(attempts);
    this.#statistics.noteAttempts(attempts, recorded);
    return recorded;
  }

  async shiftDue(endpoint: string, shift: Shift, from: Position | null): Promise<Shifted> {
    return this.#commit.run(() => this.#shift.shift(endpoint, shift, from));
  }

  async clockUnsettled(): Promise<void> {
    await this.#commit.run(() => this.#meta.setInstant(Number.MAX_SAFE_INTEGER));
  }

  async clockSettled(now: number): Promise<void> {
    await this.#commit.run(() => this.#meta.setInstant(now));
  }

  async park(deliveries: readonly Waiting[], now: number): Promise<Waiting[]> {
    return this.#commit.run(() => this.#record.park(deliveries, now), { events: 0, deliveries: deliveries.length });
  }

  async replay(
    tenant: string | null,
    event: string,
    scope: ReplayScope,
    now: number,
    once?: Once<Replayed>,
  ): Promise<Replayed> {
    return this.#once(once, now, () => {
      const found = this.#events.find(tenant, event);
      return found === null ? { result: "not_found" } : this.#replay.replay(found, scope, now);
    });
  }

  async requestAttempt(
    tenant: string | null,
    delivery: string,
    now: number,
    once?: Once<AttemptRequest>,
  ): Promise<AttemptRequest> {
    return this.#once(once, now, () => {
      const found = this.#deliveries.find(tenant, delivery);
      return found === null ? { result: "not_found" } : this.#manual.request(found);
    });
  }

  async requestedAttempt(delivery: string): Promise<Claim | null> {
    return this.#read(() => this.#manual.claimOfId(delivery));
  }

  async requestedAttempts(after: EventDelivery | null, limit: number): Promise<EventDelivery[]> {
    return this.#read(() => this.#manual.page(after, limit));
  }

  async cancelEvent(tenant: string | null, event: string, endpoint: string | null): Promise<Withdrawal> {
    const found = this.#read(() => this.#events.find(tenant, event));
    if (found === null) return { result: "not_found" };
    const only = endpoint === null ? null : (this.#read(() => this.#index.byId(endpoint)?.number) ?? -1);
    return this.#withdraw.cancel(found, only);
  }

  async eraseEvent(tenant: string | null, event: string): Promise<Withdrawal> {
    const found = this.#read(() => this.#events.find(tenant, event));
    return found === null ? { result: "not_found" } : this.#withdraw.erase(found);
  }

  async markStarted(jobs: readonly Job[]): Promise<void> {
    await this.#commit.run(() => this.#started.mark(jobs), { events: 0, deliveries: jobs.length });
  }

  async suspects(): Promise<Suspect[]> {
    return this.#commit.run(() => this.#started.suspects());
  }

  async outlived(): Promise<void> {
    await this.#commit.run(() => this.#started.outlive());
  }

  readonly getEvent: Store["getEvent"] = (tenant, id) => this.#reads.getEvent(tenant, id);
  readonly listEvents: Store["listEvents"] = (query) => this.#reads.listEvents(query);
  readonly getDelivery: Store["getDelivery"] = (tenant, id) => this.#reads.getDelivery(tenant, id);
  readonly listDeliveries: Store["listDeliveries"] = (query) => this.#reads.listDeliveries(query);
  readonly getAttempt: Store["getAttempt"] = (tenant, id) => this.#reads.getAttempt(tenant, id);
  readonly listAttempts: Store["listAttempts"] = (query) => this.#reads.listAttempts(query);
  readonly listEndpointAttempts: Store["listEndpointAttempts"] = (query) => this.#reads.listEndpointAttempts(query);

  readonly failures: Store["failures"] = (query) => this.#failures.report(query);

  async addKey(key: NewApiKey, now: number, once?: Once<void>): Promise<void> {
    await this.#once(once, now, () => this.#keys.add(key, now));
  }

  async getKey(id: string): Promise<ApiKey | null> {
    return this.#read(() => this.#keys.get(id));
  }

  readonly listKeys: Store["listKeys"] = (query) => this.#reads.listKeys(query);

  async hasAdminKey(now: number): Promise<boolean> {
    return this.#read(() => this.#keys.hasAdmin(now));
  }

  async revokeKey(id: string, now: number): Promise<boolean> {
    return this.#commit.run(() => this.#keys.revoke(id, now));
  }

  touchKey(id: string, now: number): void {
    if (!this.#keys.isWorthNoting(id, now)) return;
    const work = this.#commit.run(() => this.#keys.touch(id, now), { events: 0, deliveries: 1, patient: true });
    // Whoever published or recorded beside it hears of the fault.
    work.catch(() => {});
  }

  async addAudit(entry: AuditEntry, now: number): Promise<void> {
    await this.#commit.run(() => this.#audit.add(entry, now));
  }

  readonly planJob: Store["planJob"] = (set) => this.#jobs.plan(set);
  readonly addJob: Store["addJob"] = (job, expect, now, once) => this.#jobs.add(job, expect, now, once);
  readonly getJob: Store["getJob"] = (tenant, id) => this.#jobs.get(tenant, id);
  readonly listJobs: Store["listJobs"] = (query) => this.#jobs.list(query);
  readonly steerJob: Store["steerJob"] = (tenant, id, to, now) => this.#jobs.steer(tenant, id, to, now);
  readonly openJobs: Store["openJobs"] = () => this.#jobs.open();
  readonly jobEndpoints: Store["jobEndpoints"] = (job, after) => this.#jobs.endpoints(job, after);
  readonly stepJob: Store["stepJob"] = (job, takes, now) => this.#jobs.step(job, takes, now);
  readonly closeJob: Store["closeJob"] = (job, now) => this.#jobs.close(job, now);

  readonly listAudit: Store["listAudit"] = (query) => this.#reads.listAudit(query);

  async pruneAudit(before: number): Promise<number> {
    return this.#commit.run(() => this.#audit.prune(before), CHUNK_SIZE);
  }

  async recall(request: KeyedRequest, now: number): Promise<string | null> {
    const known = this.#read(() => this.#idempotency.find(request.tenant, request, now));
    if (known instanceof WebhookdError) throw known;
    return known;
  }

  async remember(request: KeyedRequest, answer: string): Promise<void> {
    await this.#commit.run(() => this.#idempotency.remember(request.tenant, request, answer));
  }

  async pruneIdempotency(now: number): Promise<number> {
    // Asked each minute: a commit, which writes, is only for when there is something to do.
    if (!this.#read(() => this.#idempotency.hasExpired(now))) return 0;
    return this.#commit.run(() => this.#idempotency.prune(now), CHUNK_SIZE);
  }

  async pruneEvents(rules: PruneRules, from: string | null): Promise<Pruned> {
    return this.#commit.run(() => this.#prune.prune(rules, from), CHUNK_SIZE);
  }

  async expireHeld(before: number, now: number): Promise<number> {
    const endpoints = await this.#commit.run(() => this.#held.expire(before, now), CHUNK_SIZE);
    this.#statistics.noteExpired(endpoints);
    return endpoints.length;
  }

  async forgetResponses(before: number): Promise<number> {
    return this.#commit.run(() => this.#responses.forget(before), CHUNK_SIZE);
  }

  get schemaVersion(): number {
    return this.#operations.schemaVersion;
  }

  readonly getPause: Store["getPause"] = () => this.#operations.getPause();
  readonly pause: Store["pause"] = (pause) => this.#operations.pause(pause);
  readonly resume: Store["resume"] = () => this.#operations.resume();
  readonly listTenants: Store["listTenants"] = (query) => this.#operations.listTenants(query);
  readonly backup: Store["backup"] = (place, now) => this.#operations.backup(place, now);
  readonly lastBackup: Store["lastBackup"] = () => this.#operations.lastBackup();
  readonly size: Store["size"] = () => this.#operations.size();

  get commitTimes(): Store["commitTimes"] {
    return this.#commit.times;
  }

  async census(from: string | null): Promise<CensusStep> {
    return this.#read(() => this.#census.step(from));
  }

  readonly failing: Store["failing"] = (now, limit) => this.#registry.failing(now, limit);
  readonly stats: Store["stats"] = (query) => this.#statistics.stats(query);

  get counted(): Store["counted"] {
    return this.#statistics.counted;
  }

  readonly saveCounters: Store["saveCounters"] = () => this.#statistics.saveCounters();
  readonly pruneCounters: Store["pruneCounters"] = (before) => this.#statistics.pruneCounters(before);

  async checkSpace(): Promise<Space> {
    return this.#condition.look();
  }

  state(): "ready" | "disk_full" | "store_unavailable" {
    return this.#condition.state;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    // A death from here on was no sign of a deadly delivery.
    this.#commit.run(() => this.#started.outlive()).catch(() => {});
    this.#registry.close();
    this.#operations.close();
    this.#commit.run(() => this.#counters.writeAll()).catch(() => {});
    this.#closed = true;
    this.#commit.flush();
    const usable = this.#condition.close();
    try {
      if (usable) this.#db.pragma("wal_checkpoint(TRUNCATE)");
    } finally {
      this.#db.close();
      this.#options.onClosed();
    }
  }

  #recordOne(ended: EndedAttempt): Recorded {
    const recorded = this.#record.record(ended);
    this.#jobs.attempted(ended, recorded);
    return recorded;
  }

  /** A commit of what may be refused, and is done once under an idempotency key. */
  async #once<T>(once: Once<T> | undefined, now: number, work: () => T | WebhookdError, size?: WorkSize): Promise<T> {
    const result = await this.#commit.run(() => this.#idempotency.once(once, now, work), size);
    if (result instanceof WebhookdError) throw result;
    return result;
  }

  #read<T>(work: () => T): T {
    this.#condition.requireUsable();
    try {
      return work();
    } catch (error) {
      throw this.#condition.failed(error) ?? error;
    }
  }
}

function fanOutTooLarge(deliveries: number): WebhookdError {
  const detail = `these events would make ${deliveries} deliveries, at most ${MAX_FAN_OUT} fit into one publish; send smaller batches`;
  return new WebhookdError("validation_failed", detail, {
    errors: [{ pointer: "/events", code: "fan_out_too_large", detail }],
  });
}
