/** The audit log. Rows are only added, and removed when they are old. */
import type { Database, Statement } from "better-sqlite3";
import type { AuditEntry, AuditRecord } from "../../../domain/caller.ts";
import type { AuditQuery, AuditStore, Caller, Page } from "../../store.ts";
import { auditList, type AuditRow, recordOf } from "../../lists/callers.ts";
import { type Walk, walkOf } from "../engine/page.ts";
import { Statements } from "../engine/statements.ts";
import type { Engine } from "../engine/engine.ts";
import { CHUNK, CHUNK_SIZE } from "../engine/group-commit.ts";
import type { Reader } from "../questions/questions.ts";
import { parseDeliveryId, parseEventId } from "../../rows/codes.ts";
import { OF_NUMBERS } from "../../rows/key-times.ts";
import { Keys, StoredTimes } from "../numbers/keys.ts";

const UNKNOWN = "*";

export class SqliteAudit implements AuditStore {
  readonly #engine: Engine;
  readonly #reader: Reader;
  readonly #keys: Keys;
  readonly #times: StoredTimes;
  readonly #insert: Statement<unknown[]>;
  readonly #count: Statement<[number, number, number]>;
  readonly #prune: Statement<[number, number]>;
  /** Finds the tenant to which an object belongs, by the prefix of its id. */
  readonly #owners: ReadonlyMap<string, (id: string) => string | undefined>;

  constructor(engine: Engine, reader: Reader) {
    const { db } = engine;
    this.#engine = engine;
    this.#reader = reader;
    const last = db.prepare<[], number | null>("SELECT max(key) FROM audit").pluck().get() ?? 0;
    this.#keys = engine.mirror(new Keys({ db, clock: engine.clock, kind: OF_NUMBERS, last }));
    this.#times = new StoredTimes(db, OF_NUMBERS);
    this.#insert = db.prepare(
      `INSERT INTO audit (key, actor, uid, user, tenant, action, object, request, outcome)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#count = db.prepare(
      "UPDATE audit SET count = count + ?, last_at = max(coalesce(last_at, 0), ?) WHERE key = ?",
    );
    this.#prune = db.prepare(
      "DELETE FROM audit WHERE key IN (SELECT key FROM audit WHERE key < ? ORDER BY key LIMIT ?)",
    );
    const owner = (sql: string) => db.prepare<(string | number)[], string>(sql).pluck();
    const endpoint = owner("SELECT t.name FROM endpoint e JOIN tenant t ON t.num = e.tenant WHERE e.id = ?");
    const event = owner(
      "SELECT t.name FROM event e JOIN tenant t ON t.num = e.tenant WHERE e.key = ? AND e.random GLOB ? || '*'",
    );
    const key = owner("SELECT tenant FROM api_key WHERE id = ?");
    const job = owner("SELECT tenant FROM job WHERE id = ?");
    this.#owners = new Map([
      ["ep", (id) => endpoint.get(id)],
      ["key", (id) => key.get(id)],
      ["job", (id) => job.get(id)],
      ["evt", (id) => eventOwner(parseEventId(id), event)],
      ["dlv", (id) => eventOwner(eventOfDelivery(id), event)],
    ]);
  }

  async add(entry: AuditEntry, now: number): Promise<number> {
    return this.#engine.commit.run(() => this.#add(entry, now));
  }

  async count(row: number, more: number, lastAt: number): Promise<boolean> {
    return this.#engine.commit.run(() => this.#count.run(more, lastAt, row).changes > 0);
  }

  list(query: AuditQuery, caller?: Caller): Promise<Page<AuditRecord>> {
    return this.#reader.ask("listAudit", query, { caller });
  }

  async prune(before: number): Promise<number> {
    return this.#engine.commit.run(
      () => this.#prune.run(this.#times.now.firstKeyAt(before), CHUNK).changes,
      CHUNK_SIZE,
    );
  }

  #add(entry: AuditEntry, now: number): number {
    const { actor, uid, user, action, object, requestId, outcome } = entry;
    const tenant = entry.tenant ?? (object === null ? undefined : this.#ownerOf(object)) ?? UNKNOWN;
    const row = this.#keys.next(now);
    this.#insert.run(row, actor, uid, user, tenant, action, object, requestId, outcome);
    return row;
  }

  #ownerOf(object: string): string | undefined {
    return this.#owners.get(object.slice(0, object.indexOf("_")))?.(object);
  }
}

export class AuditList {
  readonly #statements: Statements;
  readonly #times: StoredTimes;

  constructor(db: Database) {
    this.#statements = new Statements(db);
    this.#times = new StoredTimes(db, OF_NUMBERS);
  }

  walk(query: AuditQuery): Walk<AuditRow, AuditRecord> {
    const times = this.#times.now;
    return walkOf(this.#statements, auditList(query, times), (row) => recordOf(row, times));
  }
}

type Select = Statement<(string | number)[], string>;

function eventOwner(event: { key: number; random: string } | null, select: Select): string | undefined {
  return event === null ? undefined : select.get(event.key, event.random);
}

/** A delivery's id contains the beginning of the random part of its event's id. */
function eventOfDelivery(id: string): { key: number; random: string } | null {
  const parsed = parseDeliveryId(id);
  return parsed === null ? null : { key: parsed.event, random: parsed.check };
}
