/** What is done each second, minute or hour: old rows go, memory is written down, and the disk is looked at. */
import type { Reserve } from "../files/reserve.ts";
import type { Condition, PruneRules, Pruned, Space, UpkeepStore } from "../store.ts";
import type { Attempts } from "./attempts/attempts.ts";
import type { Responses } from "./attempts/responses.ts";
import { Held } from "./deliveries/held.ts";
import type { SqliteEndpoints } from "./endpoints/endpoint-store.ts";
import type { Engine } from "./engine/engine.ts";
import { CHUNK_SIZE } from "./engine/group-commit.ts";
import { WalWatch } from "./engine/write-ahead-log.ts";
import { Prune } from "./events/prune.ts";
import type { SqliteOperations } from "./operation-store.ts";
import type { SqliteStatistics } from "./statistics/statistics-store.ts";

interface Parts {
  readonly attempts: Attempts;
  readonly endpoints: SqliteEndpoints;
  readonly operations: SqliteOperations;
  readonly reserve: Reserve;
  readonly responses: Responses;
  readonly statistics: SqliteStatistics;
  /** Over it the write-ahead log is said to grow. */
  readonly walLimitBytes?: number | undefined;
}

export class SqliteUpkeep implements UpkeepStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #prune: Prune;
  readonly #held: Held;
  readonly #log: WalWatch;

  constructor(engine: Engine, parts: Parts) {
    const { db, clock } = engine;
    this.#engine = engine;
    this.#parts = parts;
    this.#prune = new Prune(db);
    this.#held = new Held(db, parts.attempts);
    this.#log = new WalWatch(db, {
      monotonic: () => clock.monotonic(),
      walBytes: async () => (await parts.operations.size()).logBytes,
      ...(parts.walLimitBytes !== undefined && { limitBytes: parts.walLimitBytes }),
    });
  }

  async pruneEvents(rules: PruneRules, from: string | null): Promise<Pruned> {
    return this.#engine.commit.run(() => this.#prune.prune(rules, from), CHUNK_SIZE);
  }

  async expireHeld(before: number, now: number): Promise<number> {
    const endpoints = await this.#engine.commit.run(() => this.#held.expire(before, now), CHUNK_SIZE);
    this.#parts.statistics.noteExpired(endpoints);
    return endpoints.length;
  }

  async forgetResponses(before: number): Promise<number> {
    return this.#engine.commit.run(() => this.#parts.responses.forget(before), CHUNK_SIZE);
  }

  saveHealth(): Promise<void> {
    return this.#parts.endpoints.saveHealth();
  }

  async checkSpace(): Promise<Space> {
    const space = await this.#engine.condition.look();
    // It stays in memory as long as the disk refuses it.
    await this.#parts.operations.savePause().catch(() => {});
    await this.#log.look();
    const condition = await this.condition();
    if (condition.state === "ready") this.makeReserve();
    return { ...space, ...condition };
  }

  async condition(): Promise<Condition> {
    return { state: this.#engine.condition.state, trouble: this.#log.trouble };
  }

  /** Without it a start on a full disk may be refused; that is no reason to refuse anything now. */
  makeReserve(): void {
    try {
      this.#parts.reserve.make();
    } catch {
      // Tried again at the next look.
    }
  }
}
