/**
 * The endpoints that this node sends for. Endpoints live in slots. A slot changes hands in only two ways: its node
 * gives it up, or that node's row was removed. So a node that can commit owns what it believes it owns.
 */
import { randomUUID } from "node:crypto";
import { hostAheadMs } from "../../clock.ts";
import { StoreRefused } from "../files/refused.ts";
import { storageUnavailable } from "../files/unavailable.ts";
import type { Comeback, NodeReport, Ownership, RemoteChanges, StoreNode } from "../store.ts";
import type { Health } from "./endpoints/health.ts";
import { slotOf, SLOTS } from "./endpoints/endpoint-rows.ts";
import type { Database, Queries } from "./engine/database.ts";
import { LeaseLost } from "./fault.ts";
import type { Engine } from "./engine/engine.ts";
import type { NotifiedChanges } from "./engine/owner.ts";
import { hearTime } from "./engine/time.ts";
import {
  guard,
  held,
  join,
  lost,
  removeDead,
  RENEW_MS,
  renewLease,
  takeStore,
  type About,
  type NewNode,
  type Node,
  type Wait,
} from "./node.ts";
import { NodeList } from "./node-list.ts";
import { NodeAlerts, Notices } from "./notices.ts";
import { NodeStream } from "./stream.ts";
import { FRESH, WAITING } from "../rows/codes.ts";

const MAX_REMEMBERED = 100_000;
/** A node that renews its lease in time has more left than this. */
const OVERDUE_MS = 2500;
/** A lease is checked this long after it may have run out. */
const RUN_OUT_MS = 25;
/** If another node still holds slots, or took them first, look for them again after this time. */
const AGAIN_MS = 100;
/** The maximum number of saves before slots are given up. More changes may be left, but new ones keep coming. */
const SAVES = 20;

interface Shares {
  /** The number of nodes that take part: those that are not draining, or all nodes if all are draining. */
  readonly live: number;
  readonly takesPart: boolean;
  /** True if a newer version has migrated the store while this node keeps running. */
  readonly isOutdated: boolean;
  /** True if a node listens to the stream. */
  readonly isListened: boolean;
  /** The time until the first lease of another node runs out, 0 or less if one has. Null if there is no other node. */
  readonly left: number | null;
  readonly free: boolean;
  readonly own: readonly number[];
  /** The rows of key_time, as JSON. */
  readonly keyTimes: string;
}

