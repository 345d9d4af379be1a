/**
 * Notifies the nodes that own endpoints of commits that other nodes made. A notice is removed once it has been handled.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { RemoteChanges, SharedAlerts, ReportedFailing, Waiting } from "../store.ts";
import { slotOf } from "./endpoints/endpoint-rows.ts";
import type { Health } from "./endpoints/health.ts";
import type { Database, Queries } from "./engine/database.ts";
import { CHUNK, type Engine } from "./engine/engine.ts";
import { NO_CHANGES, type NotifiedChanges } from "./engine/owner.ts";

const KINDS = ["waiting", "requested", "withdrawn", "changed", "resumed"] as const;
type Kind = (typeof KINDS)[number];
/** The time that a caller waits for another node to be notified, and the interval of its checks. */
const PATIENCE_MS = 2000;
const LOOK_MS = 25;

interface Notice {
  readonly number: number;
  readonly kind: number;
  readonly endpoint: string;
  readonly delivery: string | null;
  readonly due_at: number | null;
}

interface NoticesParts {
  readonly node: { readonly id: string };
  readonly database: Database;
  readonly engine: Engine;
  readonly health: Health;
  readonly owns: (endpoint: string) => boolean;
  readonly slotOf: (endpoint: string) => number;
}

export class Notices {
  readonly #node: NoticesParts;
  /** The notices in the last answer. */
  #read: readonly number[] = [];

  constructor(node: NoticesParts) {
    this.#node = node;
  }

  async remoteChanges(slots: readonly number[]): Promise<RemoteChanges> {
    const rows = await this.#node.database.rows<Notice>(
      "SELECT number, kind, endpoint, delivery, due_at FROM notice WHERE slot = ANY($1::smallint[]) ORDER BY number LIMIT $2",
      [slots, CHUNK],
    );
    if (rows.length === 0) return NO_CHANGES;
    const of = (kind: Kind) => rows.filter((row) => KINDS[row.kind] === kind);
    const named = (kind: Kind) => of(kind).map(({ endpoint, delivery }) => ({ endpoint, delivery: delivery! }));
    const resumed = [...new Set(of("resumed").map(({ endpoint }) => endpoint))];
    await this.#node.health.restartAll(resumed);
    this.#read = rows.map(({ number }) => number);
    return {
      waiting: of("waiting").map(({ endpoint, due_at: dueAt }) => ({ endpoint, dueAt: dueAt!, event: "" })),
      requested: named("requested"),
      withdrawn: named("withdrawn"),
      changed: [...new Set([...of("changed").map(({ endpoint }) => endpoint), ...resumed])],
    };
  }

  async acknowledgeChanges(): Promise<void> {
    if (this.#read.length === 0) return;
    // A node whose row was removed must keep the notices, because the new owner has not handled them yet.
    const sql = "DELETE FROM notice WHERE number = ANY($1::bigint[]) AND EXISTS (SELECT 1 FROM node WHERE id = $2)";
    await this.#node.database.change(sql, [this.#read, this.#node.node.id]);
    this.#read = [];
  }

  /** The last answer is for the new owners of those endpoints. */
  forget(): void {
    this.#read = [];
  }

  async notify(tx: Queries, changes: Partial<NotifiedChanges>): Promise<void> {
    const { engine, owns, slotOf } = this.#node;
    const now = engine.clock.now();
    const rows: unknown[][] = [[], [], [], [], [], []];
    const add = (kind: Kind, endpoint: string, delivery: string | null, dueAt: number | null) => {
      if (owns(endpoint)) return;
      const row = [engine.numbers.next(now), slotOf(endpoint), KINDS.indexOf(kind), endpoint, delivery, dueAt];
      row.forEach((value, at) => rows[at]!.push(value));
    };
    for (const [endpoint, dueAt] of earliest(changes.waiting ?? [])) add("waiting", endpoint, null, dueAt);
    for (const kind of ["requested", "withdrawn"] as const) {
      for (const { endpoint, delivery } of changes[kind] ?? []) add(kind, endpoint, delivery, null);
    }
    for (const kind of ["changed", "resumed"] as const)
      for (const one of changes[kind] ?? []) add(kind, one, null, null);
    if (rows[0]!.length === 0) return;
    await tx.change(
      `INSERT INTO notice (number, slot, kind, endpoint, delivery, due_at) SELECT * FROM unnest(
         $1::bigint[], $2::smallint[], $3::smallint[], $4::text[], $5::text[], $6::bigint[])`,
      rows,
    );
  }

  async untilNotified(endpoints: readonly string[]): Promise<void> {
    for (let left = PATIENCE_MS / LOOK_MS; left > 0; left--) {
      const unacknowledged = await this.#node.database.rows(
        `SELECT 1 FROM notice n JOIN slot s ON s.slot = n.slot JOIN node o ON o.id = s.owner
         WHERE n.endpoint = ANY($1::text[]) AND o.id <> $2 AND o.lease_until > now() LIMIT 1`,
        [endpoints, this.#node.node.id],
      );
      if (unacknowledged.length === 0) return;
      await sleep(LOOK_MS);
    }
  }
}

