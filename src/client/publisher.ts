/**
 * The package's `webhookd/client`: a client that publishes events. It repeats a request that got no response, always
 * with the same idempotency key, so that nothing is lost or published twice while the daemon restarts.
 */
import { randomUUID } from "node:crypto";
import { systemClock } from "../clock.ts";
import { version } from "../build.ts";
import { createClient, type Client, type Target } from "./client.ts";
import { ClientError, notPublished } from "./error.ts";
import type { BatchedPublication, BatchItem, EventDraft, Publication } from "./operations.ts";

export type * from "./client.ts";
export type * from "./operations.ts";
export { ClientError } from "./error.ts";
export { verify, verifyStandard, type GivenHeaders, type Reason, type Verdict } from "./verification.ts";

export interface Publisher extends Client {
  /** Resolves once the event and its deliveries are on the daemon's disk. Throws a `PublishError`. */
  publish(event: EventDraft, options?: PublishOptions): Promise<Publication>;
  /** Publishes up to 1,000 events: all of them or none. */
  publishBatch(events: readonly BatchItem[], options?: BatchOptions): Promise<readonly BatchedPublication[]>;
}

export interface BatchOptions {
  /** Stops trying. */
  readonly signal?: AbortSignal;
}

export interface PublishOptions extends BatchOptions {
  /**
   * Must be the same for the same event, even after a restart of your program. Use an id of your own, such as one in
   * your database.
   */
  readonly idempotencyKey?: string;
}

export type PublisherOptions = ({ readonly url: string | URL; readonly key: string } | { readonly socket: string }) & {
  /** The time limit for one try. */
  readonly timeoutMs?: number;
  /** The time limit for all tries together, after which the last failure is thrown. */
  readonly giveUpAfterMs?: number;
};

const GIVE_UP_AFTER_MS = 30_000;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/**
 * Events that were not published, or may not have been. `publishBatch(error.events)` cannot publish them twice within a
 * day.
 */
export class PublishError extends ClientError {
  override readonly name = "PublishError";
  /** The events with their idempotency keys. */
  readonly events: readonly BatchItem[];

  constructor(error: ClientError, events: readonly BatchItem[]) {
    const { failure, code, message, faults, answered, retryable } = error;
    super(failure, code, message, hintOn(error), { faults, answered, retryable });
    this.events = events;
  }
}

const AGAIN = "publish its `events` again, with their idempotency keys: none of them is then published twice";

/** Says what to do before the events can be published. */
function hintOn({ retryable, code, hint }: ClientError): string {
  if (retryable) return `${AGAIN[0]!.toUpperCase()}${AGAIN.slice(1)}.`;
  switch (code) {
    case "unreachable":
    case "not_allowed":
      return `${hint ?? "Check the address of the daemon."} Then ${AGAIN}.`;
    case "unauthorized":
    case "forbidden":
      return `Use a key with the scope \`publish\` for the tenant of the events. Then ${AGAIN}.`;
    case "idempotency_mismatch":
      return "Another event was published under this idempotency key: give this event a key of its own.";
    case "payload_too_large":
      return "Publish fewer or smaller events at a time.";
    default:
      return "Publishing the same events again fails in the same way: correct what the message names first.";
  }
}

export function connect({ timeoutMs, giveUpAfterMs = GIVE_UP_AFTER_MS, ...place }: PublisherOptions): Publisher {
  const target: Target = "socket" in place ? place : { url: new URL(place.url), key: place.key };
  const client = createClient(target, { version, keepAlive: true, ...(timeoutMs !== undefined && { timeoutMs }) });

  /** Tries until the daemon answers with an object that has the field. */
  async function persist<T extends object>(
    publish: () => Promise<T>,
    field: keyof T & string,
    events: readonly BatchItem[],
    signal?: AbortSignal,
  ): Promise<T> {
    const until = systemClock.monotonic() + giveUpAfterMs;
    for (let tries = 1; ; tries++) {
      try {
        const answer = (await publish()) as T | null;
        if (answer?.[field] === undefined) throw notPublished(client.target);
        return answer;
      } catch (error) {
        if (!(error instanceof ClientError)) throw error;
        const waitMs = waitAfter(tries, error);
        if (!error.retryable || systemClock.monotonic() + waitMs > until) throw new PublishError(error, events);
        await pause(waitMs, signal);
      }
    }
  }

  return {
    ...client,
    publish(event, { idempotencyKey = randomUUID(), signal } = {}) {
      const body = JSON.stringify(event);
      const ask = { body, idempotencyKey, ...(signal !== undefined && { signal }) };
      const events = [{ ...event, idempotency_key: idempotencyKey }];
      return persist(() => client.call("publishEvent", ask), "id", events, signal);
    },
    async publishBatch(given, { signal } = {}) {
      const events = given.map((event) => ({ ...event, idempotency_key: event.idempotency_key ?? randomUUID() }));
      const ask = { body: JSON.stringify({ events }), ...(signal !== undefined && { signal }) };
      const { data } = await persist(() => client.call("publishBatch", ask), "data", events, signal);
      return data;
    },
  };
}

/** The wait grows with each try and is random, so that callers do not all return at once. */
function waitAfter(tries: number, { answered }: ClientError): number {
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (tries - 1));
  return (answered?.retryAfterMs ?? 0) + longest * (0.5 + Math.random() / 2);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      cancel();
      reject(signal!.reason as Error);
    };
    const cancel = systemClock.after(ms, () => {
      signal?.removeEventListener("abort", stop);
      resolve();
    });
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
