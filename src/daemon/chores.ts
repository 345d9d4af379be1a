/** The daemon's recurring chores, with their cron patterns. A chore that is still running is not started again. */
import { Cron } from "croner";
import type { Catalogue } from "../api/event-types/catalogue.ts";
import type { Alerts } from "../alerts/alerts.ts";
import type { Clock } from "../clock.ts";
import { refreshAll } from "../delivery/deliveries.ts";
import type { Dispatcher } from "../delivery/dispatcher.ts";
import { JobRunner } from "../jobs/runner.ts";
import type { Log } from "../log.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { StatisticsStore, Store, SwitchedKey, UpkeepStore } from "../store/store.ts";
import type { Backups } from "../upkeep/backups.ts";
import type { Outboxes } from "../outbox/outboxes.ts";
import { Retention } from "../upkeep/retention.ts";
import { ClockWatch, type DamagedEndpoints, type MemoryWatch, SpaceWatch } from "../upkeep/watches.ts";
import type { Reloaded } from "./reloaded.ts";

export interface Chore {
  readonly name: string;
  /** The first field is seconds: `* * * * * *` means every second. */
  readonly pattern: string;
  readonly run: () => void | Promise<void>;
}

export interface ChoresParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborted when the daemon stops. */
  readonly signal: AbortSignal;
  readonly dispatcher: Dispatcher;
  readonly alerts: Alerts;
  readonly backups: Backups;
  readonly catalogue: Pick<Catalogue, "isShared" | "look">;
  readonly damagedEndpoints: DamagedEndpoints;
  readonly memory: MemoryWatch;
  /** Null if there are none. */
  readonly outboxes: Pick<Outboxes, "forgetKeys"> | null;
  readonly reloaded: Reloaded;
}

export function choresOf(parts: ChoresParts): readonly Chore[] {
  const { alerts, backups, catalogue, damagedEndpoints, dispatcher, memory, outboxes, reloaded, store } = parts;
  const jobs = new JobRunner({ ...parts, deliveries: dispatcher });
  const retention = new Retention({ ...parts, rules: () => reloaded.retention });
  const space = new SpaceWatch({
    ...parts,
    onSpace: (left) => alerts.space(left),
    onTrouble: (detail) => alerts.storageFault(detail),
  });
  const hostClock = new ClockWatch(parts);
  const refresh = (endpoint: string) => dispatcher.refresh(endpoint);
  // Only one of the nodes that share a store runs this chore.
  const first = (run: () => Promise<void>) => async () => {
    if (dispatcher.lease.isFirst) await run();
  };
  return [
    { name: "lease", pattern: "* * * * * *", run: () => dispatcher.lease.renew() },
    { name: "tick", pattern: "* * * * * *", run: () => dispatcher.tick() },
    { name: "secret switch", pattern: "* * * * * *", run: () => switchSecrets({ ...parts, refresh }) },
    { name: "damaged endpoints", pattern: "* * * * * *", run: first(() => damagedEndpoints.run()) },
    { name: "alerts", pattern: "* * * * * *", run: () => alerts.run() },
    { name: "jobs", pattern: "* * * * * *", run: first(() => jobs.run()) },
    { name: "held keys", pattern: "* * * * * *", run: first(() => unlessFull(() => retention.freeKeys())) },
    { name: "old ordering keys", pattern: "0 42 * * * *", run: first(() => retention.pruneOrderingKeys()) },
    // If the store is not shared, nobody else changes its types.
    ...(catalogue.isShared
      ? [{ name: "event types", pattern: "* * * * * *", run: () => unlessFull(() => catalogue.look()) }]
      : []),
    { name: "sweep", pattern: "30 * * * * *", run: () => dispatcher.sweep() },
    { name: "put off", pattern: "*/10 * * * * *", run: () => dispatcher.hasten() },
    { name: "health", pattern: "* * * * * *", run: () => store.upkeep.saveHealth() },
    { name: "clock", pattern: "* * * * * *", run: () => hostClock.run() },
    { name: "memory", pattern: "50 * * * * *", run: () => memory.run() },
    { name: "free space", pattern: "*/2 * * * * *", run: () => space.run() },
    { name: "idempotency keys", pattern: "30 * * * * *", run: first(() => retention.forgetIdempotencyKeys()) },
    ...(outboxes === null
      ? []
      : [{ name: "outbox keys", pattern: "20 * * * * *", run: first(() => outboxes.forgetKeys()) }]),
    { name: "old events", pattern: "0 * * * * *", run: first(() => retention.pruneEvents()) },
    { name: "old choices", pattern: "0 37 * * * *", run: first(() => retention.pruneChoices()) },
    { name: "free pages", pattern: "40 * * * * *", run: () => retention.giveBack() },
    { name: "held deliveries", pattern: "0 5-59/10 * * * *", run: first(() => retention.expireHeld()) },
    { name: "old responses", pattern: "0 2-59/10 * * * *", run: first(() => retention.forgetResponses()) },
    { name: "counters", pattern: "* * * * * *", run: () => saveCounters(store) },
    { name: "old counters", pattern: "0 12 * * * *", run: first(() => retention.pruneCounters()) },
    { name: "backup", pattern: "15 * * * * *", run: () => backups.pass() },
    { name: "old audit entries", pattern: "0 7 * * * *", run: first(() => retention.pruneAudit()) },
    { name: "old keys", pattern: "0 17 * * * *", run: first(() => retention.pruneKeys()) },
    { name: "old portal links", pattern: "0 3-59/10 * * * *", run: first(() => retention.prunePortalKeys()) },
    { name: "old jobs", pattern: "0 22 * * * *", run: first(() => retention.pruneJobs()) },
    { name: "pending counts", pattern: "0 32 * * * *", run: first(() => mendPending(parts)) },
    { name: "old endpoints", pattern: "0 27 * * * *", run: first(() => retention.pruneEndpoints()) },
  ];
}

