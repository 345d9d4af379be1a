/**
 * A process that has this store has a row in it, with a lease that it renews, by the clock of the database. Each of its
 * transactions locks that row, and any other process may remove a row whose lease has run out. So a process that was
 * late, whether suspended by its kernel or cut off, commits nothing more.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { StoreRefused } from "../files/refused.ts";
import type { Health } from "./endpoints/health.ts";
import type { Database, Queries } from "./engine/database.ts";
import { NODES, type Engine } from "./engine/engine.ts";
import { migrateBesideOthers } from "./engine/migrate.ts";
import type { Owner } from "./engine/owner.ts";
import type { Step } from "./engine/schema.ts";
import { storageUnavailable } from "../files/unavailable.ts";

/** A crash is noticed after this time, and if the database cannot be reached, sending stops after this time. */
export const LEASE_MS = 5000;
/** The interval between two renewals. */
export const RENEW_MS = 1000;
const LEASE = "now() + $2 * interval '1 millisecond'";

/** After this time, a node keeps its name. */
const SETTLES = "interval '15 seconds'";

/** The interval at which to check whether another process's lease has run out. */
const LOOK_MS = 250;

/** An owner that has a row of its own. */
export interface Node extends Owner {
  take(database: Database, wait: Wait): Promise<{ readonly number: number; readonly wasKilled: boolean }>;
  /** Called once the store is open. */
  attach(engine: Engine, health: Health): void;
  /** Called inside each transaction, before its work. */
  guard(tx: Queries): Promise<null>;
}

/** The identity of a process. */
export interface About {
  readonly host: string;
  readonly version: string;
  /** The steps to the newest schema that it knows. */
  readonly steps: readonly Step[];
}

export interface NewNode extends About {
  /** Changes each time the node joins. */
  id: string;
  readonly leaseMs: number;
  /** True if it allows no other process beside it. Otherwise it allows those that also share. */
  readonly alone: boolean;
}

/**
 * The process that has the store: the time until its lease ends, and a string that changes when it renews the lease.
 */
export interface Holder {
  readonly left: number;
  readonly until: string;
}

/**
 * `dead` is the number of processes that did not end normally. `outdated` means that the store must be migrated before
 * the node can join.
 */
type Joined = { readonly dead: number } & (
  | { readonly is: "joined"; readonly number: number }
  | { readonly is: "held"; readonly holder: Holder }
  | { readonly is: "outdated" }
);

/** Call it inside a transaction. Processes that join at the same time wait for each other. */
export async function join(tx: Queries, { id, leaseMs, alone, host, version, steps }: NewNode): Promise<Joined> {
  const [meta] = await tx.rows<{ value: string }>("SELECT value FROM meta WHERE name = 'schema' FOR UPDATE");
  const found = Number(meta?.value ?? 0);
  if (found === 0) return { is: "outdated", dead: 0 };
  // A newer version may have migrated the store while this one waited.
  requireKnown(found, steps.length);
  const dead = await removeDead(tx);
  const others = await othersIn(tx);
  const holder = others.find((other) => alone || other.alone);
  if (holder !== undefined) return { is: "held", holder, dead };
  if (found < steps.length) return { is: "outdated", dead };
  const taken = new Set(others.map(({ number }) => number));
  const number = Array.from({ length: NODES }, (_, at) => at).find((one) => !taken.has(one));
  if (number === undefined)
    throw new StoreRefused(75, `the store has ${NODES} nodes already`, "stop one of them first");
  const names = new Set(others.map(({ name }) => name));
  const name = [host, ...Array.from({ length: NODES }, (_, at) => `${host}-${at + 2}`)].find((one) => !names.has(one));
  await tx.change(
    `INSERT INTO node (id, number, alone, lease_until, name, host, pid, version)
     VALUES ($1, $3, $4, ${LEASE}, $5, $6, $7, $8)`,
    [id, leaseMs, number, alone, name, host, process.pid, version],
  );
  return { is: "joined", number, dead };
}

interface Other extends Holder {
  readonly number: number;
  readonly name: string | null;
  readonly alone: boolean;
}

