/**
 * Combines what an operator must be notified about. At most one notice of each type is sent per minute. It names at
 * most a hundred items and counts all of them. So 40,000 failures in a minute cause a few posts, whichever tenants they
 * belong to.
 */
import type { Trouble } from "./advice/advice.ts";
import type { EndpointHeldKeys, HeldKeys } from "./deliveries/ordering.ts";
import type { Damage, DisabledReason } from "./endpoints/endpoint.ts";
import { isFailing } from "./endpoints/streak.ts";

export const ALERT_TYPES = [
  "webhookd.endpoint_failing",
  "webhookd.endpoint_recovered",
  "webhookd.endpoint_disabled",
  "webhookd.endpoint_damaged",
  "webhookd.deliveries_failed",
  "webhookd.keys_held",
  "webhookd.storage_low",
  "webhookd.backup_failed",
  "webhookd.storage_fault",
  "webhookd.outbox_fault",
] as const;

export type AlertType = (typeof ALERT_TYPES)[number];

/** The tenant of the alert endpoint and of the alerts themselves. No customer's tenant may have this name. */
export const ALERT_TENANT = "webhookd:alerts";

export const ALERT_PACE_MS = 60_000;
export const NAMED = 100;
/** The maximum number of groups of failed deliveries that are kept apart. */
const MAX_GROUPS = 1000;

/** Instants are wall-clock times in epoch milliseconds. The pace of notices uses the monotonic clock. */
export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

/** The result of an attempt, as far as advice needs it. */
export type Why = Omit<Trouble, "lastsMs">;

export interface FailingEndpoint {
  readonly endpoint: string;
  /** The result of the latest failure. */
  readonly why: Why;
  readonly consecutiveFailures: number;
  readonly failingSince: number;
}

export interface FailedDeliveries {
  readonly endpoint: string;
  /** The result of the first failure. */
  readonly why: Why;
  readonly count: number;
  readonly firstDelivery: string;
  readonly firstAt: number;
}

type ReportedFailing = Pick<FailingEndpoint, "endpoint" | "failingSince">;
/** `total` also counts the endpoints that are not named. */
interface Endpoints<Type extends AlertType, One> {
  readonly type: Type;
  readonly total: number;
  readonly endpoints: readonly ({ readonly endpoint: string } & One)[];
}

export type Notice =
  | Endpoints<"webhookd.endpoint_failing", FailingEndpoint>
  | Endpoints<"webhookd.endpoint_recovered", ReportedFailing>
  | Endpoints<"webhookd.endpoint_disabled", { readonly reason: DisabledReason }>
  | Endpoints<"webhookd.endpoint_damaged", Damage>
  | Endpoints<"webhookd.keys_held", HeldKeys>
  | {
      readonly type: "webhookd.deliveries_failed";
      readonly total: number;
      readonly groups: readonly FailedDeliveries[];
    }
  | { readonly type: "webhookd.storage_low"; readonly freeBytes: number; readonly floorBytes: number }
  | { readonly type: "webhookd.backup_failed"; readonly total: number; readonly detail: string }
  | { readonly type: "webhookd.storage_fault"; readonly detail: string }
  | { readonly type: "webhookd.outbox_fault"; readonly detail: string };

interface Streak {
  failures: number;
  /** Null until it fails again, if another node has reported it. */
  why: Why | null;
  readonly since: Moment;
  /** True once the operator has been notified. */
  isReported: boolean;
}

export class AlertFolder {
  readonly #streaks = new Map<string, Streak>();
  readonly #failing = new Set<string>();
  /** Endpoints that recovered, with the time since which they had been failing. */
  readonly #recovered = new Map<string, Moment>();
  /**
   * Endpoints that succeeded since the last notices and are not known to fail. `moved` may still say that they were
   * failing.
   */
  readonly #succeeded = new Set<string>();
  readonly #disabled = new Map<string, DisabledReason>();
  readonly #damaged = new Map<string, Damage>();
  /** Endpoints with a key that has been held for too long, and whether the longest held was reported. */
  #holding = new Map<string, { readonly held: HeldKeys; isReported: boolean }>();
  readonly #failed = new Map<string, FailedDeliveries>();
  #failedTotal = 0;
  #space: { readonly freeBytes: number; readonly floorBytes: number; isReported: boolean } | null = null;
  #storageFault: string | null = null;
  /** By the name of the outbox. */
  readonly #outboxes = new Map<string, string>();
  #backup: { detail: string; total: number } | null = null;
  readonly #posted = new Map<AlertType, number>();
  readonly #paceMs: number;

  constructor(paceMs = ALERT_PACE_MS) {
    this.#paceMs = paceMs;
  }

