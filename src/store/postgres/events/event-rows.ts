/** The rows that a batch of publishes writes, column by column. */
import type { EventDelivery, Publication, Waiting } from "../../store.ts";
import type { ToRemember } from "../callers/idempotency.ts";
import type { Queries } from "../engine/database.ts";

export class EventRows {
  readonly events: unknown[][] = Array.from({ length: 11 }, () => []);
  readonly deliveries: unknown[][] = Array.from({ length: 6 }, () => []);
  readonly labels: unknown[][] = Array.from({ length: 4 }, () => []);
  /** The number of new deliveries by tenant. */
  readonly pending = new Map<string, number>();
  readonly requested: [event: number, endpoint: number][] = [];
  /** Deliveries that another node must send. */
  readonly foreign: { readonly waiting: Waiting[]; readonly requested: EventDelivery[] } = {
    waiting: [],
    requested: [],
  };
  readonly remembered: ToRemember[] = [];
  /** The events that this batch published under idempotency keys, by key. */
  readonly published = new Map<string, { readonly fingerprint: Uint8Array; readonly publication: Publication }>();

  async write(tx: Queries): Promise<void> {
    if (this.events[0]!.length === 0) return;
    await Promise.all([
      tx.change(
        `INSERT INTO event (key, random, tenant, type, created_at, test, unmatched, choice, trace, body_hash, body)
         SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::bigint[]),
           unnest($6::smallint[]), unnest($7::smallint[]), unnest($8::bigint[]), unnest($9::text[]),
           unnest($10::bytea[]), unnest($11::bytea[])`,
        this.events,
      ),
      tx.change(
        `INSERT INTO delivery (event, endpoint, slot, status, attempts, round, retry, trigger, due_at)
         SELECT unnest($1::bigint[]), unnest($2::integer[]), unnest($3::smallint[]), unnest($4::smallint[]), 0, 1, 0,
           unnest($5::smallint[]), unnest($6::bigint[])`,
        this.deliveries,
      ),
      this.labels[0]!.length > 0 &&
        tx.change(
          `INSERT INTO event_label (kind, label, tenant, event)
           SELECT * FROM unnest($1::smallint[], $2::text[], $3::text[], $4::bigint[])`,
          this.labels,
        ),
      this.requested.length > 0 &&
        tx.change(
          `INSERT INTO manual_attempt (event, endpoint, urgent)
           SELECT event, endpoint, 1 FROM unnest($1::bigint[], $2::integer[]) AS o (event, endpoint)
           ON CONFLICT DO NOTHING`,
          [this.requested.map(([event]) => event), this.requested.map(([, endpoint]) => endpoint)],
        ),
    ]);
  }
}
