/** What a client of the daemon hears from it and tells it, as far as its commands need it. */
import type { Scope } from "./domain/key.ts";

export interface ClientAttempt {
  readonly id: string;
  readonly url: string;
  readonly number: number;
  readonly round: number;
  readonly outcome: "succeeded" | "failed" | "interrupted";
  readonly status_code: number | null;
  readonly error: string | null;
  readonly detail: string;
  readonly duration_ms: number;
}

export interface ClientDelivery {
  readonly id: string;
  readonly endpoint: string;
  readonly status: string;
  readonly attempts: number;
  readonly next_attempt_at: string | null;
  readonly last_attempt: ClientAttempt | null;
}

export interface ClientEvent {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly deliveries: readonly ClientDelivery[];
}

/** The event after a replay, and the failed deliveries that it did not touch. */
export interface ReplayedEvent extends ClientEvent {
  readonly left_alone?: readonly { readonly delivery: string; readonly endpoint: string; readonly reason: string }[];
}

export interface ClientKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly tenant: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
}

export interface ClientPause {
  readonly reason: string;
  readonly by: string;
  readonly at: string;
}

export interface ClientBackup {
  readonly file: string;
  readonly at: string;
  readonly bytes: number;
  readonly endpoints: number;
  readonly events: number;
}

export interface ClientStatus {
  readonly version: string;
  readonly schema: number;
  /** `ready` when publishes are taken. */
  readonly state: string;
  readonly started_at: string;
  readonly uptime_seconds: number;
  readonly paused: ClientPause | null;
  readonly oldest_due_at: string | null;
  readonly disk: { readonly free_bytes: number; readonly floor_bytes: number };
  readonly database: { readonly bytes: number; readonly wal_bytes: number };
  readonly backup: {
    readonly every_seconds: number;
    readonly dir: string;
    readonly last: ClientBackup | null;
    readonly failure: { readonly at: string; readonly detail: string } | null;
  };
  readonly departures: readonly string[];
  readonly sender_threads: number;
  readonly careful: boolean;
}

export interface NewClientKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly tenant: string;
  readonly expires_at?: string;
}
