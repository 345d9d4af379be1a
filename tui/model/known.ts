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

/** What was read beside the lists. */
export interface Known {
  readonly status: Read<Status> | null;
  readonly day: Read<Statistics> | null;
  readonly hour: Read<Statistics> | null;
  readonly jobs: Read<readonly Job[]> | null;
  /** The catalogue of event types. */
  readonly types: readonly EventType[] | null;
  /** What this key may not ask, so that it is asked once. */
  readonly forbidden: ReadonlySet<keyof Answers>;
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /** Of rotations that were begun or ended here, until their endpoint is read anew: when the next secret takes over. */
  readonly switches: ReadonlyMap<string, string | null>;
  /** How many of them the first page of all had. */
  readonly roll: Read<number> | null;
  /** Endpoints that there are not any more. */
  readonly gone: ReadonlySet<string>;
  readonly health: ReadonlyMap<string, Read<EndpointWithHealth>>;
  /** What fails at endpoints of which something does. */
  readonly causes: ReadonlyMap<string, Read<readonly FailureGroup[]>>;
  readonly endpointStats: ReadonlyMap<string, Read<Statistics>>;
  /** Of endpoints, the latest first. */
  readonly lastAttempts: ReadonlyMap<string, Read<readonly Attempt[]>>;
  /** What the last test event of each came to, and when: the daemon's figures on health leave tests out. */
  readonly tested: ReadonlyMap<string, { readonly attempt: Attempt; readonly at: number }>;
  readonly events: ReadonlyMap<string, Read<Event>>;
  readonly attempts: ReadonlyMap<string, Read<readonly Attempt[]>>;
  /** Attempts by id, as samples of what failed. */
  readonly samples: ReadonlyMap<string, Attempt>;
  /** What the stream told since the statistics were read. */
  readonly since: { readonly delivered: number; readonly failed: number };
  /** Attempts of the last seconds, newest last. */
  readonly pace: readonly { readonly at: number; readonly attempts: number }[];
  /** How far behind the daemon's clock the news are, against the best that was seen. */
  readonly lagMs: number;
  readonly leastDelay: number | null;
  readonly lastEventId: string | null;
  readonly lastNews: number;
}

/** A thing that was read, when, and whether something happened to it since. */
export interface Read<T> {
  readonly value: T;
  readonly at: number;
  readonly stale: boolean;
}
