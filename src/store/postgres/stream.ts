/**
 * The activity stream of all nodes. While some node listens, each node writes down what happens on it. A row with the
 * last number puts their batches into one order. Nothing is written while nobody listens, and batches are kept for a
 * minute.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { WebhookdError } from "../../domain/errors.ts";
import type { SharedStream, StreamBatch } from "../store.ts";
import type { Database } from "./engine/database.ts";

const LOOK_MS = 100;
/**
 * A node notices within a second that another one listens. One that has not begun to report by then is lost, or older.
 */
const PATIENCE_MS = 2500;
const PAGE = 32;
const KEPT = "interval '1 minute'";
/** The interval between removals of old batches. */
const REMOVE_MS = 20_000;
/** A longer batch is not worth sending: listeners read their lists again. */
const MAX_LENGTH = 1_000_000;

const TELL = `WITH head AS (UPDATE stream SET number = number + 1 RETURNING number)
  INSERT INTO stream_batch (number, text) SELECT number, $1 FROM head`;
const AFTER = `SELECT s.number AS head, b.number, b.text
  FROM stream s LEFT JOIN stream_batch b ON b.number > $1 ORDER BY b.number LIMIT ${PAGE}`;
const OLDEST =
  "SELECT coalesce(min(b.number) - 1, min(s.number)) AS number FROM stream s LEFT JOIN stream_batch b ON true";

interface Row {
  readonly head: number;
  readonly number: number | null;
  readonly text: string | null;
}

export class NodeStream implements SharedStream {
  readonly #database: Database;
  readonly #node: { readonly id: string };
  readonly #monotonic: () => number;
  life = "";
  isWanted = false;
  /** True if the other nodes see that this one reports. */
  #tells = false;
  #listens = false;
  #settling: Promise<void> | null = null;
  /**
   * The number of gaps, during which something happened that nobody reported, and the number of gaps that listeners
   * know about.
   */
  #gaps = 0;
  #toldGaps = 0;
  /** The number of the last batch that was taken. */
  #number = 0;
  #removedAt = Number.NEGATIVE_INFINITY;
  /** Resolves when this node can listen again. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: Database, node: { readonly id: string }, monotonic: () => number) {
    this.#database = database;
    this.#node = node;
    this.#monotonic = monotonic;
  }

  /**
   * Called at each renewal, which does not wait for it. `isWanted` is true if some node listens. A failed write is
   * repeated at the next renewal.
   */
  renewed(isWanted: boolean, hasGap: boolean): void {
    this.isWanted = isWanted || this.#listens;
    if (hasGap) this.#gaps++;
    this.#settle().catch(() => {});
  }

  /** The node has a new row, which does not say yet that it reports. Activity in between was not reported. */
  rejoined(): void {
    this.#tells = false;
    this.#gaps++;
    if (!this.#listens) return;
    this.#database.change("UPDATE node SET listens = true WHERE id = $1", [this.#node.id]).catch(() => {});
  }

  #settle(): Promise<void> {
    return (this.#settling ??= this.#catchUp().finally(() => {
      this.#settling = null;
    }));
  }

  async #catchUp(): Promise<void> {
    if (this.life === "") {
      const [row] = await this.#database.rows<{ life: string }>("SELECT life FROM stream");
      this.life = row!.life;
    }
    const wanted = this.isWanted;
    // From now on everything is reported. Earlier activity was not.
    if (wanted && !this.#tells) this.#gaps++;
    const gaps = this.#gaps;
    if (wanted && gaps > this.#toldGaps) await this.tell(null);
    this.#toldGaps = gaps;
    if (wanted !== this.#tells) {
      await this.#database.change("UPDATE node SET tells = $2 WHERE id = $1", [this.#node.id, wanted]);
      this.#tells = wanted;
    }
    if (!wanted || this.#monotonic() - this.#removedAt < REMOVE_MS) return;
    this.#removedAt = this.#monotonic();
    await this.#database.change(`DELETE FROM stream_batch WHERE at < now() - ${KEPT}`);
  }

  async follow(take: (batch: StreamBatch) => void): Promise<void> {
    await this.#last;
    this.#listens = true;
    try {
      await this.#database.change("UPDATE node SET listens = true WHERE id = $1", [this.#node.id]);
      // A write in progress may have begun without it.
      await this.#settling?.catch(() => {});
      this.isWanted = true;
      await this.#settle();
      const silent = "SELECT 1 FROM node WHERE NOT tells AND lease_until > now() LIMIT 1";
      for (let left = PATIENCE_MS / LOOK_MS; left > 0; left--) {
        if ((await this.#database.rows(silent)).length === 0) break;
        await sleep(LOOK_MS);
      }
      const [oldest] = await this.#database.rows<{ number: number }>(OLDEST);
      this.#number = oldest!.number;
      take({ number: this.#number, text: null });
      while (await this.#read(take));
    } catch (error) {
      this.#listens = false;
      throw error;
    }
    this.#last = this.#follow(take);
  }

  rest(): void {
    this.#listens = false;
    const sql = "UPDATE node SET listens = false WHERE id = $1";
    // If this fails, the nodes keep reporting for nothing.
    this.#last = Promise.all([this.#last, this.#database.change(sql, [this.#node.id]).catch(() => {})]);
  }

  async tell(text: string | null): Promise<void> {
    const gaps = this.#gaps;
    try {
      await this.#database.change(TELL, [text !== null && text.length > MAX_LENGTH ? null : text]);
    } catch (error) {
      // Listeners learn of the gap at the next renewal, even if nothing more happens here.
      this.#gaps++;
      throw error;
    }
    if (text === null) this.#toldGaps = Math.max(this.#toldGaps, gaps);
  }

  async #follow(take: (batch: StreamBatch) => void): Promise<void> {
    while (this.#listens) {
      try {
        if (await this.#read(take)) continue;
      } catch (error) {
        if (!(error instanceof WebhookdError)) throw error;
      }
      await sleep(LOOK_MS, undefined, { ref: false });
    }
  }

  /**
   * Returns true if there may be more. Numbers have no holes, so a gap means that batches were removed before they were
   * read here.
   */
  async #read(take: (batch: StreamBatch) => void): Promise<boolean> {
    const rows = await this.#database.rows<Row>(AFTER, [this.#number]);
    const { head, number: first } = rows[0]!;
    if (first === null ? head !== this.#number : first !== this.#number + 1) {
      this.#number = first === null ? head : first - 1;
      take({ number: this.#number, text: null });
      return true;
    }
    for (const { number, text } of rows) {
      if (number === null) return false;
      this.#number = number;
      take({ number, text });
    }
    return rows.length === PAGE;
  }
}