function othersIn(tx: Queries): Promise<Other[]> {
  return tx.rows<Other>(
    `SELECT number, name, alone, greatest(0, extract(epoch FROM lease_until - now()) * 1000)::integer AS left,
       lease_until::text AS until
     FROM node ORDER BY lease_until DESC`,
  );
}

export function requireKnown(found: number, known: number): void {
  if (found <= known) return;
  const what = `the store in PostgreSQL has schema ${found}, but this webhookd only knows schemas up to ${known}`;
  throw new StoreRefused(1, what, "start the newer webhookd that migrated it");
}

/**
 * Returns the number of rows removed. A process whose transaction is still open is left for the next time: the
 * transaction ends with its connection, and nobody else may wait for it.
 */
export function removeDead(queries: Queries): Promise<number> {
  return queries.change(
    "DELETE FROM node WHERE id IN (SELECT id FROM node WHERE lease_until <= now() FOR UPDATE SKIP LOCKED)",
  );
}

/**
 * Returns true if there was a lease to renew. Without a report the last one stays. The node takes its host's name once
 * no other node has it: after a crash, the old process may have it until its lease runs out. If several nodes want it
 * at the same time, the first one gets it.
 */
export async function renewLease(queries: Queries, { id, leaseMs }: NewNode, report: object | null): Promise<boolean> {
  const sql = `UPDATE node SET lease_until = ${LEASE}, report = coalesce($3, report),
    name = CASE WHEN name <> host AND since > now() - ${SETTLES}
      AND NOT EXISTS (SELECT 1 FROM node o WHERE o.name = node.host OR (o.host = node.host AND o.number < node.number
        AND o.since > now() - 2 * ${SETTLES})) THEN host ELSE name END
    WHERE id = $1`;
  return (await queries.change(sql, [id, leaseMs, report && JSON.stringify(report)])) > 0;
}

/**
 * Call it inside a transaction, before its work. Returns false if the lease ran out and another process removed the
 * row. Until the commit nobody can remove the row, and the lease is renewed, however long that takes.
 */
export async function guard(tx: Queries, { id }: NewNode): Promise<boolean> {
  return (await tx.rows("SELECT 1 FROM node WHERE id = $1 FOR KEY SHARE", [id])).length > 0;
}

/** Tells the process that it must end, and returns the error for the caller of the store. */
export function lost(onLost: (error: Error) => void, what: string): Error {
  onLost(new StoreRefused(75, what, "nothing is lost; if this host was not suspended, check its load"));
  return storageUnavailable();
}

/** The behaviour of a start while another process has the store. */
export interface Wait {
  /** True if it waits for as long as it takes, even while the other process renews its lease. */
  readonly isStandby: boolean;
  readonly onWait: () => void;
  /** Called when a step of a migration begins that may take long. */
  readonly onLong: (what: string) => void;
}

/**
 * Waits until a lease runs out that nobody renews. Only a process that may have the store migrates it. `wasKilled` is
 * true if an earlier process did not end normally.
 */
export async function takeStore(database: Database, node: NewNode, { isStandby, onLong, onWait }: Wait) {
  const isHeld = async (tx: Queries) =>
    (await othersIn(tx)).some(({ alone, left }) => left > 0 && (alone || node.alone));
  let wasKilled = false;
  for (let first: Holder | null = null; ;) {
    const joined = await database.transaction((tx) => join(tx, node));
    wasKilled ||= joined.dead > 0;
    if (joined.is === "joined") return { number: joined.number, wasKilled };
    if (joined.is === "outdated") {
      await migrateBesideOthers(database, { isHeld, onLong, steps: node.steps });
      continue;
    }
    const { holder } = joined;
    if (first === null) onWait();
    else if (holder.until !== first.until && !isStandby) throw held();
    first ??= holder;
    await sleep(Math.max(1, Math.min(LOOK_MS, holder.left || LOOK_MS)));
  }
}

export function held(): StoreRefused {
  return new StoreRefused(
    75,
    "another webhookd is using the PostgreSQL database of [data] store",
    "use that one, or stop it first; with [data] standby = true, this one waits and takes over when the other ends",
  );
}
