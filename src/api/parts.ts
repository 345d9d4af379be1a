/** The parts of the daemon that the API may use. */
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Deliveries } from "../delivery/deliveries.ts";
import type { Endpoint } from "../domain/endpoints/endpoint.ts";
import type { OutboxSettings, OutboxStanding, SetAsideRow } from "../domain/outbox/outbox.ts";
import type { TenantShare, TenantShares } from "../domain/time/timetable.ts";
import type { UrlPolicy } from "../domain/network/url.ts";
import type { Feed } from "../feed/feed.ts";
import type { Log } from "../log.ts";
import type { Census, Store } from "../store/store.ts";
import type { Backups } from "../upkeep/backups.ts";
import type { Traces } from "../telemetry/traces.ts";
import type { Catalogue } from "./event-types/catalogue.ts";
import type { Peers } from "./server/socket.ts";

export interface ApiMetrics {
  /** Returns metrics in Prometheus's text format. With a tenant, only the series of that tenant. */
  text(tenant: string | null): Promise<string>;
  /** Returns the latest counts and when they were made, or null if they are not ready within `patienceMs`. */
  readonly census: { get(patienceMs: number): Promise<(Census & { readonly at: number }) | null> };
  /** Records how long an answer took, by route and status. */
  readonly requests: { took(route: string, status: number, ms: number): void };
}

export interface RunningConfig {
  /** The settings as they would appear in a file, without secrets. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly tenants: ReadonlyMap<string, TenantShare>;
}

/** An outbox that this daemon reads. Its methods reject with `outbox_unavailable` while it cannot be used. */
export interface Outbox {
  readonly outbox: OutboxSettings;
  /** Its host and database, or its file, without a password. */
  readonly place: string;
  readonly standing: OutboxStanding;
  setAside(limit: number): Promise<readonly SetAsideRow[]>;
  /** Publishes rows that were set aside, null for all of them. Returns their number. */
  retry(ids: readonly string[] | null): Promise<number>;
  /** Deletes rows that were set aside, null for all of them. Returns their number. */
  drop(ids: readonly string[] | null): Promise<number>;
}

/** Everything that the API is built from. */
export interface ApiParts {
  readonly store: Store;
  readonly deliveries: Deliveries;
  readonly feed: Feed;
  readonly clock: Clock;
  /** Returns the milliseconds by which this host's clock is ahead of `clock`. Null if they are the same clock. */
  readonly hostAheadMs: () => number | null;
  readonly log: Log;
  readonly config: Config;
  /** The configuration as of the last SIGHUP, for showing. */
  readonly running: () => RunningConfig;
  readonly version: string;
  /** Read at each request, because the event types may change while the daemon runs. */
  readonly catalogue: Catalogue;
  /** While `draining`, the daemon still takes publishes, because they are durable. When `stopped`, it takes nothing. */
  readonly phase: { readonly now: "serving" | "draining" | "stopped" };
  readonly outboxes: readonly Outbox[];
  readonly backups: Pick<Backups, "make" | "rules" | "failure">;
  /** Returns the endpoints that have a part that cannot be read. */
  readonly damaged: () => readonly Endpoint[];
  /** Returns a sentence for each constant of the specification that the configuration overrides. */
  readonly departures: () => readonly string[];
  /** Returns the rules for the URLs of a tenant's endpoints, as of the last SIGHUP. */
  readonly urlPolicy: (tenant: string) => UrlPolicy;
  readonly metrics: ApiMetrics;
  /** Null if no spans are recorded. */
  readonly traces: Pick<Traces, "published" | "standing"> | null;
  /** The portal's settings as of the last SIGHUP. `listening` is the URL that this daemon listens on. */
  readonly portal: () => Config["portal"] & { readonly listening: string };
  /** Each tenant's share, as of the last SIGHUP. */
  readonly shares: TenantShares;
  /** Identifies callers on the unix socket. */
  readonly peers: Pick<Peers, "of" | "trouble">;
  /** Returns cryptographically secure bytes, for ids and secrets. */
  readonly random: (length: number) => Uint8Array;
}
