/** Routes that show operators the status of the daemon, and its tenants. */
import * as v from "valibot";
import { CERTIFICATE_WARNING_MS } from "../../domain/endpoints/auth.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import type { Census } from "../../store/store.ts";
import { DamagedParts, DamagedReason } from "../endpoints/fields.ts";
import { HeldKeys, presentHeldKeys } from "../endpoints/held-keys.ts";
import type { ApiParts } from "../parts.ts";
import { requireEveryTenant } from "../pipeline/access.ts";
import { callerOf, listParameters, listQuery, pageReply } from "../pipeline/lists.ts";
import { json, type Reply } from "../pipeline/reply.ts";
import type { Call, Operation, Route } from "../pipeline/route.ts";
import { aPageOf, Count, described, extending, id, Instant, pageSchema, Tenant, titled } from "../pipeline/shapes.ts";
import { aBackup, Backup, Damage, presentBackup, presentDamage, presentDamaged } from "./backups.ts";
import { behind, Halt, Node, Paused, presentHalt, presentNode, presentPause } from "./sending.ts";
import { Outbox, presentOutbox } from "./outboxes.ts";
import { stateOf } from "./probes.ts";

/** Stands for an unknown number of bytes, because version 1 of the schema requires a number. */
const UNKNOWN_BYTES = Number.MAX_SAFE_INTEGER;

const EndpointHeldKeys = extending("EndpointHeldKeys", HeldKeys, { endpoint: id("ep") });

