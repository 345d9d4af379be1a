/** Lists the nodes that share the store, and drains them. */
import type { Clock } from "../../clock.ts";
import type { NodeReport, StoreNode } from "../store.ts";
import type { Database } from "./engine/database.ts";
import type { NewNode } from "./node.ts";

interface NodeRow extends Omit<StoreNode, "report" | "endpoints"> {
  readonly id: string;
  readonly report: string | null;
}

/** Counting endpoints reads all of them, so the last counts are reused for this long. */
const COUNTED_MS = 10_000;

export class NodeList {
  readonly #database: Database;
  readonly #node: NewNode;
  readonly #clock: Clock;
  #endpoints: ReadonlyMap<string, number> = new Map();
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(database: Database, clock: Clock, node: NewNode) {
    this.#database = database;
    this.#clock = clock;
    this.#node = node;
  }

  async all(): Promise<readonly StoreNode[]> {
    const { id: own, leaseMs } = this.#node;
    const rows = await this.#database.rows<NodeRow>(
      `SELECT id, coalesce(name, 'node-' || number) AS name, coalesce(host, '') AS host, coalesce(pid, 0) AS pid,
         coalesce(version, '') AS version, id = $1 AS "isThis", draining, lease_until <= now() AS "isLost", report,
         (extract(epoch FROM since) * 1000)::bigint AS since,
         (extract(epoch FROM lease_until) * 1000 - $2::integer)::bigint AS "renewedAt",
         (SELECT count(*) FROM slot WHERE owner = node.id) AS slots
       FROM node ORDER BY coalesce(name, ''), number`,
      [own, leaseMs],
    );
    const endpoints = await this.#counted();
    return rows.map(({ id, report, ...node }) => ({
      ...node,
      endpoints: endpoints.get(id) ?? 0,
      report: report === null ? null : (JSON.parse(report) as NodeReport),
    }));
  }

  /** The node acts on it at its next renewal. */
  async drain(name: string, on: boolean): Promise<boolean> {
    return (await this.#database.change("UPDATE node SET draining = $2 WHERE name = $1", [name, on])) > 0;
  }

  async #counted(): Promise<ReadonlyMap<string, number>> {
    const now = this.#clock.monotonic();
    if (now - this.#countedAt < COUNTED_MS) return this.#endpoints;
    const rows = await this.#database.lists.rows<{ owner: string; endpoints: number }>(
      `SELECT s.owner, count(*) AS endpoints FROM endpoint e JOIN slot s ON s.slot = e.slot
       WHERE e.deleted_at IS NULL AND s.owner IS NOT NULL GROUP BY s.owner`,
    );
    this.#countedAt = now;
    return (this.#endpoints = new Map(rows.map(({ owner, endpoints }) => [owner, endpoints])));
  }
}
