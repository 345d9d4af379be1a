/** The rows that a batch of publishes writes, column by column. */
import type { EventDelivery, Publication, Waiting } from "../../store.ts";
import type { ToRemember } from "../callers/idempotency.ts";
import type { Claim, Ordered } from "../../../domain/deliveries/delivery.ts";
import type { EventLabels } from "../../../domain/events/event.ts";
import { BEHIND, WAITING } from "../../rows/codes.ts";
import { labelRows } from "../../rows/labels.ts";
import type { Newcomer } from "../ordering/lines.ts";
import type { Queries } from "../engine/database.ts";

interface NewcomerRow {
  /** Its event, endpoint, slot, status and trigger, if it need not wait behind another. */
  readonly row: readonly number[];
  readonly orderingKey: string;
  /** Null if it is not sent at once. */
  readonly claim: Claim | null;
  /** True if another node sends it. */
  readonly isForeign: boolean;
}

export class EventRows {
  readonly events: unknown[][] = Array.from({ length: 11 }, () => []);
  readonly deliveries: unknown[][] = Array.from({ length: 6 }, () => []);
  /** Events with an ordering key, which have one column more. */
  readonly keyedEvents: unknown[][] = Array.from({ length: 12 }, () => []);
  /** Deliveries in a line, which have two columns more. */
  readonly ordered: unknown[][] = Array.from({ length: 8 }, () => []);
  readonly newcomers: (Newcomer & { readonly stand: (place: Ordered & { readonly isBehind: boolean }) => void })[] = [];
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

  /** Adds a delivery outside of any line: its event, endpoint, slot, status, trigger and due time. */
  addDelivery(row: readonly (number | null)[]): void {
    for (const [at, value] of row.entries()) this.deliveries[at]!.push(value);
  }

  addLabels(labels: EventLabels, tenant: string, event: number): void {
    for (const { kind, label } of labelRows(labels))
      for (const [at, value] of [kind, label, tenant, event].entries()) this.labels[at]!.push(value);
  }

  /** Adds a delivery whose place in its line is not known yet. Once it is, it is added to those handed over. */
  addNewcomer(
    { row, orderingKey, claim, isForeign }: NewcomerRow,
    waiting: Waiting,
    handover: { readonly fresh: Claim[]; readonly waiting: Waiting[] },
  ): void {
    const [event, endpoint, slot, status, trigger] = row as [number, number, number, number, number];
    const stand = ({ isBehind, key, sequence }: Ordered & { readonly isBehind: boolean }) => {
      const [stored, dueAt] = isBehind ? [WAITING, waiting.dueAt + BEHIND] : [status, waiting.dueAt];
      const placed = [event, endpoint, slot, stored, trigger, dueAt, key, sequence];
      placed.forEach((value, at) => this.ordered[at]!.push(value));
      if (isBehind) return;
      if (isForeign) this.foreign.waiting.push(waiting);
      if (claim === null) handover.waiting.push(waiting);
      else handover.fresh.push({ ...claim, ordered: { key, sequence } });
    };
    this.newcomers.push({ endpoint, orderingKey, event, stand });
  }

  async write(tx: Queries): Promise<void> {
    if (this.events[0]!.length + this.keyedEvents[0]!.length === 0) return;
    const [event, values] = [
      "key, random, tenant, type, created_at, test, unmatched, choice, trace, body_hash, body",
      `unnest($1::bigint[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::bigint[]),
       unnest($6::smallint[]), unnest($7::smallint[]), unnest($8::bigint[]), unnest($9::text[]), unnest($10::bytea[]),
       unnest($11::bytea[])`,
    ];
    const [delivery, places] = [
      "event, endpoint, slot, status, attempts, round, retry, trigger, due_at",
      `unnest($1::bigint[]), unnest($2::integer[]), unnest($3::smallint[]), unnest($4::smallint[]), 0, 1, 0,
       unnest($5::smallint[]), unnest($6::bigint[])`,
    ];
    await Promise.all([
      this.events[0]!.length > 0 && tx.change(`INSERT INTO event (${event}) SELECT ${values}`, this.events),
      this.keyedEvents[0]!.length > 0 &&
        tx.change(`INSERT INTO event (${event}, ordering_key) SELECT ${values}, unnest($12::text[])`, this.keyedEvents),
      this.deliveries[0]!.length > 0 &&
        tx.change(`INSERT INTO delivery (${delivery}) SELECT ${places}`, this.deliveries),
      this.ordered[0]!.length > 0 &&
        tx.change(
          `INSERT INTO delivery (${delivery}, ordering_key, sequence)
           SELECT ${places}, unnest($7::bigint[]), unnest($8::bigint[])`,
          this.ordered,
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
