/**
 * Follows the stream across reconnections. After a lost connection the daemon resends the changes that it still has. If
 * it no longer has them all, this reads the lists for what they still show, and a note says that there is no more.
 */
import type { Delivery } from "../../src/client/operations.ts";
import type { Client, Query } from "../../src/client/client.ts";
import { isAway } from "../away.ts";
import type { Io } from "../io.ts";
import { count, grouped } from "../output/words.ts";
import { changeOf, keyOf, type Change, type Counts, type Note, type TailItem } from "./change.ts";

export interface FollowOptions {
  /** Filters that both the stream and the list of deliveries know. */
  readonly query: Query;
  /** All other filters, which only the list knows. */
  readonly listQuery: Query;
  /** The number of existing deliveries to show first. */
  readonly history: number;
  readonly signal: AbortSignal;
}

const RETRY_MS = 1000;
/** Longer than the ladder, so that every retry made while the connection was lost lies within. */
const LOOK_BACK_MS = 3 * 86_400_000;
const MOST_MISSED = 5000;
const REMEMBERED = 20_000;
/** The same change may have times this far apart in a list and in the stream. */
const SAME_MS = 1000;

export class Following {
  readonly #client: Client;
  readonly #options: FollowOptions;
  readonly #io: Io;
  #lastEventId: string | undefined;
  /** Epoch milliseconds of the last change that was shown. */
  #seenAt = 0;
  /** The times of changes that a list has shown and the stream may repeat, by key. */
  readonly #listed = new Map<string, number>();

  constructor(client: Client, options: FollowOptions, io: Io) {
    this.#client = client;
    this.#options = options;
    this.#io = io;
  }

  /** Ends when the signal aborts. Throws if the first connection fails, or if any is refused. */
  async *changes(): AsyncGenerator<TailItem, void, undefined> {
    const { signal } = this.#options;
    const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    for (let isLost = false; !signal.aborted;) {
      let reason = "the daemon ended the stream";
      try {
        for await (const item of this.#connection()) {
          isLost = false;
          yield item;
        }
      } catch (error) {
        if (this.#lastEventId === undefined || !isAway(error)) throw error;
        reason = (error as Error).message;
      }
      if (signal.aborted) return;
      if (!isLost) yield note(`connection lost: ${reason}; reconnecting`, { kind: "lost" });
      isLost = true;
      await Promise.race([this.#io.sleep(RETRY_MS), aborted]);
    }
  }

  async *#connection(): AsyncGenerator<TailItem, void, undefined> {
    const { query, signal } = this.#options;
    const last = this.#lastEventId;
    const ask = { query: textOf(query), signal, ...(last !== undefined && { lastEventId: last }) };
    /** Changes that were missed arrive between `ready` and the first id that has no change before it. */
    let missed: (Change | Counts)[] | null = null;
    let since = 0;
    for await (const message of this.#client.changes(ask)) {
      if (message.kind === "ready" && last === undefined) yield* this.#first();
      else if (message.kind === "ready") missed = [];
      else if (message.kind === "reload") yield* this.#whatLists();
      else if (message.kind === "id") {
        if (missed !== null && missed.length === since) {
          yield reconnected(missed);
          for (const one of missed) yield* this.#tell(one);
          missed = null;
        }
        since = missed?.length ?? 0;
        // Keep the old id while changes are held back: if the connection breaks again, they are requested again.
        if (missed === null) this.#lastEventId = message.id;
      } else if (missed === null) yield* this.#tell(message);
      else missed.push(message);
    }
  }

  *#tell(message: Change | Counts): Generator<TailItem, void, undefined> {
    if (message.kind !== "counts") {
      const at = Date.parse(message.data.at);
      this.#seenAt = Math.max(this.#seenAt, at);
      const listed = this.#listed.get(keyOf(message) ?? "");
      // A replay looks the same as the publish before it, but happens later.
      if (listed !== undefined && at - listed < SAME_MS) return;
    }
    yield message;
  }

  /** Yields the deliveries that already exist. From then on the stream reports changes. */
  async *#first(): AsyncGenerator<TailItem, void, undefined> {
    const { query, listQuery, history } = this.#options;
    const latest: Delivery[] = [];
    const ask = { query: { ...query, ...listQuery, limit: Math.min(history, 100) } };
    if (history > 0) {
      for await (const delivery of this.#client.every("listDeliveries", ask)) {
        if (latest.push(delivery) >= history) break;
      }
    }
    yield* this.#list(latest.map(changeOf));
    // Without a delivery the daemon's time is unknown, so use this host's clock.
    if (latest.length === 0) this.#seenAt = this.#io.now();
  }

  /**
   * Nothing keeps the changes that happened while the connection was lost. Lists show only the current state of each
   * delivery.
   */
  async *#whatLists(): AsyncGenerator<TailItem, void, undefined> {
    const { query, listQuery } = this.#options;
    const seenAt = this.#seenAt;
    const since = new Date(this.#io.now() - LOOK_BACK_MS).toISOString();
    const changed: Change[] = [];
    let looked = 0;
    for await (const delivery of this.#client.every("listDeliveries", { query: { ...query, ...listQuery, since } })) {
      const change = changeOf(delivery);
      if (Date.parse(change.data.at) > seenAt) changed.push(change);
      if (++looked >= MOST_MISSED) break;
    }
    const whole = looked < MOST_MISSED;
    const limit = whole ? "" : ` among the latest ${grouped(MOST_MISSED)}`;
    const what =
      changed.length === 0
        ? `No delivery has changed${limit}`
        : `${count(changed.length, "delivery has", "deliveries have")} changed${limit}; shown in their present state`;
    const text = `reconnected; the individual changes since ${new Date(seenAt).toISOString()} are lost. ${what}`;
    yield note(text, { kind: "reload", since: new Date(seenAt).toISOString(), shown: changed.length, whole });
    yield* this.#list(changed);
  }

  /** Yields the oldest change first. */
  *#list(changes: readonly Change[]): Generator<TailItem, void, undefined> {
    for (const change of [...changes].sort((a, b) => (a.data.at < b.data.at ? -1 : 1))) {
      const at = Date.parse(change.data.at);
      this.#seenAt = Math.max(this.#seenAt, at);
      const key = keyOf(change);
      if (key !== null) this.#listed.set(key, at);
      // Forget the oldest change, which is the least likely to be repeated.
      if (this.#listed.size > REMEMBERED) this.#listed.delete(this.#listed.keys().next().value!);
      yield change;
    }
  }
}

function reconnected(missed: readonly (Change | Counts)[]): Note {
  const counts = missed.map((one) =>
    one.kind === "counts" ? one.data.data.reduce((sum, { count }) => sum + count, 0) : 1,
  );
  const number = counts.reduce((sum, count) => sum + count, 0);
  return note(`reconnected; the missed changes follow (${number})`, { kind: "reconnected", missed: number });
}

function note(text: string, data: Note["data"]): Note {
  return { kind: "note", text: `-- ${text} --`, data };
}

function textOf(query: Query): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, value?.toString()]));
}
