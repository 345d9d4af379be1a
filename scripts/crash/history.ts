/** Reconstructs what happened from the two journals. */
import type { Answer, Answered, DriverEntry, Item, ReceiverEntry, RoundTrip, SeenRequest } from "./entries.ts";
import { TIMEOUT_MS } from "./site.ts";

export interface Batch {
  readonly type: string;
  readonly items: readonly Item[];
  /** True if a 202 was seen. */
  acked: boolean;
  /** The places of the intent and of the first ack in the driver's journal. Infinity if there is no ack. */
  readonly intendedAt: number;
  ackedAt: number;
  answered: readonly Answered[] | null;
}

export interface Request extends SeenRequest {
  /** Null if there was no response: on purpose, or because the daemon was gone by then. */
  answer: Answer | null;
  /** Nobody can have seen a response before this time. */
  answerableAt: number;
  /** The response had been sent by this time, or else the time for it was up. */
  endedAt: number;
}

export interface SettledView {
  readonly generation: number;
  readonly at: number;
  readonly status: "delivered" | "failed";
}

export interface History {
  /** The names of endpoints, by id. */
  readonly endpoints: ReadonlyMap<string, string>;
  readonly batches: readonly Batch[];
  /** Events that were returned instead of others when a publish was sent twice under its key. */
  readonly remade: readonly string[];
  /** Statuses of publishes other than 202, and other than 503, which a stopping daemon returns. */
  readonly refused: readonly number[];
  readonly replays: ReadonlyMap<string, "intended" | "acked">;
  /** The publishes of each generation, in the order of their acknowledgements. */
  readonly roundTrips: ReadonlyMap<number, readonly RoundTrip[]>;
  /** The time at which each generation was killed, or stopped. */
  readonly endedAt: ReadonlyMap<number, number>;
  /** Generations that stopped cleanly, so that nothing has to be repeated. */
  readonly clean: ReadonlySet<number>;
  /** The first time that the API showed a delivery as settled, by delivery. */
  readonly settled: ReadonlyMap<string, SettledView>;
  /** The time from which no endpoint held a key. */
  readonly freedAt: number;
  /**
   * Keyed by delivery, and sorted by generation and attempt, because a slow receiver may read them in another order.
   */
  readonly requests: ReadonlyMap<string, readonly Request[]>;
}

/** Reads both journals in the order in which they were written. */
export function historyOf(driver: Iterable<DriverEntry>, receivers: Iterable<ReceiverEntry>): History {
  const endpoints = new Map<string, string>();
  const batches = new Map<number, Batch>();
  const refused: number[] = [];
  const remade: string[] = [];
  const replays = new Map<string, "intended" | "acked">();
  const acks: RoundTrip[] = [];
  const endedAt = new Map<number, number>();
  const clean = new Set<number>();
  const settled = new Map<string, SettledView>();
  let freedAt = Infinity;
  let place = 0;
  for (const entry of driver) {
    place++;
    switch (entry.kind) {
      case "endpoint":
        endpoints.set(entry.id, entry.name);
        break;
      case "intent":
        batches.set(entry.batch, {
          type: entry.type,
          items: entry.items,
          acked: false,
          intendedAt: place,
          ackedAt: Infinity,
          answered: null,
        });
        break;
      case "ack":
        remade.push(...answerOf(batches.get(entry.batch)!, entry.answered, place));
        acks.push(entry);
        break;
      case "refused":
        if (entry.status !== 503) refused.push(entry.status);
        break;
      case "replay-intent":
        replays.set(entry.event, "intended");
        break;
      case "replay-ack":
        replays.set(entry.event, "acked");
        break;
      case "freed":
        freedAt = entry.at;
        break;
      case "ended":
        endedAt.set(entry.generation, entry.at);
        if (entry.clean) clean.add(entry.generation);
        break;
      case "settled":
        for (const { delivery, status } of entry.deliveries) {
          if (!settled.has(delivery)) settled.set(delivery, { generation: entry.generation, at: entry.at, status });
        }
    }
  }
  const seen = new SeenRequests();
  for (const entry of receivers) {
    // The driver notices only when the process is gone.
    if (entry.kind === "kill")
      endedAt.set(entry.generation, Math.min(entry.at, endedAt.get(entry.generation) ?? Infinity));
    else seen.add(entry);
  }
  const requests = seen.byDelivery();
  const byAck = acks.toSorted((a, b) => a.ackedAt - b.ackedAt);
  const roundTrips = Map.groupBy(byAck, ({ generation }) => generation);
  return {
    endpoints,
    batches: [...batches.values()],
    remade,
    refused,
    replays,
    roundTrips,
    endedAt,
    clean,
    settled,
    freedAt,
    requests,
  };
}

/** Records the response. Returns the ids in it that differ from those of an earlier response. */
function answerOf(batch: Batch, answered: readonly Answered[] | null, place: number): string[] {
  const before = batch.answered;
  batch.acked = true;
  batch.ackedAt = Math.min(batch.ackedAt, place);
  batch.answered ??= answered;
  return (answered ?? []).flatMap(({ id }, at) => (id === (before?.[at]?.id ?? id) ? [] : id));
}

/** Must hold some millions of requests, so equal strings are stored once. */
class SeenRequests {
  readonly #byDelivery = new Map<string, Request[]>();
  /** Requests whose later entries are still to come. */
  readonly #open = new Map<number, Request>();
  readonly #texts = new Map<string, { readonly event: string; readonly body: string }>();

  add(entry: Exclude<ReceiverEntry, { kind: "kill" }>): void {
    switch (entry.kind) {
      case "answer":
        this.#open.get(entry.nth)!.answer = entry.answer;
        return;
      case "sent":
        Object.assign(this.#open.get(entry.nth)!, { answerableAt: entry.from, endedAt: entry.at });
        this.#open.delete(entry.nth);
        return;
      case "request":
        this.#begin(entry);
    }
  }

  /** Sorts the requests of a delivery by generation and attempt. */
  byDelivery(): Map<string, Request[]> {
    for (const requests of this.#byDelivery.values()) {
      if (requests.length > 1)
        requests.sort((a, b) => a.generation - b.generation || a.attempt - b.attempt || a.nth - b.nth);
    }
    return this.#byDelivery;
  }

  #begin({ nth, generation, at, event, delivery, attempt, body, verified, reused }: SeenRequest): void {
    const texts = this.#texts.get(event) ?? { event, body };
    this.#texts.set(texts.event, texts);
    const before = this.#byDelivery.get(delivery);
    const request: Request = {
      nth,
      generation,
      at,
      event: texts.event,
      delivery: before?.[0]!.delivery ?? delivery,
      attempt,
      body: body === texts.body ? texts.body : body,
      verified,
      reused,
      answer: null,
      answerableAt: at,
      endedAt: at + TIMEOUT_MS,
    };
    this.#open.set(nth, request);
    if (before === undefined) this.#byDelivery.set(delivery, [request]);
    else before.push(request);
  }
}

export function isSuccess(answer: Answer | null): boolean {
  return typeof answer === "number" && answer >= 200 && answer < 300;
}
