/** The verbs that change endpoints and tell how they fare, with what follows from a change. */
import type { Clock } from "../../../clock.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import type { ChangeSettings, EndedAttempt, EndpointStore, StatisticsStore, UpkeepStore } from "../../store.ts";
import { CHUNK_SIZE, type Doors } from "../engine/doors.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { attempt, type Endpoints } from "./endpoints.ts";
import type { Health } from "./health.ts";
import type { Manual } from "../claims/manual.ts";
import type { Sweep, Walked } from "./sweep.ts";

const CANCEL_AGAIN_MS = 1000;

export interface RegistryParts extends Doors {
  readonly endpoints: Endpoints;
  readonly index: EndpointIndex;
  readonly health: Health;
  readonly sweep: Sweep;
  readonly manual: Manual;
  readonly clock: Clock;
}

export class Registry {
  readonly #parts: RegistryParts;
  #closed = false;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  /** Takes up the sweeps that a stop of the process cut short. */
  start(): void {
    for (const endpoint of this.#parts.sweep.unswept()) this.#cancelBehind(endpoint);
  }

  readonly add: EndpointStore["add"] = (endpoint, maxPerTenant, now, once) =>
    this.#parts.once(once, now, () => this.#parts.endpoints.add(endpoint, maxPerTenant, now));

  readonly get: EndpointStore["get"] = async (tenant, id) =>
    this.#parts.read(() => this.#parts.endpoints.get(tenant, id));

  readonly tenantOf: EndpointStore["tenantOf"] = async (endpoint) =>
    this.#parts.read(() => this.#parts.endpoints.tenantOf(endpoint));

  readonly typesInUse: EndpointStore["typesInUse"] = async (known) =>
    this.#parts.read(() => this.#parts.endpoints.typesInUse(known));

  readonly target: EndpointStore["target"] = async (endpoint) =>
    this.#parts.read(() => this.#parts.endpoints.target(endpoint));

  readonly update: EndpointStore["update"] = async (tenant, id, change, now, held = "release") => {
    const { commit, endpoints, index, health } = this.#parts;
    const updated = await commit.run(() => this.#heeding(id, () => endpoints.update(tenant, id, change, held, now)));
    if (updated instanceof WebhookdError) throw updated;
    if (updated === null) return null;
    const { number } = index.byId(id)!;
    if (updated.resumed) health.restart(number);
    if (held === "cancel") this.#cancelBehind(number);
    return updated.endpoint;
  };

  readonly ofUid: EndpointStore["idOf"] = async (tenant, uid) =>
    this.#parts.read(() => this.#parts.endpoints.idOf(tenant, uid));

  readonly put: EndpointStore["put"] = async (named, settingsOf, maxPerTenant, now) => {
    const { commit, endpoints, index, health } = this.#parts;
    const put = await commit.run(() => {
      const id = endpoints.idOf(named.tenant, named.uid);
      const change: ChangeSettings = (_, endpoint) => settingsOf(endpoint);
      if (id !== null) return this.#heeding(id, () => endpoints.update(null, id, change, "release", now)!);
      const settings = attempt(() => settingsOf(null));
      return settings instanceof WebhookdError ? settings : endpoints.add({ ...settings, ...named }, maxPerTenant, now);
    });
    if (put instanceof WebhookdError) throw put;
    if (!("resumed" in put)) return { endpoint: put, isNew: true };
    if (put.resumed) health.restart(index.byId(put.endpoint.id)!.number);
    return { endpoint: put.endpoint, isNew: false };
  };

  readonly disable: EndpointStore["disable"] = async (id, url, reason, now) => {
    const { commit, endpoints } = this.#parts;
    return commit.run(() => this.#heeding(id, () => endpoints.disable(id, url, reason, now)));
  };

  readonly delete: EndpointStore["delete"] = async (tenant, id, now) => {
    const { commit, endpoints } = this.#parts;
    const number = await commit.run(() => endpoints.softDelete(tenant, id, now));
    if (number === null) return false;
    await this.#cancelOpen(number);
    return true;
  };

  readonly health: EndpointStore["health"] = async (tenant, id) => {
    const { endpoints, index, health, read } = this.#parts;
    return read(() => (endpoints.get(tenant, id) === null ? null : health.of(index.byId(id)!)));
  };

  readonly failingSince: EndpointStore["failingSince"] = async (id) => {
    const { index, health, read } = this.#parts;
    return read(() => {
      const endpoint = index.byId(id);
      return endpoint === undefined ? null : health.streak(endpoint.number).failingSince;
    });
  };

  readonly failing: StatisticsStore["failing"] = async (tenant, now, limit) => {
    const { endpoints, index, health, read } = this.#parts;
    const isOf = (endpoint: string) => tenant === null || endpoints.tenantOf(endpoint) === tenant;
    return read(() =>
      [...health.failing(now)]
        .filter(([number]) => !index.byNumber(number).deleted && isOf(index.byNumber(number).id))
        .toSorted(([, one], [, other]) => other - one)
        .slice(0, limit)
        .map(([number, consecutiveFailures]) => ({ endpoint: index.byNumber(number).id, consecutiveFailures })),
    );
  };

  readonly saveHealth: UpkeepStore["saveHealth"] = async () => {
    const { commit, health } = this.#parts;
    if (!health.hasNews) return;
    const endpoints = health.takeNews();
    try {
      await commit.run(() => health.write(endpoints), { ...CHUNK_SIZE, patient: true });
    } catch (error) {
      health.giveBack(endpoints);
      throw error;
    }
  };

  /** After their commit. */
  noteAttempts(attempts: readonly EndedAttempt[]): void {
    const { index, health } = this.#parts;
    for (const attempt of attempts) {
      const endpoint = index.byId(attempt.claim.endpoint);
      if (endpoint !== undefined) health.note(endpoint.number, attempt);
    }
  }

  /** Leaves what is still to be written to the last commit. */
  close(): void {
    this.#closed = true;
    while (this.#parts.health.hasNews) this.saveHealth().catch(() => {});
  }

  /** What was asked for before an endpoint was disabled is owed no more. */
  #heeding<T>(id: string, change: () => T): T {
    const { index, manual } = this.#parts;
    const before = index.byId(id);
    const result = change();
    if (before?.enabled === true && index.byId(id)?.enabled === false) manual.dropOf(before.number);
    return result;
  }

  /** A chunk a turn, so that a million deliveries delay nobody else's commit. */
  async #cancelOpen(endpoint: number): Promise<void> {
    const { commit, sweep } = this.#parts;
    let walked: Walked | null = null;
    do {
      const from: Walked | null = walked;
      walked = await commit.run(() => sweep.cancelOpen(endpoint, from), CHUNK_SIZE);
    } while (walked !== null);
  }

  /** While nobody waits for it. A full disk stops it for a moment, a stop of the process until the next start. */
  #cancelBehind(endpoint: number): void {
    this.#cancelOpen(endpoint).catch(() => {
      if (!this.#closed) this.#parts.clock.after(CANCEL_AGAIN_MS, () => this.#cancelBehind(endpoint));
    });
  }
}