/** A report that another node made before it lost an endpoint arrives within this time. */
const REPORTED_MS = 90_000;

/** Alerts for people. */
export class NodeAlerts implements SharedAlerts {
  readonly #database: Database;
  readonly #engine: Engine;
  /** The slots that this node owned at the last check, and the monotonic times of the coming checks. */
  #slots = "";
  #looksAt: readonly number[] = [];

  constructor(database: Database, engine: Engine) {
    this.#database = database;
    this.#engine = engine;
  }

  async hand(notices: readonly string[]): Promise<void> {
    const { clock, numbers } = this.#engine;
    const now = clock.now();
    await this.#database.change("INSERT INTO alert (number, notice) SELECT * FROM unnest($1::bigint[], $2::text[])", [
      notices.map(() => numbers.next(now)),
      notices,
    ]);
  }

  async take(before: number): Promise<readonly string[]> {
    const rows = await this.#database.rows<{ number: number; notice: string }>(
      `DELETE FROM alert WHERE number IN (SELECT number FROM alert WHERE number < $1 ORDER BY number LIMIT ${CHUNK})
       RETURNING number, notice`,
      [this.#engine.numbers.times.firstKeyAt(before)],
    );
    return rows.toSorted((one, other) => one.number - other.number).map(({ notice }) => notice);
  }

  async failing(endpoints: readonly ReportedFailing[]): Promise<ReadonlySet<string>> {
    const gone = "NOT EXISTS (SELECT 1 FROM endpoint e WHERE e.id = f.endpoint AND e.deleted_at IS NULL)";
    await this.#database.change(`DELETE FROM alert_failing f WHERE ${gone}`);
    const rows = await this.#database.rows<{ endpoint: string }>(
      `INSERT INTO alert_failing (endpoint, slot, since) SELECT * FROM unnest($1::text[], $2::smallint[], $3::bigint[])
       ON CONFLICT DO NOTHING RETURNING endpoint`,
      [
        endpoints.map(({ endpoint }) => endpoint),
        endpoints.map(({ endpoint }) => slotOf(endpoint)),
        endpoints.map(({ failingSince }) => failingSince),
      ],
    );
    return new Set(rows.map(({ endpoint }) => endpoint));
  }

  async ended(endpoints: readonly string[]): Promise<void> {
    await this.#database.change("DELETE FROM alert_failing WHERE endpoint = ANY($1::text[])", [endpoints]);
  }

  async reported(): Promise<readonly ReportedFailing[] | null> {
    const { clock, owner } = this.#engine;
    const now = clock.monotonic();
    const slots = owner.slots ?? [];
    if (slots.join() !== this.#slots) {
      this.#slots = slots.join();
      this.#looksAt = [now, now + REPORTED_MS];
    }
    const later = this.#looksAt.filter((at) => at > now);
    if (later.length === this.#looksAt.length) return null;
    const reported = await this.#database.rows<ReportedFailing>(
      'SELECT endpoint, since AS "failingSince" FROM alert_failing WHERE slot = ANY($1::smallint[])',
      [slots],
    );
    this.#looksAt = later;
    return reported;
  }
}

/** Returns the earliest position of each endpoint, because the others are found behind it. */
function earliest(waiting: readonly Waiting[]): Map<string, number> {
  const first = new Map<string, number>();
  for (const { endpoint, dueAt } of waiting) {
    first.set(endpoint, Math.min(dueAt, first.get(endpoint) ?? Number.POSITIVE_INFINITY));
  }
  return first;
}
