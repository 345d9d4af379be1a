/** Upkeep each second, minute or hour: removes old rows, saves what is in memory, and checks the disk. */
import type { Reserve } from "../files/spare-files.ts";
import type { Condition, PruneRules, Pruned, Space, UpkeepStore } from "../store.ts";
import type { Attempts } from "./attempts/attempts.ts";
import { Causes } from "./attempts/causes.ts";
import type { Responses } from "./attempts/responses.ts";
import type { Choices } from "./endpoints/choices.ts";
import type { SqliteEndpoints } from "./endpoints/endpoint-store.ts";
import type { Engine } from "./engine/engine.ts";
import { CHUNK_SIZE, CHUNK } from "./engine/group-commit.ts";
import { WalWatch } from "./engine/write-ahead-log.ts";
import type { LargeData } from "./events/large-data.ts";
import { Prune } from "./events/prune.ts";
import type { EndpointIndex } from "./numbers/endpoint-index.ts";
import type { Lines } from "./ordering/lines.ts";
import type { SqliteOperations } from "./operation-store.ts";
import type { Counters } from "./statistics/counters.ts";
import type { Database, Statement } from "better-sqlite3";
import { noResponse } from "../../domain/deliveries/attempt.ts";
import { FAILED, triggerCode, triggerOf, WAITING } from "../rows/codes.ts";
import { orderedOf } from "../rows/delivery-row.ts";
import { unawaited } from "../../domain/unawaited.ts";

/** The pause after each step of a few milliseconds, in which others can commit. */
const NOTE_REST_MS = 50;

interface Parts {
  readonly attempts: Attempts;
  readonly choices: Choices;
  readonly endpoints: SqliteEndpoints;
  readonly index: EndpointIndex;
  readonly large: LargeData;
  readonly lines: Lines;
  readonly operations: SqliteOperations;
  readonly reserve: Reserve;
  readonly responses: Responses;
  readonly counters: Counters;
  /** The log reports the write-ahead log as growing above this size. */
  readonly walLimitBytes?: number | undefined;
}

