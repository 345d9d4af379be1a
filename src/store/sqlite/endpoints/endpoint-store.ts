/** Endpoints: changes to them, the consequences of a change, and their health. */
import { heldKeysLimit } from "../../../domain/deliveries/ordering.ts";
import type {
  DamagedTarget,
  DisabledReason,
  Endpoint,
  EndpointHealth,
  NamedEndpoint,
  NewEndpoint,
  Target,
} from "../../../domain/endpoints/endpoint.ts";
import type { ExpiringCertificate } from "../../../domain/endpoints/auth.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type { ChangeSettings, EndpointQuery, EndpointStore, Page, Pruned, SettingsOf, TypeInUse } from "../../store.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { ManualAttempts } from "../claims/manual-attempts.ts";
import type { Engine } from "../engine/engine.ts";
import { CHUNK_SIZE } from "../engine/group-commit.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { attempt, type Endpoints } from "./endpoints.ts";
import type { Health } from "./health.ts";
import type { Lines } from "../ordering/lines.ts";
import type { OldEndpoints, Sweep, Walked } from "./sweep.ts";

const CANCEL_AGAIN_MS = 1000;

interface Parts {
  readonly endpoints: Endpoints;
  readonly index: EndpointIndex;
  readonly health: Health;
  readonly sweep: Sweep;
  readonly old: OldEndpoints;
  readonly manual: ManualAttempts;
  readonly idempotency: IdempotencyKeys;
  readonly lines: Lines;
}