export const Status = titled(
  "Status",
  v.object({
    version: v.string(),
    schema: described(Count, "The version of the store's schema."),
    state: described(
      v.picklist(["ready", "draining", "disk_full", "store_unavailable"]),
      "Whether events are accepted, as in the answer of `/readyz`. A pause does not change this.",
    ),
    store_outage: described(
      v.nullable(v.object({ since: Instant, detail: v.string() })),
      "Since when and why this process cannot use its PostgreSQL, with what to do about it; null while it can. Meanwhile, everything that is read from the store is as it was last known.",
    ),
    started_at: Instant,
    uptime_seconds: Count,
    paused: Paused,
    not_sending: described(
      v.array(Halt),
      "Every reason why nothing is being sent now, or less than could be; empty if all is well. No delivery loses an attempt because of these.",
    ),
    oldest_due_at: described(
      v.nullable(Instant),
      "When the oldest due delivery fell due, on any node; null if none is due. Held deliveries do not count.",
    ),
    nodes: described(
      v.array(Node),
      "All nodes that share the store, including this one; empty if this is the only process. `not_sending` and all other fields are about the node that answers.",
    ),
    clock_ahead_ms: described(
      v.nullable(v.pipe(v.number(), v.integer())),
      "By how many milliseconds the clock of this host is ahead of the one of PostgreSQL, by which everything goes; negative if it is behind. Null if the store is not in PostgreSQL.",
    ),
    ids_ahead_ms: described(
      v.nullable(Count),
      "By how many milliseconds the instant in the id of the latest event is ahead of the clock, because the clock was ahead when an event was published. `received_at` and all filters by time go by the clock; ids only rise, at half its speed until it has caught up. Null if ids are not ahead.",
    ),
    put_off_deliveries: described(
      Count,
      "Deliveries that were due later than their ladder allows, because a clock had been wrong, and that this process has made due in time since it started.",
    ),
    deliveries: described(
      v.nullable(v.object({ pending: Count, held: Count, failed: Count })),
      "Deliveries that were pending, held or failed at `counted_at`; null until the first count.",
    ),
    counted_at: described(
      v.nullable(Instant),
      "When the deliveries of this answer were counted: now, or up to half a minute ago if there are so many that counting takes long. Null until the first count.",
    ),
    due_by_minute: described(
      v.nullable(v.array(Count)),
      "How many deliveries have an attempt due in each of the next 60 minutes, beginning with the current one, which includes overdue deliveries. Counted like `deliveries`.",
    ),
    overdue: described(
      v.object({
        deliveries: described(
          v.nullable(Count),
          "Deliveries that fell due in an earlier minute and have not been attempted since, counted like `deliveries`; null until the first count.",
        ),
        behind: v.array(
          v.object({
            endpoint: id("ep"),
            tenant: Tenant,
            url: v.string(),
            oldest_due_at: Instant,
            at_once: described(Count, "How many attempts to it are made at a time: fewer if it is slow to answer."),
          }),
        ),
      }),
      "Deliveries that are waiting for their turn, and the endpoints whose deliveries have waited for ten seconds or longer. At most five endpoints are listed, the longest wait first, and only those that this process sends to.",
    ),
    open_move: described(
      v.nullable(v.object({ since: described(v.nullable(Instant), "Null if unknown.") })),
      "A move of the store with `webhookd migrate --online` that has been neither finished nor given up. The store records each change for it. Null if there is none.",
    ),
    data: described(
      v.object({ dir: v.string(), secret_key_file: v.string() }),
      "The paths of the store and of its `secret.key` on the daemon's host.",
    ),
    disk: v.object({
      free_bytes: described(
        Count,
        `Space that can still be used, including free space inside the database. ${UNKNOWN_BYTES} if the store is in PostgreSQL, whose disk is not known here.`,
      ),
      floor_bytes: described(Count, "With less free space than this, new events are refused (507)."),
    }),
    database: v.object({
      bytes: Count,
      wal_bytes: Count,
      wal_trouble: described(
        v.nullable(v.string()),
        "Why the write-ahead log is growing, in a sentence; null while it is not. It keeps filling the disk until that is fixed.",
      ),
    }),
    damaged_database: described(
      v.nullable(Damage),
      "Set if the database was found damaged: the data that could be read is in a new database, which is now in use. Null if there is no damage to look into.",
    ),
    backup: v.object({
      every_seconds: described(Count, "0 means that backups are made only on request."),
      dir: v.string(),
      last: described(v.nullable(Backup), "The latest complete backup; null if there is none."),
      failure: described(
        v.nullable(v.object({ at: Instant, detail: v.string() })),
        "Why the last backup failed; null once one succeeds.",
      ),
    }),
    outboxes: described(v.array(Outbox), "The tables of `[[outbox]]` that this process reads, as in `/v1/outboxes`."),
    traces: described(
      v.nullable(
        v.object({
          exported: Count,
          dropped: Count,
          failure: v.nullable(v.object({ since: Instant, detail: v.string() })),
        }),
      ),
      "Spans; null without `[telemetry]`.",
    ),
    damaged_endpoints: described(
      v.object({
        total: Count,
        endpoints: v.array(
          v.object({ endpoint: id("ep"), tenant: Tenant, url: v.string(), parts: DamagedParts, reason: DamagedReason }),
        ),
      }),
      "Endpoints that cannot be read in full, at most twenty of them. Nothing is sent to them until they are repaired.",
    ),
    held_keys: described(
      v.array(EndpointHeldKeys),
      "The ordering keys that are held, by endpoint, the longest held first; at most twenty endpoints.",
    ),
    client_certificates: described(
      v.array(v.object({ endpoint: id("ep"), not_after: Instant })),
      "Client certificates that expire within 14 days.",
    ),
    departures: described(
      v.array(v.string()),
      "A sentence for each constant of the specification that the configuration changes.",
    ),
    retry_delays_seconds: described(v.array(v.number()), "The ladder: the wait after each failure, in order."),
    dev: described(v.boolean(), "Whether it runs with `--dev`, so that endpoints may use plain http on this machine."),
    sender_threads: described(
      Count,
      "How many threads send when the load is high. At other times, and always with 0, the main thread sends.",
    ),
    careful: described(
      v.boolean(),
      "Whether deliveries are marked on the disk before they are attempted, because the process has crashed repeatedly.",
    ),
    socket_uid_trouble: described(
      v.nullable(v.string()),
      "Why the audit log cannot name callers over the unix socket; null if it can, as far as is known.",
    ),
  }),
);

export const aStatus = {
  version: "1.0.0",
  schema: 1,
  state: "ready",
  store_outage: null,
  started_at: "2026-11-20T08:00:00.000Z",
  uptime_seconds: 6600,
  paused: null,
  not_sending: [],
  oldest_due_at: null,
  nodes: [],
  clock_ahead_ms: null,
  ids_ahead_ms: null,
  put_off_deliveries: 0,
  deliveries: { pending: 9, held: 4, failed: 12 },
  counted_at: "2026-11-20T09:50:00.000Z",
  overdue: { deliveries: 0, behind: [] },
  open_move: null,
  due_by_minute: [2, 0, 5, ...Array<number>(57).fill(0)],
  data: { dir: "/var/lib/webhookd", secret_key_file: "/var/lib/webhookd/secret.key" },
  disk: { free_bytes: 52_613_349_376, floor_bytes: 536_870_912 },
  database: { bytes: 73_400_320, wal_bytes: 4_124_152, wal_trouble: null },
  damaged_database: null,
  backup: { every_seconds: 86_400, dir: "/var/backups/webhookd", last: aBackup, failure: null },
  outboxes: [],
  traces: null,
  damaged_endpoints: { total: 0, endpoints: [] },
  held_keys: [],
  client_certificates: [],
  departures: [],
  retry_delays_seconds: [30, 120, 600, 3600, 21_600, 86_400],
  dev: false,
  sender_threads: 1,
  careful: false,
  socket_uid_trouble: null,
};

