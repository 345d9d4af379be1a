import type {
  Answers,
  Attempt,
  Endpoint,
  EndpointWithHealth,
  Event,
  EventType,
  FailureGroup,
  Job,
  Statistics,
  Status,
} from "../../src/client/operations.ts";

/** Everything that was read in addition to the lists. */
export interface Known {
  readonly status: Read<Status> | null;
  readonly day: Read<Statistics> | null;
  readonly hour: Read<Statistics> | null;
  readonly jobs: Read<readonly Job[]> | null;
  /** The catalogue of event types. */
  readonly types: readonly EventType[] | null;
  /** Operations that this key may not call, so that each is tried only once. */
  readonly forbidden: ReadonlySet<keyof Answers>;
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /**
   * The time at which the next secret takes over, for rotations that were begun or ended here, until their endpoint is
   * read again.
   */
  readonly switches: ReadonlyMap<string, string | null>;
  /** The number of endpoints on the first page of all endpoints. */
  readonly roll: Read<number> | null;
  /** Endpoints that no longer exist. */
  readonly gone: ReadonlySet<string>;
  readonly health: ReadonlyMap<string, Read<EndpointWithHealth>>;
  /** Causes of failure, for endpoints that have any. */
  readonly causes: ReadonlyMap<string, Read<readonly FailureGroup[]>>;
  readonly endpointStats: ReadonlyMap<string, Read<Statistics>>;
  /** Attempts by endpoint, the latest first. */
  readonly lastAttempts: ReadonlyMap<string, Read<readonly Attempt[]>>;
  /** The attempt of the last test event, and its time, by endpoint. The daemon's health figures leave tests out. */
  readonly tested: ReadonlyMap<string, { readonly attempt: Attempt; readonly at: number }>;
  readonly events: ReadonlyMap<string, Read<Event>>;
  readonly attempts: ReadonlyMap<string, Read<readonly Attempt[]>>;
  /** The sentences that say why an event did not reach an endpoint, by the ids of both: `event endpoint`. */
  readonly reasons: ReadonlyMap<string, string>;
  /** Attempts by id, as samples of failures. */
  readonly samples: ReadonlyMap<string, Attempt>;
  /** Attempts that the stream reported since the statistics were read. */
  readonly since: { readonly delivered: number; readonly failed: number };
  /** Attempts of the last seconds, newest last. */
  readonly pace: readonly { readonly at: number; readonly attempts: number }[];
  /** The delay of the stream behind the daemon's clock, less the smallest delay seen so far. */
  readonly lagMs: number;
  readonly leastDelay: number | null;
  readonly lastEventId: string | null;
  readonly lastNews: number;
}

/** A value, the time at which it was read, and whether something has happened to it since. */
export interface Read<T> {
  readonly value: T;
  readonly at: number;
  readonly stale: boolean;
}
