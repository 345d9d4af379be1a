/** What a batch of publishes writes, column by column. */
import type { EventDelivery, Publication, Waiting } from "../../store.ts";
import type { Remembered } from "../callers/idempotency.ts";
import type { Queries } from "../engine/database.ts";

export class EventRows {
  readonly events: unknown[][] = Array.from({ length: 10 }, () => []);
  readonly deliveries: unknown[][] = Array.from({ length: 6 }, () => []);
  readonly labels: unknown[][] = Array.from({ length: 4 }, () => []);
  readonly owed: [event: number, endpoint: number][] = [];
  /** What is another node's to send. */
  readonly foreign: { readonly waiting: Waiting[]; readonly requested: EventDelivery[] } = {
    waiting: [],
    requested: [],
  };
  readonly remembered: Remembered[] = [];
  /** By the key, what this batch published under it. */
  readonly published = new Map<string, { readonly fingerprint: Uint8Array; readonly publication: Publication }>();

  async write(tx: Queries): Promise<void> {
    if (this.events[0]!.length === 0) return;
    await Promise.all([
      tx.change(
        `INSERT INTO event (key, random, tenant, type, created_at, test, unmatched, trace, body_hash, body)
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::smallint[],
           $7::smallint[], $8::text[], $9::bytea[], $10::bytea[])`,
        this.events,
      ),
      tx.change(
        `INSERT INTO delivery (event, endpoint, slot, status, attempts, round, retry, trigger, due_at)
         SELECT event, endpoint, slot, status, 0, 1, 0, trigger, due_at FROM unnest($1::bigint[], $2::integer[],
           $3::smallint[], $4::smallint[], $5::smallint[], $6::bigint[]) AS d (event, endpoint, slot, status, trigger, due_at)`,
        this.deliveries,
      ),
      this.labels[0]!.length > 0 &&
        tx.change(
          `INSERT INTO event_label (kind, label, tenant, event)
           SELECT * FROM unnest($1::smallint[], $2::text[], $3::text[], $4::bigint[])`,
          this.labels,
        ),
      this.owed.length > 0 &&
        tx.change(
          `INSERT INTO manual_attempt (event, endpoint, urgent)
           SELECT event, endpoint, 1 FROM unnest($1::bigint[], $2::integer[]) AS o (event, endpoint)
           ON CONFLICT DO NOTHING`,
          [this.owed.map(([event]) => event), this.owed.map(([, endpoint]) => endpoint)],
        ),
    ]);
  }
}
