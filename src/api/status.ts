/** The daemon as a whole. */
import type { Endpoint } from "../domain/endpoint.ts";
import { presentBackup } from "./backups.ts";
import { presentHalt, presentPause } from "./brake.ts";
import { stateOf } from "./health.ts";
import { formatInstant, formatInstantOrNull } from "../domain/instant.ts";
import { getStatus } from "./operations/daemon.ts";
import type { Damage } from "../store/store.ts";
import type { ApiParts } from "./parts.ts";
import { json, type Call, type Reply, type Route } from "./pipeline/route.ts";
import { requireEveryTenant } from "./pipeline/access.ts";

/** Probes ask often: a count of millions is not waited for, but there for the next one that asks. */
const COUNT_PATIENCE_MS = 100;

/** Damaged endpoints that are named. */
const NAMED = 20;

export function statusRoutes(parts: ApiParts): Route[] {
  const { store, deliveries, clock, config, version, departures, backups, metrics, damaged, peers } = parts;
  const started = { at: clock.now(), monotonic: clock.monotonic() };

  async function status({ principal, now }: Call): Promise<Reply> {
    requireEveryTenant(principal);
    const [pause, space, size, last, damage, counts] = await Promise.all([
      store.operations.getPause(),
      store.upkeep.checkSpace(),
      store.operations.size(),
      store.operations.lastBackup(),
      store.operations.damage(),
      metrics.census.get(COUNT_PATIENCE_MS),
    ]);
    const { rules, failure } = backups;
    return json(200, {
      version,
      schema: store.operations.schemaVersion,
      state: stateOf(parts, space.state),
      started_at: formatInstant(started.at),
      uptime_seconds: Math.floor((clock.monotonic() - started.monotonic) / 1000),
      paused: pause === null ? null : presentPause(pause),
      not_sending: deliveries.halts.map((halt) => presentHalt(halt, pause)),
      oldest_due_at: formatInstantOrNull(deliveries.oldestDueAt(now)),
      deliveries: counts && { pending: counts.pending, held: counts.held, failed: counts.failed },
      data: { dir: config.data.dir, secret_key_file: config.data.secretKeyFile },
      disk: { free_bytes: space.freeBytes, floor_bytes: space.floorBytes },
      database: { bytes: size.databaseBytes, wal_bytes: size.logBytes, wal_trouble: space.trouble },
      damaged_database: damage === null ? null : presentDamage(damage),
      backup: {
        every_seconds: Math.round(rules.every / 1000),
        dir: rules.dir,
        last: last === null ? null : presentBackup(last),
        failure: failure === null ? null : { at: formatInstant(failure.at), detail: failure.detail },
      },
      damaged_endpoints: presentDamaged(damaged()),
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

function presentDamaged(all: readonly Endpoint[]) {
  const endpoints = all.slice(0, NAMED).map(({ id, tenant, url, damaged }) => ({
    endpoint: id,
    tenant,
    url,
    parts: damaged?.parts ?? [],
    reason: damaged?.reason ?? "",
  }));
  return { total: all.length, endpoints };
}

function presentDamage({ at, file, pages, lost }: Damage) {
  return {
    at: formatInstant(at),
    file,
    pages,
    lost: lost.map(({ table, rows, from, until }) => {
      return { table, rows, from: formatInstantOrNull(from), until: formatInstantOrNull(until) };
    }),
  };
}