export class SqliteEndpoints implements EndpointStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  #closed = false;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
  }

  /** Continues the sweeps that a stop of the process cut short. */
  start(): void {
    for (const endpoint of this.#parts.sweep.unswept()) this.#cancelBehind(endpoint);
  }

  add(endpoint: NewEndpoint, maxPerTenant: number, now: number, once?: Once<Endpoint>): Promise<Endpoint> {
    const { endpoints, idempotency } = this.#parts;
    return idempotency.commit(once, now, () => endpoints.add(endpoint, maxPerTenant, now));
  }

  async get(tenant: string | null, id: string): Promise<Endpoint | null> {
    return this.#engine.read(() => this.#parts.endpoints.get(tenant, id));
  }

  async idOf(tenant: string, uid: string): Promise<string | null> {
    return this.#engine.read(() => this.#parts.endpoints.idOf(tenant, uid));
  }

  async tenantOf(endpoint: string): Promise<string | null> {
    return this.#engine.read(() => this.#parts.endpoints.tenantOf(endpoint));
  }

  async list(query: EndpointQuery): Promise<Page<Endpoint>> {
    return this.#engine.pages.of(() => this.#parts.endpoints.list(query), query);
  }

  async typesInUse(known: readonly string[]): Promise<TypeInUse[]> {
    return this.#engine.read(() => this.#parts.endpoints.typesInUse(known));
  }

  async expiring(before: number, limit: number): Promise<readonly ExpiringCertificate[]> {
    return this.#engine.read(() => this.#parts.endpoints.expiring(before, limit));
  }

  async target(endpoint: string): Promise<Target | DamagedTarget | null> {
    return this.#engine.read(() => this.#parts.endpoints.target(endpoint));
  }

  async update(
    tenant: string | null,
    id: string,
    change: ChangeSettings,
    now: number,
    held: "release" | "cancel" = "release",
  ): Promise<Endpoint | null> {
    const { endpoints, index, health } = this.#parts;
    const updated = await this.#engine.commitOrRefuse(() =>
      this.#heeding(id, () => endpoints.update(tenant, id, change, held, now)),
    );
    if (updated === null) return null;
    const { number } = index.byId(id)!;
    if (updated.resumed) health.restart(number);
    if (held === "cancel") this.#cancelBehind(number);
    return updated.endpoint;
  }

  async put(
    named: NamedEndpoint,
    settingsOf: SettingsOf,
    maxPerTenant: number,
    now: number,
  ): Promise<{ readonly endpoint: Endpoint; readonly isNew: boolean }> {
    const { endpoints, index, health } = this.#parts;
    const put = await this.#engine.commitOrRefuse(() =>
      this.#addOrUpdate(
        named,
        settingsOf,
        (endpoint) => endpoints.add(endpoint, maxPerTenant, now),
        (id) => this.#heeding(id, () => endpoints.update(null, id, settingsOf, "release", now)!),
      ),
    );
    if (!("resumed" in put)) return { endpoint: put, isNew: true };
    if (put.resumed) health.restart(index.byId(put.endpoint.id)!.number);
    return { endpoint: put.endpoint, isNew: false };
  }

  async judgeUpdate(tenant: string | null, id: string, change: ChangeSettings): Promise<boolean> {
    const judged = this.#engine.read(() => this.#parts.endpoints.judge(tenant, id, change));
    if (judged instanceof WebhookdError) throw judged;
    return judged !== null;
  }

  async judgePut(named: NamedEndpoint, settingsOf: SettingsOf, maxPerTenant: number): Promise<void> {
    const { endpoints } = this.#parts;
    const judged = this.#engine.read(() =>
      this.#addOrUpdate(
        named,
        settingsOf,
        (endpoint) => endpoints.refusalOf(endpoint, maxPerTenant),
        (id) => endpoints.judge(null, id, settingsOf),
      ),
    );
    if (judged instanceof WebhookdError) throw judged;
  }

  /** Calls one of the functions, or returns the refusal of `settingsOf`. */
  #addOrUpdate<A, U>(
    named: NamedEndpoint,
    settingsOf: SettingsOf,
    add: (endpoint: NewEndpoint) => A,
    update: (id: string) => U,
  ): A | U | WebhookdError {
    const id = this.#parts.endpoints.idOf(named.tenant, named.uid);
    if (id !== null) return update(id);
    const settings = attempt(() => settingsOf(null, null));
    return settings instanceof WebhookdError ? settings : add({ ...settings, ...named });
  }

  async disable(id: string, url: string, reason: DisabledReason, now: number): Promise<boolean> {
    const { endpoints } = this.#parts;
    return this.#engine.commit.run(() => this.#heeding(id, () => endpoints.disable(id, url, reason, now)));
  }

  async delete(tenant: string | null, id: string, now: number): Promise<boolean> {
    const { endpoints, lines, manual } = this.#parts;
    const number = await this.#engine.commit.run(() => {
      const deleted = endpoints.softDelete(tenant, id, now);
      if (deleted !== null) {
        manual.dropOf(deleted);
        lines.forgetEndpoint(deleted);
      }
      return deleted;
    });
    if (number === null) return false;
    // The endpoint is deleted. Report that even if its deliveries cannot be rewritten now.
    await this.#cancelOpen(number).catch(() => this.#cancelLater(number));
    return true;
  }

  async prune(before: number, from: string | null): Promise<Pruned> {
    const { health, old } = this.#parts;
    const { clock, commit } = this.#engine;
    const { numbers, pruned, next } = await commit.run(() => {
      if (from === null) old.pruneUrls(clock.now());
      return old.prune(before, from);
    }, CHUNK_SIZE);
    for (const number of numbers) health.forget(number);
    return { pruned, next };
  }

  async health(tenant: string | null, id: string): Promise<EndpointHealth | null> {
    const { endpoints, index, health } = this.#parts;
    return this.#engine.read(() =>
      endpoints.get(tenant, id) === null ? null : health.of(index.byId(id)!, heldKeysLimit(1)),
    );
  }

  async healthOf(ids: readonly string[]): Promise<ReadonlyMap<string, EndpointHealth>> {
    const { index, health } = this.#parts;
    const found = new Map<string, EndpointHealth>();
    for (const id of ids)
      this.#engine.read(() => {
        const entry = index.byId(id);
        if (entry !== undefined && !entry.deleted) found.set(id, health.of(entry, heldKeysLimit(ids.length)));
      });
    return found;
  }

  async failingSince(id: string): Promise<number | null> {
    const { index, health } = this.#parts;
    return this.#engine.read(() => {
      const endpoint = index.byId(id);
      return endpoint === undefined ? null : health.streak(endpoint.number).failingSince;
    });
  }

  /** Writes at most 500 of the streaks that have changed. */
  async saveHealth(): Promise<void> {
    const { health } = this.#parts;
    if (!health.hasChanges) return;
    const endpoints = health.takeChanged();
    try {
      await this.#engine.commit.run(() => health.write(endpoints), { ...CHUNK_SIZE, patient: true });
    } catch (error) {
      health.giveBack(endpoints);
      throw error;
    }
  }

  /** Leaves what is still unsaved to the last commit. */
  close(): void {
    this.#closed = true;
    while (this.#parts.health.hasChanges) this.saveHealth().catch(() => {});
  }

  /**
   * Drops attempts that were requested before the endpoint was disabled, and forgets failures from before it was
   * enabled.
   */
  #heeding<T>(id: string, change: () => T): T {
    const { health, index, manual } = this.#parts;
    const before = index.byId(id);
    const result = change();
    const isEnabled = index.byId(id)?.enabled;
    if (before?.enabled === true && isEnabled === false) manual.dropOf(before.number);
    if (before?.enabled === false && isEnabled === true) health.writeRestart(before.number);
    return result;
  }

  /** Cancels a chunk per turn, so that a million deliveries delay nobody else's commit. */
  async #cancelOpen(endpoint: number): Promise<void> {
    const { sweep } = this.#parts;
    const { clock, commit } = this.#engine;
    let walked: Walked | null = null;
    do {
      const from: Walked | null = walked;
      walked = await commit.run(() => sweep.cancelOpen(endpoint, from, clock.now()), CHUNK_SIZE);
    } while (walked !== null);
  }

  /** Runs in the background, while nobody waits for it. */
  #cancelBehind(endpoint: number): void {
    this.#cancelOpen(endpoint).catch(() => this.#cancelLater(endpoint));
  }

  /** A full disk delays the sweep for a moment. A stop of the process delays it until the next start. */
  #cancelLater(endpoint: number): void {
    if (!this.#closed) this.#engine.clock.after(CANCEL_AGAIN_MS, () => this.#cancelBehind(endpoint));
  }
}
