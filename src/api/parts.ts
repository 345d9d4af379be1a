/** What the API is given: the rest of the daemon, as far as it may know it. */
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Deliveries } from "../delivery/deliveries.ts";
import type { Endpoint } from "../domain/endpoints/endpoint.ts";
import type { EventType } from "../domain/events/event-type.ts";
import type { TenantShare, TenantShares } from "../domain/time/timetable.ts";
import type { UrlPolicy } from "../domain/network/url.ts";
import type { Feed } from "../feed/feed.ts";
import type { Log } from "../log.ts";
import type { Census, Store } from "../store/store.ts";
import type { Backups } from "../upkeep/backups.ts";
import type { DataCheck } from "./event-types/data-check.ts";
import type { Peers } from "./server/socket.ts";

export interface EventTypes {
  /** By name. */
  readonly types: ReadonlyMap<string, EventType>;
  /** Undefined unless `[events] validate`. */
  readonly checkData: DataCheck | undefined;
}

export interface ApiMetrics {
  /** In Prometheus's text format; with a tenant, what is that one's alone. */
  text(tenant: string | null): Promise<string>;
  /** What there is now, and when it was counted; null while that is not counted yet. */
  readonly census: { get(patienceMs: number): Promise<(Census & { readonly at: number }) | null> };
  /** How long answers took, by route and status. */
  readonly requests: { took(route: string, status: number, ms: number): void };
}

export interface RunningConfig {
  /** As a file would have them, without what gives access. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly tenants: ReadonlyMap<string, TenantShare>;
}

/** What the API is joined from. */
export interface ApiParts {
  readonly store: Store;
  readonly deliveries: Deliveries;
  readonly feed: Feed;
  readonly clock: Clock;
  /** By how many milliseconds this host's clock is ahead of `clock`; null where they are one. */
  readonly hostAheadMs: () => number | null;
  readonly log: Log;
  readonly config: Config;
  /** The configuration as the last SIGHUP left it, to be shown. */
  readonly running: () => RunningConfig;
  readonly version: string;
  /** Asked at each request: what a catalogue holds may change while the daemon runs. */
  readonly catalogue: EventTypes;
  /** `draining` still takes publishes, because they are durable; `stopped` takes nothing. */
  readonly phase: { readonly now: "serving" | "draining" | "stopped" };
  readonly backups: Pick<Backups, "make" | "rules" | "failure">;
  /** Endpoints of which something cannot be read. */
  readonly damaged: () => readonly Endpoint[];
  /** A sentence for each constant of the specification that the configuration changes. */
  readonly departures: () => readonly string[];
  /** Which URLs the endpoints of a tenant may have, as the last SIGHUP left it. */
  readonly urlPolicy: (tenant: string) => UrlPolicy;
  readonly metrics: ApiMetrics;
  /** How the portal looks and where it is, as the last SIGHUP left it; `listening` is where this daemon does. */
  readonly portal: () => Config["portal"] & { readonly listening: string };
  /** What each tenant may take, as the last SIGHUP left it. */
  readonly shares: TenantShares;
  /** Of the unix socket. */
  readonly peers: Pick<Peers, "of" | "trouble">;
  /** Cryptographically secure bytes, for ids and secrets. */
  readonly random: (length: number) => Uint8Array;
}
