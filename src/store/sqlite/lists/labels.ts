/**
 * The labels by which publishers find their events: their own id for it, and tags. They have a separate table, so that
 * an event without labels costs nothing extra.
 */
import type { Database, Statement } from "better-sqlite3";
import type { EventLabels } from "../../../domain/events/event.ts";
import { isSame, labelRows, labelsIn, seeksLabel, soughtLabels, type LabelRow } from "../../rows/labels.ts";
import type { LabelFilter } from "../../store.ts";
import type { Source } from "./merged-keys.ts";

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

  /** Call it inside the transaction of the publish. */
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

  /** Called when the event or its data is removed. */
  drop(event: number): void {
    this.#drop.run(event);
  }

  /** Returns sources in key order. Returns null if no label is sought, or if too many tenants have it. */
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

  /** Finds each tenant with one search of the index. */
  *#tenants(kind: number, label: string): Generator<number> {
    for (let after = -1; ;) {
      const next = this.#nextTenant.get(kind, label, after) ?? null;
      if (next === null) return;
      yield (after = next);
    }
  }
}

function sourceOf(bound: { kind: number; label: string; tenant: number }, of: "pairs" | "events"): Source {
  const where = "l.kind = @kind AND l.label = @label AND l.tenant = @tenant";
  const from = "event_label l";
  if (of === "events") return { from, where, event: "l.event", endpoint: "0", bound };
  const joined = `${from} LEFT JOIN delivery d ON d.event = l.event`;
  return { from: joined, where, event: "l.event", endpoint: "coalesce(d.endpoint, 0)", isAcross: true, bound };
}
