/** The store on one SQLite file: one connection, one writer, its verbs put together from the files beside this one. */
import type { Database } from "better-sqlite3";
import type { Space, Store } from "../store.ts";
import { emptyLogAtStop } from "./empty-log.ts";
import { layFoundation, type Foundation } from "./foundation.ts";
import type { SqliteStoreOptions } from "./options.ts";
import { rowsOf, type Rows } from "./rows.ts";
import { WalWatch } from "./wal-watch.ts";
import { verbsOf, type Verbs } from "./verbs.ts";

export class SqliteStore implements Store {
  readonly lastInstant: number;
  readonly careful: boolean;
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
      walBytes: async () => (await this.#verbs.operations.size()).walBytes,
      ...(options.walLimitBytes !== undefined && { limitBytes: options.walLimitBytes }),
    });
    this.lastInstant = this.#base.lastInstant;
    this.careful = this.#rows.started.careful;
  }

  /** Takes up what the last process left; nothing here grows with the backlog. */
  async start(): Promise<void> {
    await this.takeUp();
    await this.#base.condition.look();
    this.#verbs.registry.start();
    // A stop meanwhile is no loss: the next start goes on.
    this.#verbs.jobs.dropUnplanned().catch(() => {});
  }

  readonly takeUp = async (): Promise<boolean> => {
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
      if (this.#options.reserve.release()) return this.takeUp();
    }
    condition.behind = !this.#tookUp;
    return this.#tookUp;
  };

  readonly addEndpoint: Store["addEndpoint"] = (endpoint, maxPerTenant, now, once) =>
    this.#verbs.registry.add(endpoint, maxPerTenant, now, once);
  readonly getEndpoint: Store["getEndpoint"] = (tenant, id) => this.#verbs.registry.get(tenant, id);
  readonly endpointOfUid: Store["endpointOfUid"] = (tenant, uid) => this.#verbs.registry.ofUid(tenant, uid);
  readonly putEndpoint: Store["putEndpoint"] = (named, settingsOf, maxPerTenant, now) =>
    this.#verbs.registry.put(named, settingsOf, maxPerTenant, now);
  readonly tenantOf: Store["tenantOf"] = (endpoint) => this.#verbs.registry.tenantOf(endpoint);
  readonly listEndpoints: Store["listEndpoints"] = (query) => this.#verbs.reads.listEndpoints(query);
  readonly updateEndpoint: Store["updateEndpoint"] = (tenant, id, change, now, held) =>
    this.#verbs.registry.update(tenant, id, change, now, held);
  readonly disableEndpoint: Store["disableEndpoint"] = (id, url, reason, now) =>
    this.#verbs.registry.disable(id, url, reason, now);
  readonly endpointHealth: Store["endpointHealth"] = (tenant, id) => this.#verbs.registry.health(tenant, id);
  readonly failingSince: Store["failingSince"] = (endpoint) => this.#verbs.registry.failingSince(endpoint);
  readonly saveHealth: Store["saveHealth"] = () => this.#verbs.registry.saveHealth();
  readonly deleteEndpoint: Store["deleteEndpoint"] = (tenant, id, now) => this.#verbs.registry.delete(tenant, id, now);
  readonly typesInUse: Store["typesInUse"] = (known) => this.#verbs.registry.typesInUse(known);
  readonly target: Store["target"] = (endpoint) => this.#verbs.registry.target(endpoint);

  readonly signingSecrets: Store["signingSecrets"] = (tenant, id) => this.#verbs.rotation.signingSecrets(tenant, id);
  readonly rotateSecret: Store["rotateSecret"] = (tenant, id, next, now, once) =>
    this.#verbs.rotation.rotateSecret(tenant, id, next, now, once);
  readonly completeRotation: Store["completeRotation"] = (tenant, id, now, once) =>
    this.#verbs.rotation.completeRotation(tenant, id, now, once);
  readonly abandonRotation: Store["abandonRotation"] = (tenant, id) => this.#verbs.rotation.abandonRotation(tenant, id);
  readonly switchSecrets: Store["switchSecrets"] = (now) => this.#verbs.rotation.switchSecrets(now);

  readonly publish: Store["publish"] = (drafts, now, hasRoom, once) =>
    this.#verbs.publish.publish(drafts, now, hasRoom, once);

  readonly due: Store["due"] = (endpoint, after, until, limit) =>
    this.#verbs.deliveries.due(endpoint, after, until, limit);
  readonly earliestDue: Store["earliestDue"] = (after, limit) => this.#verbs.deliveries.earliestDue(after, limit);
  readonly waiting: Store["waiting"] = (endpoint, after, limit) =>
    this.#verbs.deliveries.waiting(endpoint, after, limit);
  readonly fresh: Store["fresh"] = (after, limit) => this.#verbs.deliveries.fresh(after, limit);
  readonly record: Store["record"] = (attempts) => this.#verbs.deliveries.record(attempts);
  readonly park: Store["park"] = (deliveries, now) => this.#verbs.deliveries.park(deliveries, now);

  readonly shiftDue: Store["shiftDue"] = (endpoint, shift, from) => this.#verbs.clock.shiftDue(endpoint, shift, from);
  readonly clockUnsettled: Store["clockUnsettled"] = () => this.#verbs.clock.clockUnsettled();
  readonly clockSettled: Store["clockSettled"] = (now) => this.#verbs.clock.clockSettled(now);

  readonly replay: Store["replay"] = (tenant, event, scope, now, once) =>
    this.#verbs.manual.replay(tenant, event, scope, now, once);
  readonly requestAttempt: Store["requestAttempt"] = (tenant, delivery, now, once) =>
    this.#verbs.manual.requestAttempt(tenant, delivery, now, once);
  readonly requestedAttempt: Store["requestedAttempt"] = (delivery) => this.#verbs.manual.requestedAttempt(delivery);
  readonly requestedAttempts: Store["requestedAttempts"] = (after, limit) =>
    this.#verbs.manual.requestedAttempts(after, limit);
  readonly cancelEvent: Store["cancelEvent"] = (tenant, event, endpoint) =>
    this.#verbs.manual.cancelEvent(tenant, event, endpoint);
  readonly eraseEvent: Store["eraseEvent"] = (tenant, event) => this.#verbs.manual.eraseEvent(tenant, event);

  readonly markStarted: Store["markStarted"] = (jobs) => this.#verbs.careful.markStarted(jobs);
  readonly suspects: Store["suspects"] = () => this.#verbs.careful.suspects();
  readonly outlived: Store["outlived"] = () => this.#verbs.careful.outlived();

  readonly planJob: Store["planJob"] = (set) => this.#verbs.jobs.plan(set);
  readonly addJob: Store["addJob"] = (job, expect, now, once) => this.#verbs.jobs.add(job, expect, now, once);
  readonly getJob: Store["getJob"] = (tenant, id) => this.#verbs.jobs.get(tenant, id);
  readonly listJobs: Store["listJobs"] = (query) => this.#verbs.jobs.list(query);
  readonly steerJob: Store["steerJob"] = (...asked) => this.#verbs.jobs.steer(...asked);
  readonly openJobs: Store["openJobs"] = () => this.#verbs.jobs.open();
  readonly jobEndpoints: Store["jobEndpoints"] = (job, after) => this.#verbs.jobs.endpoints(job, after);
  readonly stepJob: Store["stepJob"] = (job, takes, now) => this.#verbs.jobs.step(job, takes, now);
  readonly closeJob: Store["closeJob"] = (job, now) => this.#verbs.jobs.close(job, now);
  readonly pruneJobs: Store["pruneJobs"] = (before, from) => this.#verbs.jobs.prune(before, from);

  readonly getEvent: Store["getEvent"] = (tenant, id) => this.#verbs.reads.getEvent(tenant, id);
  readonly listEvents: Store["listEvents"] = (query) => this.#verbs.reads.listEvents(query);
  readonly getDelivery: Store["getDelivery"] = (tenant, id) => this.#verbs.reads.getDelivery(tenant, id);
  readonly listDeliveries: Store["listDeliveries"] = (query) => this.#verbs.reads.listDeliveries(query);
  readonly getAttempt: Store["getAttempt"] = (tenant, id) => this.#verbs.reads.getAttempt(tenant, id);
  readonly listAttempts: Store["listAttempts"] = (query) => this.#verbs.reads.listAttempts(query);
  readonly listEndpointAttempts: Store["listEndpointAttempts"] = (query) =>
    this.#verbs.reads.listEndpointAttempts(query);
  readonly unknownName: Store["unknownName"] = (tenant, names) => this.#verbs.reads.unknownName(tenant, names);

  readonly failures: Store["failures"] = (query) => this.#verbs.failures.report(query);

  readonly stats: Store["stats"] = (query) => this.#verbs.statistics.stats(query);
  readonly saveCounters: Store["saveCounters"] = () => this.#verbs.statistics.saveCounters();
  readonly pruneCounters: Store["pruneCounters"] = (before) => this.#verbs.statistics.pruneCounters(before);
  readonly failing: Store["failing"] = (...given) => this.#verbs.registry.failing(...given);

  readonly addKey: Store["addKey"] = (key, now, once) => this.#verbs.keys.addKey(key, now, once);
  readonly getKey: Store["getKey"] = (id) => this.#verbs.keys.getKey(id);
  readonly listKeys: Store["listKeys"] = (query) => this.#verbs.reads.listKeys(query);
  readonly hasAdminKey: Store["hasAdminKey"] = (now) => this.#verbs.keys.hasAdminKey(now);
  readonly revokeKey: Store["revokeKey"] = (id, now) => this.#verbs.keys.revokeKey(id, now);
  readonly pruneKeys: Store["pruneKeys"] = (before, from) => this.#verbs.keys.pruneKeys(before, from);
  readonly touchKey: Store["touchKey"] = (id, now) => this.#verbs.keys.touchKey(id, now);

  readonly addAudit: Store["addAudit"] = (entry, now) => this.#verbs.audit.addAudit(entry, now);
  readonly listAudit: Store["listAudit"] = (query) => this.#verbs.reads.listAudit(query);
  readonly pruneAudit: Store["pruneAudit"] = (before) => this.#verbs.audit.pruneAudit(before);

  readonly recall: Store["recall"] = (request, now) => this.#verbs.idempotency.recall(request, now);
  readonly remember: Store["remember"] = (request, answer) => this.#verbs.idempotency.remember(request, answer);
  readonly pruneIdempotency: Store["pruneIdempotency"] = (now) => this.#verbs.idempotency.pruneIdempotency(now);

  readonly pruneEvents: Store["pruneEvents"] = (rules, from) => this.#verbs.retention.pruneEvents(rules, from);
  readonly expireHeld: Store["expireHeld"] = (before, now) => this.#verbs.retention.expireHeld(before, now);
  readonly forgetResponses: Store["forgetResponses"] = (before) => this.#verbs.retention.forgetResponses(before);

  readonly getPause: Store["getPause"] = () => this.#verbs.operations.getPause();
  readonly pause: Store["pause"] = (pause) => this.#verbs.operations.pause(pause);
  readonly resume: Store["resume"] = () => this.#verbs.operations.resume();
  readonly listTenants: Store["listTenants"] = (query) => this.#verbs.operations.listTenants(query);
  readonly backup: Store["backup"] = (place, now) => this.#verbs.operations.backup(place, now);
  readonly rekey: Store["rekey"] = () => this.#verbs.operations.rekey();
  readonly lastBackup: Store["lastBackup"] = () => this.#verbs.operations.lastBackup();
  readonly damage: Store["damage"] = () => this.#verbs.operations.damage();
  readonly size: Store["size"] = () => this.#verbs.operations.size();

  readonly census: Store["census"] = async (from) => this.#base.read(() => this.#verbs.census.step(from));

  get counted(): Store["counted"] {
    return this.#verbs.statistics.counted;
  }

  get commitTimes(): Store["commitTimes"] {
    return this.#base.commit.times;
  }

  get schemaVersion(): number {
    return this.#verbs.operations.schemaVersion;
  }

  async checkSpace(): Promise<Space> {
    const space = await this.#base.condition.look();
    // It stays in memory as long as the disk refuses it.
    await this.#verbs.operations.savePause().catch(() => {});
    await this.#wal.look();
    if (this.state() === "ready") this.#makeReserve();
    return { ...space, walTrouble: this.#wal.trouble };
  }

  /** Without it a start on a full disk may be refused; that is no reason to refuse anything now. */
  #makeReserve(): void {
    try {
      this.#options.reserve.make();
    } catch {
      // Tried again at the next look.
    }
  }

  get walTrouble(): string | null {
    return this.#wal.trouble;
  }

  state(): "ready" | "disk_full" | "store_unavailable" {
    return this.#base.condition.state;
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
