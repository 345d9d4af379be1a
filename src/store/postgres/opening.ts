/**
 * Opens the store of `[data] store` for the daemon. The data directory contains `secret.key`, the first key and the
 * socket, so it is locked too. A lease holds the database.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import { WebhookdError } from "../../domain/errors.ts";
import type { TenantShares } from "../../domain/time/timetable.ts";
import { makeDataDirectory, readableByOthers, requireUnchangeable } from "../files/durable-file.ts";
import { readOrMakeAdminKey, readOrMakeSecretKey } from "../files/key-files.ts";
import { StoreRefused } from "../files/refused.ts";
import { takeLock } from "../opening/lock.ts";
import type { Store } from "../store.ts";
import { Database } from "./engine/database.ts";
import { explained } from "./fault.ts";
import { hostsOf } from "../../domain/network/postgres-address.ts";
import { requireHere, requireUnlocked } from "./engine/moved.ts";
import { STEPS, versionOf } from "./engine/schema.ts";
import { learnTime } from "./engine/time.ts";
import { LEASE_MS, requireKnown } from "./node.ts";
import { SharedOwnership } from "./ownership.ts";
import { SoleOwner } from "./sole-owner.ts";
import { openPostgres } from "./store.ts";
import { Box } from "../rows/box.ts";

export interface ServedOptions {
  /** `postgres://user:password@host1,host2/name` */
  readonly url: string;
  readonly dir: string;
  /** If false, a start without a store fails instead of creating one. */
  readonly create: boolean;
  /** If true, waits for as long as another process has the store. */
  readonly standby: boolean;
  /** If true, shares the store with other processes that allow it. */
  readonly nodes: boolean;
  /** Called before the database is examined. If it rejects, the start fails. */
  readonly beforeComing?: (() => Promise<void>) | undefined;
  /** If false, a store with an older schema is refused. */
  readonly migrate: boolean;
  readonly secretKeyFile: string;
  readonly maxPendingPerTenant: number;
  readonly shares: TenantShares;
  readonly clock: Clock;
  readonly log: { warn(fields: object, message: string): void };
  readonly leaseMs?: number | undefined;
  /** The version of this process, shown in the list of nodes. */
  readonly version: string;
  readonly nativeBinding?: Parameters<typeof takeLock>[2];
  /** Called if the process must end because another one has the store. */
  readonly onFault: (error: Error) => void;
}

export interface Served {
  readonly store: Store;
  readonly created: boolean;
  /** The path of a new store's admin key. */
  readonly adminKeyFile?: string;
  /** True if the last process that had the store did not end normally. */
  readonly wasKilled: boolean;
}

const MIN_VERSION = 14;

/** Throws `StoreRefused`, with a text for people, if the database cannot be used. */
export async function openServed(options: ServedOptions): Promise<Served> {
  const { dir, clock } = options;
  makeDataDirectory({ dir, create: true });
  requireUnchangeable(dir);
  const lock = takeLock(dir, clock.now(), options.nativeBinding);
  const release = () => lock.release();
  try {
    return await openLocked(options, release);
  } catch (error) {
    release();
    throw refusalOf(error, options.url);
  }
}

