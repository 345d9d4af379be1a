/**
 * Runs publishers against one daemon process. An intent is on the disk before each request, and an ack after each 202.
 */
import type { Random } from "../../test/sim/random.ts";
import { Refused, type Api, type ShownEvent } from "./api.ts";
import type { Answered, Item, RoundTrip, Settled } from "./entries.ts";
import { monotonic, type Journal } from "./journal.ts";
import { unawaited } from "../../src/domain/unawaited.ts";
import { EVENT_TYPES } from "./site.ts";

const PUBLISHERS = 3;
const MAX_EVENTS = 120;
const WATCH_MS = 100;
const PAUSE_MS = 20;
const WATCHED = 40;
/** So few that events of one key often wait for each other, and so many that the last line soon ends. */
const ORDERING_KEYS = 12;
const EVENTS = "/v1/webhooks/events";

export interface LoadParts {
  readonly api: Api;
  readonly generation: number;
  readonly journal: Journal;
  readonly random: Random;
  /** Returns numbers that no event or batch of this life has had. */
  readonly next: () => number;
  /** Events that were replayed before. If they fail again, they are not replayed again. */
  readonly replayed: Set<string>;
  /** Publishes to be sent again. The result of most of them is unknown. */
  readonly again: Publish[];
  /** Called when a 202 is first seen. */
  readonly onAck: () => void;
  /**
   * Resolves when the process has ended. From then on any process of this machine may have its port, and would answer
   * instead of it.
   */
  readonly ended: Promise<unknown>;
  /** The maximum number of events, which is small if a life ends soon. */
  readonly most?: number;
  /** The longest pause between two publishes. */
  readonly pauseMs?: number;
}

/** A request, and the key that identifies it when it is sent a second time. */
export interface Publish {
  readonly batch: number;
  readonly single: boolean;
  readonly body: string;
  /** Null for a batch whose items have their own keys. */
  readonly idempotencyKey: string | null;
}

export class Load {
  readonly #parts: LoadParts;
  /** Resolves when every response is in the journal, after `stop` or after the end of the process. */
  readonly over: Promise<unknown>;
  #left: number;
  #stopping = false;
  readonly #stop = Promise.withResolvers<void>();

