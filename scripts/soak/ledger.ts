/**
 * Records, outside the daemon, the events published, acknowledged and received over hours, in a few bytes per event.
 */
import { createHash } from "node:crypto";

export interface Published {
  readonly id: string;
  readonly created_at: string;
  readonly delivery_count: number;
}

export interface Balance {
  readonly acked: number;
  readonly requests: number;
  /** Requests for a delivery that had already been answered 2xx. A few are allowed after each kill. */
  readonly repeated: number;
  readonly lost: readonly string[];
  readonly wrong: readonly string[];
}

const SHOWN = 20;

export class Ledger {
  readonly #outstanding = new Map<string, number>();
  readonly #hashes = new Map<string, string>();
  readonly #succeeded = new Map<string, Set<string>>();
  readonly #wrong: string[] = [];
  #acked = 0;
  #requests = 0;
  #repeated = 0;

  get acked(): number {
    return this.#acked;
  }

  /** The number of acknowledged events with a delivery that has not been answered 2xx yet. */
  get open(): number {
    return this.#outstanding.size;
  }

  acknowledge(type: string, data: string, { id, created_at: createdAt, delivery_count: deliveries }: Published): void {
    const envelope = `{"id":"${id}","type":"${type}","created_at":"${createdAt}","data":${data}}`;
    this.#holdAgainst(id, createHash("sha256").update(envelope).digest("base64"));
    this.#acked++;
    const left = deliveries - (this.#succeeded.get(id)?.size ?? 0);
    if (left > 0) this.#outstanding.set(id, left);
  }

  /** Records a complete request, before it is answered. */
  receive(event: string, delivery: string, body: Buffer, answer: number): void {
    this.#requests++;
    this.#holdAgainst(event, createHash("sha256").update(body).digest("base64"));
    const before = this.#succeeded.get(event);
    if (before?.has(delivery)) {
      this.#repeated++;
      return;
    }
    if (answer >= 300) return;
    if (before === undefined) this.#succeeded.set(event, new Set([delivery]));
    else before.add(delivery);
    const left = this.#outstanding.get(event);
    if (left === 1) this.#outstanding.delete(event);
    else if (left !== undefined) this.#outstanding.set(event, left - 1);
  }

  /** Records that the daemon shows the delivery as delivered. */
  showsDelivered(event: string, delivery: string): void {
    if (!this.#succeeded.get(event)?.has(delivery)) this.accuse(`${delivery} is delivered, and nobody answered 2xx`);
  }

  accuse(text: string): void {
    if (this.#wrong.length < SHOWN) this.#wrong.push(text);
  }

  balance(): Balance {
    return {
      acked: this.#acked,
      requests: this.#requests,
      repeated: this.#repeated,
      lost: [...this.#outstanding.keys()],
      wrong: this.#wrong,
    };
  }

  #holdAgainst(event: string, hash: string): void {
    const before = this.#hashes.get(event);
    if (before === undefined) this.#hashes.set(event, hash);
    else if (before !== hash) this.accuse(`${event} arrived with other bytes`);
  }
}