export class SqliteUpkeep implements UpkeepStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #prune: Prune;
  readonly #held: Held;
  readonly #free: FreePages;
  readonly #log: WalWatch;
  readonly #causes: Causes;
  #cancelNoting: (() => void) | null = null;
  #closed = false;

  constructor(engine: Engine, parts: Parts) {
    const { db, clock } = engine;
    this.#engine = engine;
    this.#parts = parts;
    this.#prune = new Prune(db, parts.lines);
    this.#causes = new Causes(db);
    this.#held = new Held(db, parts, this.#causes);
    this.#free = new FreePages(db);
    this.#log = new WalWatch(db, {
      monotonic: () => clock.monotonic(),
      walBytes: async () => (await parts.operations.size()).logBytes,
      ...(parts.walLimitBytes !== undefined && { limitBytes: parts.walLimitBytes }),
    });
  }

  async pruneEvents(rules: PruneRules, from: string | null): Promise<Pruned> {
    return this.#engine.commit.run(() => this.#prune.prune(rules, from, this.#engine.clock.now()), CHUNK_SIZE);
  }

  async expireHeld(before: number, now: number): Promise<number> {
    const endpoints = await this.#engine.commit.run(() => this.#held.expire(before, now), CHUNK_SIZE);
    this.#parts.counters.noteExpired(endpoints, this.#engine.clock.now());
    return endpoints.length;
  }

  async freeKeys(now: number): Promise<number> {
    const { commit, read } = this.#engine;
    const { lines } = this.#parts;
    return read(() => lines.mayFree) ? commit.run(() => lines.freeKeys(now), CHUNK_SIZE) : 0;
  }

  async pruneKeys(from: string | null): Promise<Pruned> {
    return this.#engine.commit.run(() => this.#parts.lines.prune(from), CHUNK_SIZE);
  }

  async pruneChoices(): Promise<number> {
    return this.#engine.commit.run(() => this.#parts.choices.prune(), CHUNK_SIZE);
  }

  async forgetResponses(before: number): Promise<number> {
    return this.#engine.commit.run(() => this.#parts.responses.forget(before), CHUNK_SIZE);
  }

  async giveBack(): Promise<number> {
    const { commit, read } = this.#engine;
    return read(() => this.#free.isMuch()) ? commit.run(() => this.#free.giveBack(), CHUNK_SIZE) : 0;
  }

  /** Triggers maintain the counters, and each process counts again when it starts. */
  async mendPending(): Promise<readonly string[]> {
    return [];
  }

  saveHealth(): Promise<void> {
    return this.#parts.endpoints.saveHealth();
  }

  async checkSpace(): Promise<Space> {
    const space = await this.#engine.condition.look();
    // The pause stays in memory as long as the disk refuses it.
    await this.#parts.operations.savePause().catch(() => {});
    await this.#log.look();
    const condition = await this.condition();
    if (condition.state === "ready") {
      this.makeReserve();
      unawaited(this.#parts.large.dropLeft());
    }
    return { ...space, ...condition };
  }

  async condition(): Promise<Condition> {
    return { state: this.#engine.condition.state, trouble: this.#log.trouble };
  }

  /** Records causes again after a repair, while nothing else waits. The next start continues if this one stops. */
  noteCauses(): void {
    const { clock, commit, meta } = this.#engine;
    if (this.#closed || meta.causesNoted === null) return;
    const again = () => void (this.#cancelNoting = clock.after(NOTE_REST_MS, () => this.noteCauses()));
    commit.run(() => this.#causes.noteSome(meta), { ...CHUNK_SIZE, patient: true }).then(again, again);
  }

  close(): void {
    this.#closed = true;
    this.#cancelNoting?.();
  }

  /** Without the reserve, a start on a full disk may fail. That is no reason to refuse anything now. */
  makeReserve(): void {
    try {
      this.#parts.reserve.make();
    } catch {
      // The next check tries again.
    }
  }
}

interface Row {
  readonly event: number;
  readonly endpoint: number;
  readonly url: string;
  readonly attempts: number;
  readonly round: number;
  readonly retry: number;
  readonly trigger: number;
  readonly key: number | null;
  readonly sequence: number | null;
}

const DETAIL = "the endpoint was disabled for longer than [retention] held";

/** Fails deliveries that were held for too long, as if an attempt had failed. They can be replayed like any other. */
export class Held {
  readonly #index: EndpointIndex;
  readonly #lines: Lines;
  readonly #attempts: Attempts;
  readonly #causes: Causes;
  readonly #select: Statement<[number, number, number], Row>;
  readonly #fail: Statement<[number, number]>;

  constructor(db: Database, { attempts, index, lines }: Pick<Parts, "attempts" | "index" | "lines">, causes: Causes) {
    this.#index = index;
    this.#lines = lines;
    this.#attempts = attempts;
    this.#causes = causes;
    // If a disabled endpoint was changed, somebody still cares about it, so its time starts again. A delivery with a
    // manual attempt is left alone, because that attempt may be on the wire under the number that would be used here.
    this.#select = db.prepare(
      `SELECT d.event, d.endpoint, e.url, d.attempts, d.round, d.retry, d.trigger, d.ordering_key AS key, d.sequence
       FROM endpoint e INDEXED BY endpoint_disabled CROSS JOIN delivery d INDEXED BY delivery_waiting
       WHERE e.enabled = 0 AND e.deleted_at IS NULL AND e.updated_at < ?
         AND d.endpoint = e.number AND d.status = ${WAITING} AND d.due_at < ? AND d.trigger <> ${triggerCode("test")}
         AND NOT EXISTS (SELECT 1 FROM manual_attempt m WHERE m.event = d.event AND m.endpoint = d.endpoint)
       LIMIT ?`,
    );
    this.#fail = db.prepare(
      `UPDATE delivery SET status = ${FAILED}, attempts = attempts + 1, due_at = NULL WHERE event = ? AND endpoint = ?`,
    );
  }

  /** Call it inside a transaction. Returns the endpoints' numbers, one per delivery, at most 500. */
  expire(before: number, now: number): number[] {
    const rows = this.#select.all(before, before, CHUNK);
    for (const row of rows) {
      const { event, endpoint, url, attempts, round, retry, trigger } = row;
      this.#fail.run(event, endpoint);
      this.#attempts.add(event, endpoint, {
        claim: { number: attempts + 1, trigger: triggerOf(trigger), round, retry },
        url,
        startedAt: now,
        outcome: noResponse("held_expired", DETAIL, 0),
        secretVersion: null,
      });
      this.#causes.note(event, endpoint);
      const ordered = orderedOf(row);
      if (ordered === null) continue;
      const to = { event, endpoint: this.#index.byNumber(endpoint), before: "waiting", status: "failed", now } as const;
      this.#lines.settled(ordered, to);
    }
    return rows.map(({ endpoint }) => endpoint);
  }
}

/** The value of `PRAGMA auto_vacuum`. */
const INCREMENTAL = 2;
/** The number of pages moved in one commit. */
const PAGES = 64;
/** Parts of the file. New events reuse free pages, so moving pages back and forth would be useless. */
const MUCH = 1 / 4;
const LITTLE = 1 / 10;
const LEAST_BYTES = 64 * 1024 * 1024;

/**
 * Returns to the disk the pages that pruning leaves empty in the middle of the file: pages from the end are moved
 * there, and the file is cut.
 */
export class FreePages {
  readonly #db: Database;
  readonly #pageBytes: number;
  readonly #free: Statement<[], number>;
  readonly #all: Statement<[], number>;
  readonly #canMove: boolean;
  #giving = false;

  constructor(db: Database) {
    this.#db = db;
    this.#free = db.prepare<[], number>("PRAGMA freelist_count").pluck();
    this.#all = db.prepare<[], number>("PRAGMA page_count").pluck();
    this.#pageBytes = db.pragma("page_size", { simple: true }) as number;
    this.#canMove = db.pragma("auto_vacuum", { simple: true }) === INCREMENTAL;
  }

  isMuch(): boolean {
    if (!this.#canMove) return false;
    const [free, all] = [this.#free.get()!, this.#all.get()!];
    this.#giving = free * this.#pageBytes > LEAST_BYTES && free > all * (this.#giving ? LITTLE : MUCH);
    return this.#giving;
  }

  /** Call it inside a transaction. Returns the number of bytes. */
  giveBack(): number {
    const before = this.#all.get()!;
    this.#db.pragma(`incremental_vacuum(${PAGES})`);
    return (before - this.#all.get()!) * this.#pageBytes;
  }
}