  attemptFailed(endpoint: string, why: Why, now: Moment): void {
    let streak = this.#streaks.get(endpoint);
    if (streak === undefined) {
      const since = this.#recovered.get(endpoint);
      // It recovered and failed again before the recovery was reported, so it counts as failing throughout.
      this.#streaks.set(
        endpoint,
        (streak = { failures: 0, why, since: since ?? now, isReported: since !== undefined }),
      );
      this.#recovered.delete(endpoint);
    }
    streak.failures++;
    streak.why = why;
    const isReportable = !streak.isReported && isFailing(streak.failures, streak.since.monotonic, now.monotonic);
    if (isReportable) this.#failing.add(endpoint);
  }

  attemptSucceeded(endpoint: string): void {
    const streak = this.#streaks.get(endpoint);
    if (streak === undefined) return void this.#succeeded.add(endpoint);
    this.#streaks.delete(endpoint);
    this.#failing.delete(endpoint);
    if (streak.isReported) this.#recovered.set(endpoint, streak.since);
  }

  deliveryFailed(endpoint: string, why: Why, delivery: string, now: Moment): void {
    this.#failedTotal++;
    addTo(this.#failed, { endpoint, why, count: 1, firstDelivery: delivery, firstAt: now.wall });
  }

  /**
   * The endpoints of this process changed: they moved between nodes, or came from the last process. `reported` are
   * those already reported as failing.
   */
  moved(owns: (id: string) => boolean, reported: readonly ReportedFailing[], { wall, monotonic }: Moment): void {
    // Keep what is about to be reported.
    for (const endpoint of this.#streaks.keys()) {
      if (!owns(endpoint) && !this.#failing.has(endpoint)) this.#streaks.delete(endpoint);
    }
    for (const { endpoint, failingSince } of reported) {
      const streak = this.#streaks.get(endpoint);
      const since = { wall: failingSince, monotonic: monotonic - (wall - failingSince) };
      if (streak === undefined && this.#succeeded.has(endpoint)) {
        this.#recovered.set(endpoint, since);
        continue;
      }
      const { failures, why } = streak ?? { failures: 0, why: null };
      this.#streaks.set(endpoint, { failures, why, since, isReported: true });
      this.#failing.delete(endpoint);
    }
  }

  /** A disabled endpoint neither fails nor succeeds any more. */
  endpointDisabled(endpoint: string, reason: DisabledReason): void {
    this.#streaks.delete(endpoint);
    this.#failing.delete(endpoint);
    this.#recovered.delete(endpoint);
    this.#disabled.set(endpoint, reason);
  }

  endpointDamaged(endpoint: string, damage: Damage): void {
    this.#damaged.set(endpoint, damage);
  }

  /**
   * These are all endpoints with keys that have been held for too long. Each is reported once, and again when another
   * key, or the same key anew, is the one that it has held for longest.
   */
  keysHeld(all: readonly EndpointHeldKeys[]): void {
    const before = this.#holding;
    this.#holding = new Map(
      all.map(({ endpoint, ...held }) => {
        const known = before.get(endpoint);
        const isSame = known?.held.since === held.since && known.held.orderingKey === held.orderingKey;
        return [endpoint, { held, isReported: isSame && known.isReported }];
      }),
    );
  }

  /**
   * Reports low space when twice the floor is left, so that there is time to act. Reports again only after there has
   * been three times the floor.
   */
  space({ freeBytes, floorBytes }: { readonly freeBytes: number | null; readonly floorBytes: number }): void {
    if (freeBytes === null || freeBytes >= 3 * floorBytes) this.#space = null;
    else if (freeBytes < 2 * floorBytes)
      this.#space = { freeBytes, floorBytes, isReported: this.#space?.isReported ?? false };
  }

  backupFailed(detail: string): void {
    this.#backup = { detail, total: (this.#backup?.total ?? 0) + 1 };
  }

  storageFault(detail: string): void {
    this.#storageFault = detail;
  }

  outboxFault(outbox: string, detail: string): void {
    this.#outboxes.set(outbox, detail);
  }

  /** Returns the notices that are due, and counts them as sent. With `isLast`, all of them are due. */
  take(now: Moment, isLast = false): Notice[] {
    if (isLast) this.#posted.clear();
    this.#succeeded.clear();
    return [
      this.#failing.size > 0 && this.#paced("webhookd.endpoint_failing", now, () => this.#takeFailing()),
      this.#recovered.size > 0 && this.#paced("webhookd.endpoint_recovered", now, () => this.#takeRecovered()),
      this.#disabled.size > 0 && this.#paced("webhookd.endpoint_disabled", now, () => this.#takeDisabled()),
      this.#damaged.size > 0 && this.#paced("webhookd.endpoint_damaged", now, () => this.#takeDamaged()),
      this.#failedTotal > 0 && this.#paced("webhookd.deliveries_failed", now, () => this.#takeFailed()),
      this.#unreported.length > 0 && this.#paced("webhookd.keys_held", now, () => this.#takeHeld()),
      this.#space?.isReported === false && this.#paced("webhookd.storage_low", now, () => this.#takeSpace()),
      this.#backup !== null && this.#paced("webhookd.backup_failed", now, () => this.#takeBackup()),
      this.#storageFault !== null && this.#paced("webhookd.storage_fault", now, () => this.#takeStorageFault()),
      this.#outboxes.size > 0 && this.#paced("webhookd.outbox_fault", now, () => this.#takeOutboxes()),
    ].filter((notice) => notice !== false && notice !== null);
  }

  #paced(type: AlertType, { monotonic }: Moment, take: () => Notice): Notice | null {
    if (monotonic - (this.#posted.get(type) ?? Number.NEGATIVE_INFINITY) < this.#paceMs) return null;
    this.#posted.set(type, monotonic);
    return take();
  }

  #takeFailing(): Notice {
    const all = [...this.#failing].map((endpoint) => {
      const streak = this.#streaks.get(endpoint)!;
      streak.isReported = true;
      return { endpoint, why: streak.why!, consecutiveFailures: streak.failures, failingSince: streak.since.wall };
    });
    this.#failing.clear();
    return { type: "webhookd.endpoint_failing", total: all.length, endpoints: all.slice(0, NAMED) };
  }

  #takeRecovered(): Notice {
    const all = [...this.#recovered].map(([endpoint, since]) => ({ endpoint, failingSince: since.wall }));
    this.#recovered.clear();
    return { type: "webhookd.endpoint_recovered", total: all.length, endpoints: all.slice(0, NAMED) };
  }

  #takeDisabled(): Notice {
    const all = [...this.#disabled].map(([endpoint, reason]) => ({ endpoint, reason }));
    this.#disabled.clear();
    return { type: "webhookd.endpoint_disabled", total: all.length, endpoints: all.slice(0, NAMED) };
  }

  #takeDamaged(): Notice {
    const all = [...this.#damaged].map(([endpoint, damage]) => ({ endpoint, ...damage }));
    this.#damaged.clear();
    return { type: "webhookd.endpoint_damaged", total: all.length, endpoints: all.slice(0, NAMED) };
  }

  get #unreported() {
    return [...this.#holding].filter(([, { isReported }]) => !isReported);
  }

  #takeHeld(): Notice {
    const all = this.#unreported.map(([endpoint, one]) => {
      one.isReported = true;
      return { endpoint, ...one.held };
    });
    return { type: "webhookd.keys_held", total: all.length, endpoints: all.slice(0, NAMED) };
  }

  #takeFailed(): Notice {
    const groups = [...this.#failed.values()].sort((a, b) => b.count - a.count).slice(0, NAMED);
    const total = this.#failedTotal;
    this.#failed.clear();
    this.#failedTotal = 0;
    return { type: "webhookd.deliveries_failed", total, groups };
  }

  #takeSpace(): Notice {
    const { freeBytes, floorBytes } = this.#space!;
    this.#space!.isReported = true;
    return { type: "webhookd.storage_low", freeBytes, floorBytes };
  }

  #takeBackup(): Notice {
    const { detail, total } = this.#backup!;
    this.#backup = null;
    return { type: "webhookd.backup_failed", total, detail };
  }

  #takeStorageFault(): Notice {
    const detail = this.#storageFault!;
    this.#storageFault = null;
    return { type: "webhookd.storage_fault", detail };
  }

  #takeOutboxes(): Notice {
    const detail = [...this.#outboxes.values()].join(". ");
    this.#outboxes.clear();
    return { type: "webhookd.outbox_fault", detail };
  }
}

