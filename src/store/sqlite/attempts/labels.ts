/**
 * What publishers find their events by: their own id of it, and tags. They have a table of their own, so that an event
 * without any costs nothing more.
 */
import type { Database, Statement } from "better-sqlite3";
import { NO_LABELS, type EventLabels } from "../../../domain/events/event.ts";
import type { LabelFilter } from "../../store.ts";
import type { Source } from "./merged-keys.ts";

/* On disk. */
const ID = 0;
const TAG = 1;

export interface LabelRow {
  readonly kind: number;
  readonly label: string;
}

export class Labels {
  readonly #insert: Statement<[number, string, number, number]>;
  readonly #of: Statement<[number], LabelRow>;
  readonly #drop: Statement<[number]>;
  readonly #nextTenant: Statement<[number, string, number], number | null>;

  constructor(db: Database) {
    this.#insert = db.prepare("INSERT INTO event_label (kind, label, tenant, event) VALUES (?, ?, ?, ?)");
    this.#of = db.prepare("SELECT kind, label FROM event_label INDEXED BY event_label_event WHERE event = ?");
    this.#drop = db.prepare("DELETE FROM event_label WHERE event = ?");
    this.#nextTenant = db
      .prepare<[number, string, number], number | null>(
        "SELECT min(tenant) FROM event_label WHERE kind = ? AND label = ? AND tenant > ?",
      )
      .pluck();
  }

  /** Inside the transaction of the publish. */
  add(event: number, tenant: number, labels: EventLabels): void {
    for (const { kind, label } of labelRows(labels)) this.#insert.run(kind, label, tenant, event);
  }

  of(event: number): EventLabels {
    return labelsIn(this.#of.all(event));
  }

  has(event: number, filter: LabelFilter): boolean {
    if (!seeksLabel(filter)) return true;
    const rows = this.#of.all(event);
    return soughtLabels(filter).every((some) => rows.some((row) => some.some((one) => isSame(one, row))));
  }

  /** With the event, and with what it says. */
  drop(event: number): void {
    this.#drop.run(event);
  }

  /** In key order; null where nothing is sought by a label, or too many tenants have it. */
  sources(filter: LabelFilter, tenant: number | null, of: "pairs" | "events", most: number): Source[] | null {
    const [some] = soughtLabels(filter);
    if (some === undefined) return null;
    const found: Source[] = [];
    for (const { kind, label } of some) {
      for (const owner of tenant === null ? this.#tenants(kind, label) : [tenant]) {
        found.push(sourceOf({ kind, label, tenant: owner }, of));
        if (found.length > most) return null;
      }
    }
    return found;
  }

  /** A look at the index for each. */
  *#tenants(kind: number, label: string): Generator<number> {
    for (let after = -1; ;) {
      const next = this.#nextTenant.get(kind, label, after) ?? null;
      if (next === null) return;
      yield (after = next);
    }
  }
}

export function labelRows({ publisherId, tags }: EventLabels): LabelRow[] {
  const own = publisherId === null ? [] : [{ kind: ID, label: publisherId }];
  return [...own, ...tags.map((label) => ({ kind: TAG, label }))];
}

export function labelsIn(rows: readonly LabelRow[]): EventLabels {
  if (rows.length === 0) return NO_LABELS;
  const tags = rows.filter(({ kind }) => kind === TAG).map(({ label }) => label);
  return { publisherId: rows.find(({ kind }) => kind === ID)?.label ?? null, tags: tags.toSorted() };
}

export function seeksLabel({ publisherId, tag, label }: LabelFilter): boolean {
  return publisherId !== undefined || tag !== undefined || label !== undefined;
}

/** An event has to have one of each. */
export function soughtLabels({ publisherId, tag, label }: LabelFilter): LabelRow[][] {
  const tags = tag === undefined ? [] : typeof tag === "string" ? [tag] : tag;
  return [
    ...(publisherId === undefined ? [] : [[{ kind: ID, label: publisherId }]]),
    ...(label === undefined ? [] : [[ID, TAG].map((kind) => ({ kind, label }))]),
    ...(tag === undefined ? [] : [tags.map((one) => ({ kind: TAG, label: one }))]),
  ];
}

function isSame(one: LabelRow, other: LabelRow): boolean {
  return one.kind === other.kind && one.label === other.label;
}

function sourceOf(bound: { kind: number; label: string; tenant: number }, of: "pairs" | "events"): Source {
  const where = "l.kind = @kind AND l.label = @label AND l.tenant = @tenant";
  const from = "event_label l";
  if (of === "events") return { from, where, event: "l.event", endpoint: "0", bound };
  const joined = `${from} LEFT JOIN delivery d ON d.event = l.event`;
  return { from: joined, where, event: "l.event", endpoint: "coalesce(d.endpoint, 0)", isAcross: true, bound };
}
