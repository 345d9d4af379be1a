/**
 * What an operator has to hear of, folded: of each kind at most one notice a minute, which names at most a hundred and
 * counts all. So 40,000 failures in a minute are a few posts, whoever they belong to.
 */
import type { Trouble } from "./advice/advice.ts";
import type { Damage, DisabledReason } from "./endpoints/endpoint.ts";

export const ALERT_TYPES = [
  "webhookd.endpoint_failing",
  "webhookd.endpoint_recovered",
  "webhookd.endpoint_disabled",
  "webhookd.endpoint_damaged",
  "webhookd.deliveries_failed",
  "webhookd.storage_low",
  "webhookd.backup_failed",
  "webhookd.storage_fault",
] as const;

export type AlertType = (typeof ALERT_TYPES)[number];

/** Whose the endpoint and the events of alerts are; no tenant of a customer's may have this name. */
export const ALERT_TENANT = "webhookd:alerts";

export const FAILURES_IN_A_ROW = 20;
export const FAILING_MS = 5 * 60_000;
export const ALERT_PACE_MS = 60_000;
export const NAMED = 100;
/** Groups of failed deliveries that are kept apart. */
const MAX_GROUPS = 1000;

/** Instants are wall clock, epoch milliseconds; paces are monotonic. */
export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

/** What an attempt came to, as far as advice needs it. */
export type Why = Omit<Trouble, "lastsMs">;

export interface FailingEndpoint {
  readonly endpoint: string;
  /** The latest failure. */
  readonly why: Why;
  readonly consecutiveFailures: number;
  readonly failingSince: number;
}

export interface FailedDeliveries {
  readonly endpoint: string;
  /** The first of them. */
  readonly why: Why;
  readonly count: number;
  readonly firstDelivery: string;
  readonly firstAt: number;
}

type Told = Pick<FailingEndpoint, "endpoint" | "failingSince">;
/** `total` counts those that are not named too. */
interface Endpoints<Type extends AlertType, One> {
  readonly type: Type;
  readonly total: number;
  readonly endpoints: readonly ({ readonly endpoint: string } & One)[];
}

export type Notice =
  | Endpoints<"webhookd.endpoint_failing", FailingEndpoint>
  | Endpoints<"webhookd.endpoint_recovered", Told>
  | Endpoints<"webhookd.endpoint_disabled", { readonly reason: DisabledReason }>
  | Endpoints<"webhookd.endpoint_damaged", Damage>
  | {
      readonly type: "webhookd.deliveries_failed";
      readonly total: number;
      readonly groups: readonly FailedDeliveries[];
    }
  | { readonly type: "webhookd.storage_low"; readonly freeBytes: number; readonly floorBytes: number }
  | { readonly type: "webhookd.backup_failed"; readonly total: number; readonly detail: string }
  | { readonly type: "webhookd.storage_fault"; readonly detail: string };

/** How an endpoint must fail before people are told. */
export function isWorthTelling(failures: number, lastsMs: number): boolean {
  return failures >= FAILURES_IN_A_ROW || lastsMs >= FAILING_MS;
}

interface Streak {
  failures: number;
  /** Null until it fails again, where another node has told of it. */
  why: Why | null;
  readonly since: Moment;
  /** The operator knows. */
  told: boolean;
}