/** `daemon.tick` runs these one after another, for a test that controls the time. */
export const TICK = ["tick", "secret switch", "damaged endpoints", "alerts", "jobs", "held keys"];

interface MendingParts {
  readonly store: { readonly upkeep: Pick<UpkeepStore, "mendPending"> };
  readonly log: Log;
}

export interface SecretSwitchParts {
  readonly store: Pick<Store, "secrets" | "signingKeys">;
  readonly clock: Clock;
  /** Resolves once nothing is signed with the endpoint's old secret, or with its tenant's old key. */
  readonly refresh: (endpoint: string) => Promise<void>;
}

/**
 * Ends the overlaps of rotations: the next secret of an endpoint, or the next key of a tenant, takes over in the store
 * first and then in the senders. Also runs before the first send after a start. Until it has run, the old one still
 * signs.
 */
export async function switchSecrets({ store, clock, refresh }: SecretSwitchParts): Promise<void> {
  await unlessFull(async () => {
    let switched: readonly string[];
    do {
      switched = await store.secrets.switchDue(clock.now());
      await Promise.all(switched.map(refresh));
    } while (switched.length > 0);
  });
  await unlessFull(async () => {
    let switched: readonly SwitchedKey[];
    do {
      switched = await store.signingKeys.switchDue(clock.now());
      for (const { endpoints } of switched) await refreshAll(endpoints, refresh);
    } while (switched.length > 0);
  });
}

/** Writes the counters if no other commit has done so. Until then they are only in memory. */
export async function saveCounters(store: { readonly statistics: Pick<StatisticsStore, "save"> }): Promise<void> {
  await unlessFull(() => store.statistics.save());
}

/** A wrong count would refuse publishes, or accept too many. */
export async function mendPending({ log, store }: MendingParts): Promise<void> {
  await unlessFull(async () => {
    const tenants = await store.upkeep.mendPending();
    if (tenants.length === 0) return;
    const message =
      "the counts of pending deliveries were wrong and are right again; this is a bug in webhookd: please report it with this line";
    log.error({ tenants }, message);
  });
}

/** A write that the store refuses for now (a full disk) waits for the next run. */
async function unlessFull(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof WebhookdError)) throw error;
  }
}

export interface Schedule {
  stop(): void;
}

/** Chores with the same pattern share a timer, because computing the next second costs more than most chores. */
export function startSchedule(chores: readonly Chore[], log: Log): Schedule {
  const jobs = [...Map.groupBy(chores, ({ pattern }) => pattern)].map(([pattern, due]) => {
    const runs = due.map((chore) => onceAtATime(chore, log));
    return new Cron(pattern, () => {
      for (const run of runs) run();
    });
  });
  return {
    stop() {
      for (const job of jobs) job.stop();
    },
  };
}

function onceAtATime({ name, run }: Chore, log: Log): () => void {
  let running = false;
  return () => {
    if (running) return;
    running = true;
    (async () => run())()
      .catch((error: unknown) => log.error({ err: error, chore: name }, "a chore failed"))
      .finally(() => {
        running = false;
      });
  };
}