  constructor(parts: LoadParts) {
    this.#parts = parts;
    this.#left = parts.most ?? MAX_EVENTS;
    const loops = Array.from({ length: PUBLISHERS }, () => this.#untilStopped(() => this.#publish()));
    this.over = Promise.all([...loops, this.#untilStopped(() => this.#watch())]);
    // `stop` reports it later.
    this.over.catch(() => {});
    unawaited(parts.ended.then(() => this.#end()));
  }

  /** Resolves when the load is over. */
  async stop(): Promise<void> {
    this.#end();
    await this.over;
  }

  #end(): void {
    this.#stopping = true;
    this.#stop.resolve();
  }

  async #untilStopped(step: () => Promise<number>): Promise<void> {
    while (!this.#stopping) {
      const pauseMs = await step().catch((error: unknown) => {
        if (isOfDaemon(error)) return WATCH_MS;
        throw error;
      });
      await Promise.race([this.#stop.promise, new Promise((resolve) => setTimeout(resolve, pauseMs))]);
    }
  }

  async #publish(): Promise<number> {
    const { again, random } = this.#parts;
    const publish = again.shift() ?? (await this.#next());
    if (publish === null) return WATCH_MS;
    let isDone = false;
    try {
      const pauseMs = this.#stopping ? 0 : await this.#send(publish);
      // A request that was acknowledged must get the same response again.
      isDone = !this.#stopping && random.chance(0.95);
      return pauseMs;
    } finally {
      if (!isDone) again.push(publish);
    }
  }

  async #next(): Promise<Publish | null> {
    const { journal, random } = this.#parts;
    const size = Math.min(this.#left, random.chance(0.25) ? random.between(2, 8) : 1);
    if (size === 0) return null;
    this.#left -= size;
    const batch = this.#parts.next();
    const type = random.pick(EVENT_TYPES);
    // Some batches are so large that the store writes them in parts.
    const isLarge = size > 4 && random.chance(0.2);
    const items = Array.from({ length: size }, () => this.#item(isLarge));
    await journal.append({ kind: "intent", batch, type, items });
    const single = size === 1 && random.chance(0.8);
    const whole = single || random.chance(0.5);
    const texts = items.map(({ data, marker, orderingKey }) => {
      const order = orderingKey === undefined ? "" : `,"ordering_key":"${orderingKey}"`;
      return `{"type":"${type}","data":${data}${order}${whole ? "" : `,"idempotency_key":"${marker}"`}}`;
    });
    const body = single ? texts[0]! : `{"events":[${texts.join(",")}]}`;
    return { batch, single, body, idempotencyKey: whole ? `b${batch}` : null };
  }

  /** Returns how long to wait before the next publish. */
  async #send({ batch, single, body: text, idempotencyKey }: Publish): Promise<number> {
    const { api, generation, journal, random } = this.#parts;
    const sentAt = monotonic();
    const response = await api.post(single ? EVENTS : `${EVENTS}/batch`, text, idempotencyKey);
    if (response.status !== 202) {
      await response.arrayBuffer();
      const retryAfter = response.headers.get("retry-after");
      await journal.append({ kind: "refused", batch, status: response.status, at: monotonic(), retryAfter });
      return WATCH_MS;
    }
    this.#parts.onAck();
    const trip: RoundTrip = { generation, sentAt, ackedAt: monotonic() };
    const body = (await response.json().catch(() => null)) as (Answered & { data: Answered[] }) | null;
    const answered = body === null ? null : single ? [body] : body.data;
    await journal.append({ kind: "ack", batch, answered, ...trip });
    return random.between(0, this.#parts.pauseMs ?? PAUSE_MS);
  }

  #item(isLarge: boolean): Item {
    const { random } = this.#parts;
    const marker = `m${this.#parts.next()}`;
    const padding = "é".repeat(
      isLarge ? 30_000 : random.chance(0.05) ? random.between(5000, 20_000) : random.between(0, 200),
    );
    // No parser returns this data unchanged, so the daemon must pass on the bytes themselves.
    const orderingKey = random.chance(0.5) ? `key-${random.between(1, ORDERING_KEYS)}` : undefined;
    return {
      marker,
      orderingKey,
      data: `{"marker":"${marker}", "amount":1.10,"big":9007199254740993,"padding":"${padding}"}`,
    };
  }

  /** Records what the API shows as settled, and replays some of the failed events. */
  async #watch(): Promise<number> {
    const { api, generation, journal, random, replayed } = this.#parts;
    const { data } = await api.newest(WATCHED);
    const deliveries = data.flatMap(settledOf);
    await journal.append({ kind: "settled", generation, at: monotonic(), deliveries });
    const failed = data.find((event) => hasFailed(event) && !replayed.has(event.id));
    if (failed === undefined || this.#stopping || random.chance(0.5)) return WATCH_MS;
    const event = failed.id;
    replayed.add(event);
    await journal.append({ kind: "replay-intent", event });
    const response = await api.post(`${EVENTS}/${event}/retry`, "");
    if (response.status === 202) await journal.append({ kind: "replay-ack", event });
    await response.arrayBuffer();
    return WATCH_MS;
  }
}

/** Broken connections are expected here. Other code judges whether the daemon had a reason to die. */
function isOfDaemon(error: unknown): boolean {
  const isNetwork = error instanceof TypeError && error.cause !== undefined;
  return isNetwork || error instanceof DOMException || error instanceof Refused;
}

/**
 * Returns true if no delivery can change any more, because a replay covers only deliveries that have failed by then.
 */
function hasFailed({ deliveries }: ShownEvent): boolean {
  return deliveries.some(({ status }) => status === "failed") && deliveries.every(({ status }) => status !== "pending");
}

function settledOf(event: ShownEvent): Settled[] {
  return event.deliveries.flatMap(({ id, status }) =>
    status === "delivered" || status === "failed" ? { delivery: id, event: event.id, status } : [],
  );
}