export class AlertFolder {
  readonly #streaks = new Map<string, Streak>();
  readonly #failing = new Set<string>();
  /** Since when they had been failing. */
  readonly #recovered = new Map<string, Moment>();
  /** Since the last notices, of those that are not known to fail: `moved` may still say that they did. */
  readonly #succeeded = new Set<string>();
  readonly #disabled = new Map<string, DisabledReason>();
  readonly #damaged = new Map<string, Damage>();
  readonly #failed = new Map<string, FailedDeliveries>();
  #failedTotal = 0;
  #space: { readonly freeBytes: number; readonly floorBytes: number; told: boolean } | null = null;
  #storageFault: string | null = null;
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
      // It recovered and fails again before anybody heard of the first: it has been failing all the while.
      this.#streaks.set(endpoint, (streak = { failures: 0, why, since: since ?? now, told: since !== undefined }));
      this.#recovered.delete(endpoint);
    }
    streak.failures++;
    streak.why = why;
    const lastsMs = now.monotonic - streak.since.monotonic;
    if (!streak.told && isWorthTelling(streak.failures, lastsMs)) this.#failing.add(endpoint);
  }

  attemptSucceeded(endpoint: string): void {
    const streak = this.#streaks.get(endpoint);
    if (streak === undefined) return void this.#succeeded.add(endpoint);
    this.#streaks.delete(endpoint);
    this.#failing.delete(endpoint);
    if (streak.told) this.#recovered.set(endpoint, streak.since);
  }

  deliveryFailed(endpoint: string, why: Why, delivery: string, now: Moment): void {
    this.#failedTotal++;
    addTo(this.#failed, { endpoint, why, count: 1, firstDelivery: delivery, firstAt: now.wall });
  }

  /** Endpoints have come from other nodes or a former process, or gone; people were told that these are failing. */
  moved(owns: (id: string) => boolean, told: readonly Told[], { wall, monotonic }: Moment): void {
    // What is about to be reported still is.
    for (const endpoint of this.#streaks.keys()) {
      if (!owns(endpoint) && !this.#failing.has(endpoint)) this.#streaks.delete(endpoint);
    }
    for (const { endpoint, failingSince } of told) {
      const streak = this.#streaks.get(endpoint);
      const since = { wall: failingSince, monotonic: monotonic - (wall - failingSince) };
      if (streak === undefined && this.#succeeded.has(endpoint)) {
        this.#recovered.set(endpoint, since);
        continue;
      }
      const { failures, why } = streak ?? { failures: 0, why: null };
      this.#streaks.set(endpoint, { failures, why, since, told: true });
      this.#failing.delete(endpoint);
    }
  }

  /** It fails no more, nor does it succeed. */
  endpointDisabled(endpoint: string, reason: DisabledReason): void {
    this.#streaks.delete(endpoint);
    this.#failing.delete(endpoint);
    this.#recovered.delete(endpoint);
    this.#disabled.set(endpoint, reason);
  }

  endpointDamaged(endpoint: string, damage: Damage): void {
    this.#damaged.set(endpoint, damage);
  }

  /** Low is less than twice the floor, so that there is time to act; told once, until there is three times as much. */
  space({ freeBytes, floorBytes }: { readonly freeBytes: number | null; readonly floorBytes: number }): void {
    if (freeBytes === null || freeBytes >= 3 * floorBytes) this.#space = null;
    else if (freeBytes < 2 * floorBytes) this.#space = { freeBytes, floorBytes, told: this.#space?.told ?? false };
  }

  backupFailed(detail: string): void {
    this.#backup = { detail, total: (this.#backup?.total ?? 0) + 1 };
  }

  storageFault(detail: string): void {
    this.#storageFault = detail;
  }

  /** The notices that are due, whose matter is thereby told. The last time, all are due. */
  take(now: Moment, isLast = false): Notice[] {
    if (isLast) this.#posted.clear();
    this.#succeeded.clear();
    return [
      this.#failing.size > 0 && this.#paced("webhookd.endpoint_failing", now, () => this.#takeFailing()),
      this.#recovered.size > 0 && this.#paced("webhookd.endpoint_recovered", now, () => this.#takeRecovered()),
      this.#disabled.size > 0 && this.#paced("webhookd.endpoint_disabled", now, () => this.#takeDisabled()),
      this.#damaged.size > 0 && this.#paced("webhookd.endpoint_damaged", now, () => this.#takeDamaged()),
      this.#failedTotal > 0 && this.#paced("webhookd.deliveries_failed", now, () => this.#takeFailed()),
      this.#space?.told === false && this.#paced("webhookd.storage_low", now, () => this.#takeSpace()),
      this.#backup !== null && this.#paced("webhookd.backup_failed", now, () => this.#takeBackup()),
      this.#storageFault !== null && this.#paced("webhookd.storage_fault", now, () => this.#takeStorageFault()),
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
      streak.told = true;
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

  #takeFailed(): Notice {
    const groups = [...this.#failed.values()].sort((a, b) => b.count - a.count).slice(0, NAMED);
    const total = this.#failedTotal;
    this.#failed.clear();
    this.#failedTotal = 0;
    return { type: "webhookd.deliveries_failed", total, groups };
  }

  #takeSpace(): Notice {
    const { freeBytes, floorBytes } = this.#space!;
    this.#space!.told = true;
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
}

/** Those of one endpoint that failed alike are one group, which keeps what was first. */
function addTo(groups: Map<string, FailedDeliveries>, some: FailedDeliveries): void {
  const key = `${some.endpoint} ${some.why.error} ${some.why.status}`;
  const before = groups.get(key);
  if (before === undefined && groups.size >= MAX_GROUPS) return;
  groups.set(key, { ...some, ...before, count: some.count + (before?.count ?? 0) });
}

/** Two of one type. Of what has no list, the later one says it. */
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
