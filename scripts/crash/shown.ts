/**
 * Reads what the daemon shows at the end of a life, leaving out what is not judged, because there may be millions of
 * deliveries.
 */
import type { Api, ShownAttempt, ShownEvent } from "./api.ts";

export interface Shown {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly events: readonly ShownEvent[];
  /** Keyed by delivery. Contains only deliveries with more than one attempt. */
  readonly attempts: ReadonlyMap<string, readonly ShownAttempt[]>;
}

export async function show(api: Api): Promise<Shown> {
  const events: ShownEvent[] = [];
  const attempts = new Map<string, ShownAttempt[]>();
  for await (const { id: event, type, data, deliveries: all } of api.events()) {
    const deliveries = all.map(({ id, endpoint, status, attempts: made, next_attempt_at, sequence }) => {
      return { id, endpoint, status, attempts: made, next_attempt_at, sequence };
    });
    events.push({ id: event, type, data: { marker: data.marker }, deliveries });
    if (deliveries.every(({ attempts: made }) => made <= 1)) continue;
    for await (const { delivery, number, round, outcome, status_code, error, duration_ms } of api.attempts(event)) {
      const attempt = { delivery, number, round, outcome, status_code, error, duration_ms };
      const before = attempts.get(delivery);
      if (before === undefined) attempts.set(delivery, [attempt]);
      else before.push(attempt);
    }
  }
  return { now: Date.now(), events, attempts };
}
