/** Publishers at work on one daemon process: an intent is on the disk before each request, an ack after each 202. */
import type { Random } from "../../test/sim/random.ts";
import { Refused, type Api, type ShownEvent } from "./api.ts";
import type { Answered, Item, RoundTrip, Settled } from "./entries.ts";
import { monotonic, type Journal } from "./journal.ts";
import { EVENT_TYPES } from "./site.ts";

const PUBLISHERS = 3;
const MAX_EVENTS = 120;
const WATCH_MS = 100;
const WATCHED = 40;
const EVENTS = "/v1/webhooks/events";

export interface LoadParts {
  readonly api: Api;
  readonly generation: number;
  readonly journal: Journal;
  readonly random: Random;
  /** Numbers that no event or batch of this life has had. */
  readonly next: () => number;
  /** Events that were replayed before, whose second failure is no reason to replay them again. */
  readonly replayed: Set<string>;
  /** Called at the first sight of a 202. */
  readonly onAck: () => void;
}

export class Load {
  readonly #parts: LoadParts;
  readonly #ended: Promise<unknown>;
  #left = MAX_EVENTS;
  #stopping = false;
  readonly #stop = Promise.withResolvers<void>();

  constructor(parts: LoadParts) {
    this.#parts = parts;
    const loops = Array.from({ length: PUBLISHERS }, () => this.#untilStopped(() => this.#publish()));
    this.#ended = Promise.all([...loops, this.#untilStopped(() => this.#watch())]);
    // Told by `stop`, which comes later.
    this.#ended.catch(() => {});
  }

  /** Resolves when everything that was answered is in the journal. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#stop.resolve();
    await this.#ended;
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
    const { api, generation, journal, random } = this.#parts;
    const size = Math.min(this.#left, random.chance(0.25) ? random.between(2, 8) : 1);
    if (size === 0) return WATCH_MS;
    this.#left -= size;
    const batch = this.#parts.next();
    const type = random.pick(EVENT_TYPES);
    const items = Array.from({ length: size }, () => this.#item());
    await journal.append({ kind: "intent", batch, type, items });
    if (this.#stopping) return 0;

    const texts = items.map(({ data }) => `{"type":"${type}","data":${data}}`);
    const sentAt = monotonic();
    const single = size === 1 && random.chance(0.8);
    const response = single
      ? await api.post(EVENTS, texts[0]!)
      : await api.post(`${EVENTS}/batch`, `{"events":[${texts.join(",")}]}`);
    if (response.status !== 202) {
      await response.arrayBuffer();
      await journal.append({ kind: "refused", batch, status: response.status });
      return WATCH_MS;
    }
    this.#parts.onAck();
    const trip: RoundTrip = { generation, sentAt, ackedAt: monotonic() };
    const body = (await response.json().catch(() => null)) as (Answered & { data: Answered[] }) | null;
    const answered = body === null ? null : single ? [body] : body.data;
    await journal.append({ kind: "ack", batch, answered, ...trip });
    return random.between(0, 20);
  }

  #item(): Item {
    const { random } = this.#parts;
    const marker = `m${this.#parts.next()}`;
    const padding = "é".repeat(random.chance(0.05) ? random.between(5000, 20_000) : random.between(0, 200));
    // What no parser gives back as it was: the bytes have to be passed on, not made again.
    return { marker, data: `{"marker":"${marker}", "amount":1.10,"big":9007199254740993,"padding":"${padding}"}` };
  }

  /** Notes what the API says is settled, and sends some of what failed again. */
  async #watch(): Promise<number> {
    const { api, generation, journal, random, replayed } = this.#parts;
    const { data } = await api.newest(WATCHED);
    const deliveries = data.flatMap(settledOf);
    await journal.append({ kind: "settled", generation, at: monotonic(), deliveries });
    const failed = deliveries.find(({ event, status }) => status === "failed" && !replayed.has(event));
    if (failed === undefined || this.#stopping || random.chance(0.5)) return WATCH_MS;
    const { event } = failed;
    replayed.add(event);
    await journal.append({ kind: "replay-intent", event });
    const response = await api.post(`${EVENTS}/${event}/retry`, "");
    if (response.status === 202) await journal.append({ kind: "replay-ack", event });
    await response.arrayBuffer();
    return WATCH_MS;
  }
}

/** Connections that break are what this is about; whether the daemon had a reason to die is for others to say. */
function isOfDaemon(error: unknown): boolean {
  const isNetwork = error instanceof TypeError && error.cause !== undefined;
  return isNetwork || error instanceof DOMException || error instanceof Refused;
}

function settledOf(event: ShownEvent): Settled[] {
  return event.deliveries.flatMap(({ id, status }) =>
    status === "delivered" || status === "failed" ? { delivery: id, event: event.id, status } : [],
  );
}