export const getStatus: Operation = {
  id: "getStatus",
  tag: "Daemon",
  summary: "Get the status of the daemon",
  description:
    "What is pending, what holds up sending, and how the store, the disk and the backups are. With a key for one tenant, the daemon's own affairs are left out.",
  replies: { 200: { description: "The status.", schema: Status, example: aStatus } },
};

/** Probes ask often, so the status does not wait for a count of millions. The next request gets that count. */
const COUNT_PATIENCE_MS = 100;
/** The longest time that the status waits for a slow store. */
const PATIENCE_MS = 2000;
const HOLDING_SHOWN = 20;
const CERTIFICATES_SHOWN = 20;

/** The facts shown until the store has answered for the first time. */
const UNREAD = {
  pause: null,
  space: { freeBytes: null, floorBytes: 0, state: "ready", trouble: null },
  size: { databaseBytes: 0, logBytes: 0 },
  last: null,
  damage: null,
  counts: null,
  nodes: [],
  openMove: null,
  heldKeys: [],
  certificates: [],
} as const;

/** Returns a function that reads the store's facts, or the last known ones if the store does not answer. */
function latestOf({ store, clock, metrics }: ApiParts) {
  const read = async () => {
    const [pause, space, size, last, damage, counts, nodes, openMove, heldKeys, certificates] = await Promise.all([
      store.operations.getPause(),
      store.upkeep.checkSpace(),
      store.operations.size(),
      store.operations.lastBackup(),
      store.operations.damage(),
      metrics.census.get(COUNT_PATIENCE_MS),
      store.ownership.nodes(),
      store.operations.openMove(),
      store.statistics.heldKeys(HOLDING_SHOWN),
      store.endpoints.expiring(clock.now() + CERTIFICATE_WARNING_MS, CERTIFICATES_SHOWN),
    ]);
    return { pause, space, size, last, damage, counts, nodes, openMove, heldKeys, certificates };
  };
  let known: Awaited<ReturnType<typeof read>> = UNREAD;

  /** The status must be available when the store is not: that is when an operator needs it most. */
  return async () => {
    const { promise: late, resolve } = Promise.withResolvers<null>();
    const cancel = clock.after(PATIENCE_MS, () => resolve(null));
    const reading = read().catch((error: unknown) => {
      if (error instanceof WebhookdError && error.code === "storage_unavailable") return null;
      throw error;
    });
    const facts = await Promise.race([reading, late]).finally(cancel);
    if (facts !== null) return (known = facts);
    return { ...known, space: { ...known.space, ...(await store.upkeep.condition()) } };
  };
}