/** Deliveries of one endpoint that failed alike form one group, which keeps the first of them. */
function addTo(groups: Map<string, FailedDeliveries>, some: FailedDeliveries): void {
  const key = `${some.endpoint} ${some.why.error} ${some.why.status}`;
  const before = groups.get(key);
  if (before === undefined && groups.size >= MAX_GROUPS) return;
  groups.set(key, { ...some, ...before, count: some.count + (before?.count ?? 0) });
}

/** Merges two notices of one type. If the type has no list, the later one replaces the earlier. */
export function joined(one: Notice, other: Notice): Notice {
  if (!("total" in one && "total" in other)) return other;
  const total = one.total + other.total;
  if ("groups" in one && "groups" in other) {
    const groups = new Map<string, FailedDeliveries>();
    for (const some of [...one.groups, ...other.groups].sort((a, b) => a.firstAt - b.firstAt)) addTo(groups, some);
    return { ...one, total, groups: [...groups.values()].sort((a, b) => b.count - a.count).slice(0, NAMED) };
  }
  if (!("endpoints" in one && "endpoints" in other)) return { ...other, total } as Notice;
  const endpoints = [...new Map([...one.endpoints, ...other.endpoints].map((each) => [each.endpoint, each])).values()];
  const twice = one.endpoints.length + other.endpoints.length - endpoints.length;
  return { ...one, total: total - twice, endpoints: endpoints.slice(0, NAMED) } as Notice;
}