async function openLocked(options: ServedOptions, onClosed: () => void): Promise<Served> {
  const { dir, clock, log, secretKeyFile, url, maxPendingPerTenant, shares } = options;
  const adminKeyFile = join(dir, "admin.key");
  for (const file of [secretKeyFile, adminKeyFile]) requireUnchangeable(file);
  await options.beforeComing?.();
  const isNew = await look(options);
  const Owner = options.nodes ? SharedOwnership : SoleOwner;
  const about = { host: hostname(), version: options.version, steps: STEPS };
  const owner = new Owner(options.leaseMs ?? LEASE_MS, about, options.onFault);
  let wasKilled = false;
  // Another process that started at the same time may be faster.
  let created = false;
  const store = await openPostgres({
    url,
    box: new Box(
      readOrMakeSecretKey({ file: secretKeyFile, mayCreate: isNew, random: randomBytes, todo: FROM_A_HOST }),
      randomBytes,
    ),
    secretKeyFile,
    clock,
    random: randomBytes,
    maxPendingPerTenant,
    shares,
    node: {
      owner,
      async take(database) {
        const onWait = () => log.warn({}, options.standby ? STANDS_BY : WAITS);
        const onLong = (what: string) => log.warn({ what }, LONG);
        const joined = await owner.take(database, { isStandby: options.standby, onWait, onLong });
        wasKilled = joined.wasKilled && !options.nodes;
        return joined.number;
      },
    },
    adminKey() {
      created = true;
      return readOrMakeAdminKey(adminKeyFile, clock.now(), randomBytes);
    },
    onClosed,
  });
  const open = readableByOthers(dir, [secretKeyFile, adminKeyFile]);
  if (open.length > 0) log.warn({ open }, "other users can read these files: chmod go= them");
  if (!created) return { store, created, wasKilled };
  log.warn({ database: hostsOf(url) }, "created a new store");
  return { store, created, adminKeyFile, wasKilled };
}

const FROM_A_HOST =
  "copy it from a host that uses this store, or put your own copy back (or say where it is with [data] secret_key_file)";

const WAITS = "another process has a lease on the database: waiting until it runs out, or is renewed";
const STANDS_BY = "standing by: another process has a lease on the database, and this one waits for it to end";

const LONG =
  "migrating the schema, which may take a long time on a large store; other nodes keep working, and if this one is stopped, the next start continues";

interface Server {
  readonly version: number;
  readonly fsync: string;
  readonly standbys: string;
}

/** Refuses a setup that cannot work, and warns of one that may lose events. Returns true if there is no store yet. */
async function look({ url, create, migrate, clock, log }: ServedOptions): Promise<boolean> {
  const database = new Database(url);
  try {
    await database.ready();
    await learnTime(database, clock);
    const [server] = await database.rows<Server>(
      `SELECT current_setting('server_version_num')::integer AS version, current_setting('fsync') AS fsync,
         current_setting('synchronous_standby_names') AS standbys`,
    );
    const { version, fsync, standbys } = server!;
    if (version < MIN_VERSION * 10_000) {
      const what = `the PostgreSQL of [data] store is version ${Math.floor(version / 10_000)}`;
      throw new StoreRefused(1, what, `webhookd needs version ${MIN_VERSION} or newer`);
    }
    if (fsync !== "on") log.warn({}, "PostgreSQL runs with fsync = off: a power cut there loses acknowledged events");
    else if (standbys === "") log.warn({}, NO_STANDBY);
    const { found, wanted, isNew } = await versionOf(database);
    if (found > 0) {
      await requireHere(database);
      await requireUnlocked(database);
    }
    if (isNew && !create) throw new StoreRefused(1, `there is no store in ${hostsOf(url)}`, NO_CREATE);
    requireKnown(found, wanted);
    if (found > 0 && found < wanted && !migrate) {
      const what = `the store in PostgreSQL has schema ${found}, and this webhookd needs ${wanted}`;
      throw new StoreRefused(1, what, "start it without --no-migrate");
    }
    return isNew;
  } finally {
    await database.close();
  }
}

const NO_STANDBY =
  "PostgreSQL has no synchronous standby (synchronous_standby_names is empty): if its disk is lost, so are acknowledged events";
const NO_CREATE =
  "name another database in [data] store; `webhookd serve` without --no-create makes a store in this one";

/** The server's own words may name the user and the database, but never the password. */
export function refusalOf(error: unknown, url: string): unknown {
  if (error instanceof StoreRefused || !(error instanceof Error)) return error;
  const cause = error instanceof WebhookdError ? error.cause : "severity" in error ? error : null;
  if (cause === null) return error;
  const { what, todo } = explained(cause, url);
  return new StoreRefused(74, `the PostgreSQL at ${hostsOf(url)} cannot be used: ${what}`, todo, error);
}
