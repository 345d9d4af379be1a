/**
 * A process that has this store has a row of it, by a lease that it renews, by the clock of the database. Each of its
 * transactions holds on to that row, and a row whose lease has run out is removed by anyone who comes: so a process that
 * was late, stopped by its kernel or cut off, commits nothing more.
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

/** A death is noticed after so long; a database may be away for as long before nothing is sent any more. */
export const LEASE_MS = 5000;
/** Between two renewals. */
export const RENEW_MS = 1000;
const LEASE = "now() + $2 * interval '1 millisecond'";

/** From then on its name stays. */
const SETTLES = "interval '15 seconds'";

/** Between two looks at whether the lease of another has run out. */
const LOOK_MS = 250;

/** An owner that has a row of its own. */
export interface Node extends Owner {
  take(database: Database, wait: Wait): Promise<{ readonly number: number; readonly wasKilled: boolean }>;
  /** Once the store stands. */
  attach(engine: Engine, health: Health): void;
  /** Inside each transaction, before its work. */
  guard(tx: Queries): Promise<null>;
}

/** What a process is known by. */
export interface About {
  readonly host: string;
  readonly version: string;
  /** The steps to the newest schema that it knows. */
  readonly steps: readonly Step[];
}

export interface NewNode extends About {
  /** Another one each time it joins. */
  id: string;
  readonly leaseMs: number;
  /** Suffers no other beside it; else it suffers those that do the same. */
  readonly alone: boolean;
}

/** Who is in the way, for how long at least, and a word that changes when that one renews its lease. */
export interface Holder {
  readonly left: number;
  readonly until: string;
}

/** `dead` did not end by themselves. Where the schema is an older one, nothing was done but to ask. */
type Joined = { readonly dead: number } & (
  | { readonly is: "joined"; readonly number: number }
  | { readonly is: "held"; readonly holder: Holder }
  | { readonly is: "outdated" }
);

/** Inside a transaction. Those who come at the same time come one after the other. */
export async function join(tx: Queries, { id, leaseMs, alone, host, version, steps }: NewNode): Promise<Joined> {
  const [meta] = await tx.rows<{ value: string }>("SELECT value FROM meta WHERE name = 'schema' FOR UPDATE");
  const found = Number(meta?.value ?? 0);
  if (found === 0) return { is: "outdated", dead: 0 };
  // A newer version may have come while this one waited.
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
 * How many they were. One whose transaction is still open is left for the next time: it is over when its connection is,
 * and nobody else may wait for it.
 */
export function removeDead(queries: Queries): Promise<number> {
  return queries.change(
    "DELETE FROM node WHERE id IN (SELECT id FROM node WHERE lease_until <= now() FOR UPDATE SKIP LOCKED)",
  );
}

/**
 * Whether there was something to renew. Without a report the last one stays. The name becomes that of the host once no
 * other has it: after a crash, the process of before may have it until its lease has run out. Of several that would take
 * it at the same time the first does.
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
 * Inside a transaction, before its work: false once the lease had run out and somebody came. Until the commit nobody
 * removes the row; the lease is renewed meanwhile, however long that takes.
 */
export async function guard(tx: Queries, { id }: NewNode): Promise<boolean> {
  return (await tx.rows("SELECT 1 FROM node WHERE id = $1 FOR KEY SHARE", [id])).length > 0;
}

/** Tells the process that it must end, and is what the caller of the store is answered. */
export function lost(onLost: (error: Error) => void, what: string): Error {
  onLost(new StoreRefused(75, what, "nothing is lost; if this host was not suspended, check its load"));
  return storageUnavailable();
}

/** What a start does while another process is in the way. */
export interface Wait {
  /** Waits for as long as it takes, though that one renews its lease. */
  readonly isStandby: boolean;
  readonly onWait: () => void;
  /** Part of a migration is begun that may take long. */
  readonly onLong: (what: string) => void;
}

/**
 * Waits until a lease that nobody renews runs out. Only one that may have the store migrates it. `wasKilled`: one before
 * it did not end by itself.
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