export function statusRoutes(parts: ApiParts): Route[] {
  const { store, deliveries, clock, config, version, departures, backups, damaged, peers } = parts;
  const started = { at: clock.now(), monotonic: clock.monotonic() };

  const latest = latestOf(parts);

  async function status({ principal, now }: Call): Promise<Reply> {
    requireEveryTenant(principal);
    const { pause, space, size, last, damage, counts, nodes, openMove, heldKeys, certificates } = await latest();
    const dueSince = [deliveries.oldestDueAt(now), ...nodes.map(({ report }) => report?.oldestDueAt ?? null)];
    const { rules, failure } = backups;
    return json(200, {
      version,
      schema: store.operations.schemaVersion,
      state: stateOf(parts, space.state),
      store_outage: space.outage ? { since: formatInstant(space.outage.since), detail: space.outage.detail } : null,
      started_at: formatInstant(started.at),
      uptime_seconds: Math.floor((clock.monotonic() - started.monotonic) / 1000),
      paused: pause === null ? null : presentPause(pause),
      not_sending: deliveries.halts.map((halt) => presentHalt(halt, pause)),
      oldest_due_at: formatInstantOrNull(earliest(dueSince)),
      nodes: nodes.map(presentNode),
      clock_ahead_ms: parts.hostAheadMs(),
      ids_ahead_ms: store.events.idsAheadMs(now),
      put_off_deliveries: deliveries.putOff,
      deliveries: counts && { pending: counts.pending, held: counts.held, failed: counts.failed },
      counted_at: formatInstantOrNull(counts?.at ?? null),
      due_by_minute: counts && dueByMinute(counts, now),
      overdue: { deliveries: counts && overdue(counts, now), behind: space.outage ? [] : await behind(parts, now) },
      open_move: openMove && { since: formatInstantOrNull(openMove.since) },
      data: { dir: config.data.dir, secret_key_file: config.data.secretKeyFile },
      disk: { free_bytes: space.freeBytes ?? UNKNOWN_BYTES, floor_bytes: space.floorBytes },
      database: { bytes: size.databaseBytes, wal_bytes: size.logBytes, wal_trouble: space.trouble },
      damaged_database: damage === null ? null : presentDamage(damage),
      backup: {
        every_seconds: Math.round(rules.every / 1000),
        dir: rules.dir,
        last: last === null ? null : presentBackup(last),
        failure: failure === null ? null : { at: formatInstant(failure.at), detail: failure.detail },
      },
      outboxes: parts.outboxes.map(presentOutbox),
      traces: presentTraces(parts),
      damaged_endpoints: presentDamaged(damaged()),
      held_keys: heldKeys.map((one) => ({ endpoint: one.endpoint, ...presentHeldKeys(one) })),
      client_certificates: certificates.map(({ endpoint, notAfter }) => ({
        endpoint,
        not_after: formatInstant(notAfter),
      })),
      departures: departures(),
      retry_delays_seconds: config.retry.delays.map((delay) => delay / 1000),
      dev: config.dev,
      sender_threads: config.delivery.threads,
      careful: store.recovery.careful,
      socket_uid_trouble: peers.trouble,
    });
  }

  return [{ method: "GET", path: "/v1/status", access: "admin", operation: getStatus, handle: status }];
}

function presentTraces({ traces }: ApiParts) {
  if (traces === null) return null;
  const { exported, dropped, failure } = traces.standing;
  const told = failure && { since: formatInstant(failure.since), detail: failure.detail };
  return { exported, dropped, failure: told };
}

const MINUTE_MS = 60_000;

/** Deliveries counted as due in a minute that has since passed are due now. */
function dueByMinute({ due }: Census, now: number): number[] {
  const first = Math.floor(now / MINUTE_MS);
  const minutes = Array<number>(60).fill(0);
  for (const [minute, count] of due) minutes[Math.max(0, minute - first)]! += count;
  return minutes;
}

function overdue({ due }: Census, now: number): number {
  const first = Math.floor(now / MINUTE_MS);
  return [...due].reduce((sum, [minute, count]) => (minute < first ? sum + count : sum), 0);
}

function earliest(instants: readonly (number | null)[]): number | null {
  const known = instants.filter((at) => at !== null);
  return known.length === 0 ? null : Math.min(...known);
}

export const TenantSummary = titled(
  "TenantSummary",
  v.object({
    name: Tenant,
    endpoints: described(Count, "How many endpoints it has, not counting deleted ones."),
    published_last_hour: described(Count, "How many events it published in the last hour, not counting tests."),
  }),
);

export const TenantPage = pageSchema(TenantSummary);
export const aTenant = { name: "default", endpoints: 3, published_last_hour: 1240 };

export const listTenants: Operation = {
  id: "listTenants",
  tag: "Daemon",
  summary: "List tenants",
  description: "Every tenant that ever registered an endpoint or published. A key for one tenant sees only that one.",
  replies: {
    200: { description: "A page of tenants.", schema: TenantPage, example: aPageOf(aTenant), headers: ["link"] },
  },
};

const PATH = "/v1/tenants";

export function tenantRoutes({ store, clock }: ApiParts): Route[] {
  async function list(call: Call): Promise<Reply> {
    const asked = { ...listQuery("tenants", call), since: clock.now() - 60 * MINUTE_MS };
    const page = await store.reads.listTenants(asked, callerOf(call));
    const items = page.data.map(({ published, ...one }) => JSON.stringify({ ...one, published_last_hour: published }));
    return pageReply(PATH, call.query, page, items);
  }

  return [
    {
      method: "GET",
      path: PATH,
      access: "read",
      query: listParameters("tenants"),
      operation: listTenants,
      handle: list,
    },
  ];
}