export class SharedOwnership implements Node {
  readonly #node: NewNode;
  readonly #onLost: (error: Error) => void;
  #database: Database | null = null;
  #store: {
    readonly engine: Engine;
    readonly health: Health;
    readonly notices: Notices;
    readonly list: NodeList;
  } | null = null;
  stream!: NodeStream;
  alerts!: NodeAlerts;
  /** The slots to send for. This node still has the leaving ones too, and is about to give them up. */
  #owned: ReadonlySet<number> = new Set();
  #leaving: ReadonlySet<number> = new Set();
  readonly #slots = new Map<string, number>();
  #dividing = false;
  #stopping = false;
  #againInMs: number | null = null;
  /** Monotonic times: the last renewal of the lease, and the end of the time in which no node counts as dead. */
  #renewedAt: number | null = null;
  #sparesUntil = Number.NEGATIVE_INFINITY;
  /** True if this node's row was removed: others have its slots, or may take them, and it commits nothing. */
  #isLost = false;

  /** Calls `onLost` once other nodes have this node's slots: the process must end, and forget what it holds. */
  constructor(leaseMs: number, about: About, onLost: (error: Error) => void) {
    this.#node = { ...about, id: randomUUID(), leaseMs, alone: false };
    this.#onLost = onLost;
  }

  readonly owns = (endpoint: string): boolean => this.#owned.has(this.#slotOf(endpoint));

  get slots(): readonly number[] {
    return [...this.#owned];
  }

  ownsSlot(slot: number): boolean {
    return this.#owned.has(slot);
  }

  async take(database: Database, wait: Wait) {
    this.#database = database;
    return takeStore(database, this.#node, wait);
  }

  attach(engine: Engine, health: Health): void {
    const database = this.#database!;
    const node = this.#node;
    this.alerts = new NodeAlerts(database, engine);
    this.stream = new NodeStream(database, node, () => engine.clock.monotonic());
    const slotOfId = (endpoint: string) => this.#slotOf(endpoint);
    const notices = new Notices({ node, database, engine, health, owns: this.owns, slotOf: slotOfId });
    this.#store = { engine, health, notices, list: new NodeList(database, engine.clock, this.#node) };
  }

  async guard(tx: Queries): Promise<null> {
    const { id } = this.#node;
    if (await guard(tx, this.#node)) return null;
    // This node may have joined again in the meantime.
    throw id === this.#node.id ? this.#lost() : storageUnavailable();
  }

  readonly comeback: Comeback = ((owner) => ({
    get isDue() {
      return owner.#isLost;
    },
    rejoin: () => owner.#rejoin(),
    giveUp() {
      lost(owner.#onLost, "other nodes have taken over this node's endpoints, because its lease had run out");
    },
  }))(this);

  /** Joins under another id, so that the database commits nothing from before. */
  async #rejoin(): Promise<Ownership> {
    const { engine, health, notices } = this.#store!;
    const anew = { ...this.#node, id: randomUUID() };
    try {
      await this.#database!.leaseTransaction(async (tx) => {
        const joined = await join(tx, anew);
        if (joined.is === "held") throw held();
        if (joined.is === "outdated") throw storageUnavailable();
        await engine.renumber(tx, joined.number);
      });
    } catch (error) {
      // Another process has the store for itself, or has migrated it. Retrying would not help.
      if (error instanceof StoreRefused) this.#onLost(error);
      throw error;
    }
    this.#node.id = anew.id;
    this.#isLost = false;
    this.#renewedAt = engine.clock.monotonic();
    health.abandon();
    notices.forget();
    this.stream.rejoined();
    const endpoints = { total: SLOTS, owned: this.#owned, leaving: this.#leaving, againInMs: AGAIN_MS };
    return { endpoints, holdsForMs: this.#node.leaseMs };
  }

  async renew(report?: NodeReport): Promise<Ownership> {
    await this.#keep(report);
    if (!this.#dividing) await this.#divide(() => this.#renew());
    const endpoints = { total: SLOTS, owned: this.#owned, leaving: this.#leaving, againInMs: this.#againInMs };
    return { endpoints, holdsForMs: this.#node.leaseMs };
  }

  async leave(): Promise<Ownership> {
    this.#stopping = true;
    // Do this each time, because a drain in another node's name may have taken it over and ended.
    await this.#drain();
    return this.renew();
  }

  async #keep(report?: NodeReport): Promise<void> {
    const { lease } = this.#database!;
    const { clock } = this.#store!.engine;
    // If this fails, the renewal fails too.
    hearTime(lease, clock).catch(() => {});
    const sent = report === undefined ? null : { ...report, clockAheadMs: hostAheadMs(clock) };
    if (!(await renewLease(lease, this.#node, sent))) throw this.#lost();
    const { leaseMs } = this.#node;
    const now = clock.monotonic();
    // If the database was unreachable, leases of other nodes have run out too, and they are about to renew them.
    if (this.#renewedAt !== null && now - this.#renewedAt > leaseMs - 2 * RENEW_MS) this.#sparesUntil = now + leaseMs;
    this.#renewedAt = now;
  }

  async give(busy: ReadonlySet<string>): Promise<void> {
    if (!this.#dividing) await this.#divide(() => this.#give(busy));
  }

  remoteChanges(): Promise<RemoteChanges> {
    return this.#store!.notices.remoteChanges(this.slots);
  }

  acknowledgeChanges(): Promise<void> {
    return this.#store!.notices.acknowledgeChanges();
  }

  notify(tx: Queries, changes: Partial<NotifiedChanges>): Promise<void> {
    return this.#store!.notices.notify(tx, changes);
  }

  untilNotified(endpoints: readonly string[]): Promise<void> {
    return this.#store!.notices.untilNotified(endpoints);
  }

  nodes(): Promise<readonly StoreNode[]> {
    return this.#store!.list.all();
  }

  drain(name: string, on: boolean): Promise<boolean> {
    return this.#store!.list.drain(name, on);
  }

  async release(): Promise<void> {
    const { engine } = this.#store!;
    const { own } = await this.#look();
    [this.#owned, this.#leaving] = [new Set(), new Set()];
    await engine.write(async (tx) => {
      await letWait(tx, own, engine.clock.now());
      await tx.change("UPDATE slot SET owner = NULL, epoch = epoch + 1 WHERE owner = $1", [this.#node.id]);
      await tx.change("DELETE FROM node WHERE id = $1", [this.#node.id]);
    });
    // Activity at the very end may not have been reported. The next owner does not wait for the stream.
    if (this.stream.isWanted) await this.stream.tell(null).catch(() => {});
  }

  /** Runs one at a time, so that no slot counts as owned because of a read made before it was given up. */
  async #divide(work: () => Promise<void>): Promise<void> {
    this.#dividing = true;
    await work().finally(() => (this.#dividing = false));
  }

  async #renew(): Promise<void> {
    let shares = await this.#look();
    if (shares.isOutdated) {
      // This node does not know all the work that a newer version does. Newer nodes take over, but if they are lost,
      // somebody must still send.
      await this.#drain();
      shares = await this.#look();
    }
    const { free, isListened, left, live, own: held, takesPart } = shares;
    const spared = this.#sparesUntil - this.#store!.engine.clock.monotonic();
    const isDead = left !== null && left <= 0 && spared <= 0;
    const wasRemoved = isDead && (await removeDead(this.#database!.lease)) > 0;
    // The activity of a node at its very end may not have been reported.
    this.stream.renewed(isListened, wasRemoved);
    const share = takesPart ? Math.ceil(SLOTS / Math.max(1, live)) : 0;
    let own = held;
    const wanted = !this.#stopping && (isDead || free);
    if (wanted && held.length < share) {
      const { engine, health } = this.#store!;
      const taken = await engine.write((tx) => this.#take(tx, share - held.length));
      // Another node saved the health of these endpoints.
      if (taken.length > 0) health.readAgain();
      own = [...held, ...taken].toSorted((one, other) => one - other);
    }
    this.#leaving = new Set(own.slice(share));
    this.#owned = new Set(own.slice(0, share));
    const wantsMore = wanted && own.length < share;
    const endsIn = left !== null && left < OVERDUE_MS ? Math.max(left, spared, 0) + RUN_OUT_MS : null;
    this.#againInMs = wantsMore ? AGAIN_MS : isDead ? null : endsIn;
  }

  async #drain(): Promise<void> {
    await this.#database!.lease.change("UPDATE node SET draining = true WHERE id = $1", [this.#node.id]);
  }

  async #give(busy: ReadonlySet<string>): Promise<void> {
    const kept = new Set([...busy].map((endpoint) => this.#slotOf(endpoint)));
    const slots = [...this.#leaving].filter((slot) => !kept.has(slot));
    if (slots.length === 0) return;
    const { engine, health } = this.#store!;
    for (let left = SAVES; left > 0 && health.hasChanges; left--) await health.save();
    await engine.write(async (tx) => {
      // Give up only slots that still belong to this node, because it may have joined again since.
      const given = await tx.rows<{ slot: number }>(
        `UPDATE slot SET owner = NULL, epoch = epoch + 1 WHERE owner = $1 AND slot = ANY($2::smallint[])
         RETURNING slot`,
        [this.#node.id, slots],
      );
      await letWait(
        tx,
        given.map(({ slot }) => slot),
        engine.clock.now(),
      );
    });
    this.#leaving = new Set([...this.#leaving].filter((slot) => kept.has(slot)));
  }

  async #look(): Promise<Shares> {
    const [shares] = await this.#database!.lease.rows<Shares>(
      `WITH live AS (SELECT id, draining FROM node WHERE lease_until > now())
       SELECT (SELECT coalesce(nullif(count(*) FILTER (WHERE NOT draining), 0), count(*)) FROM live) AS live,
         NOT EXISTS (SELECT 1 FROM node WHERE id = $1 AND draining)
           OR NOT EXISTS (SELECT 1 FROM live WHERE NOT draining) AS "takesPart",
         EXISTS (SELECT 1 FROM meta WHERE name = 'schema' AND value::integer > $2)
           AND EXISTS (SELECT 1 FROM node WHERE id = $1 AND NOT draining) AS "isOutdated",
         EXISTS (SELECT 1 FROM node WHERE listens) AS "isListened",
         (SELECT ceil(extract(epoch FROM min(lease_until) - now()) * 1000)::integer FROM node WHERE id <> $1) AS left,
         EXISTS (SELECT 1 FROM slot s WHERE ${OWNERLESS}) AS free,
         ARRAY(SELECT slot::integer FROM slot WHERE owner = $1 ORDER BY slot) AS own,
         (SELECT coalesce(json_agg(k), '[]')::text FROM key_time k) AS "keyTimes"`,
      [this.#node.id, this.#node.steps.length],
    );
    this.#store!.engine.adoptKeyTimes(JSON.parse(shares!.keyTimes));
    return shares!;
  }

  async #take(tx: Queries, wanted: number): Promise<readonly number[]> {
    const free = await tx.rows<{ slot: number }>(
      `SELECT s.slot FROM slot s WHERE ${OWNERLESS} ORDER BY s.slot LIMIT $1 FOR UPDATE OF s SKIP LOCKED`,
      [wanted],
    );
    // Check again, because a faster node may have joined after the first statement began.
    const rows = await tx.rows<{ slot: number }>(
      `UPDATE slot s SET owner = $1, epoch = s.epoch + 1
       WHERE s.slot = ANY($2::smallint[]) AND ${OWNERLESS} RETURNING s.slot`,
      [this.#node.id, free.map(({ slot }) => slot)],
    );
    const taken = rows.map(({ slot }) => slot);
    // The memory of the node that had them is gone, so its fresh deliveries wait from now on.
    await letWait(tx, taken, this.#store!.engine.clock.now());
    return taken;
  }

  #slotOf(endpoint: string): number {
    let slot = this.#slots.get(endpoint);
    if (slot !== undefined) return slot;
    if (this.#slots.size >= MAX_REMEMBERED) this.#slots.clear();
    this.#slots.set(endpoint, (slot = slotOf(endpoint)));
    return slot;
  }

  #lost(): Error {
    this.#isLost = true;
    [this.#owned, this.#leaving] = [new Set(), new Set()];
    return storageUnavailable(new LeaseLost("others may have taken over its endpoints"));
  }
}

const OWNERLESS = "NOT EXISTS (SELECT 1 FROM node n WHERE n.id = s.owner)";

async function letWait(tx: Queries, slots: readonly number[], now: number): Promise<void> {
  if (slots.length === 0) return;
  await tx.change(
    `UPDATE delivery SET status = ${WAITING}, due_at = least(due_at, $2::bigint)
     WHERE status = ${FRESH} AND slot = ANY($1::smallint[])`,
    [slots, now],
  );
}
