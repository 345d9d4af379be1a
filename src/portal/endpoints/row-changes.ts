/** Changes the row of an endpoint in the list by an attempt that the stream reports. The list is also read again later. */
import type { Answers, ListedEndpoint } from "../../client/operations.ts";
import type { AttemptChange, StreamMessage } from "../../client/stream.ts";
import { afterAttempt } from "../../domain/endpoints/streak.ts";
import { formatInstantOrNull } from "../../domain/time/instant.ts";

type Listed = Answers["listEndpoints"];

export function afterMessage(list: Listed, message: StreamMessage): Listed {
  if (message.kind !== "attempt" || message.data.outcome === "interrupted") return list;
  const at = list.data.findIndex(({ id }) => id === message.data.endpoint);
  if (at < 0) return list;
  return { ...list, data: list.data.with(at, rowAfter(list.data[at]!, message.data)) };
}

function rowAfter(endpoint: ListedEndpoint, change: AttemptChange): ListedEndpoint {
  const { health, recent } = endpoint;
  return {
    ...endpoint,
    ...(health && { health: { ...health, ...healthAfter(health, change) } }),
    ...(recent && { recent: { ...recent, ...oneMore(recent, change) } }),
  };
}

function healthAfter(health: NonNullable<ListedEndpoint["health"]>, { at, outcome }: AttemptChange) {
  const time = (instant: string | null) => (instant === null ? null : Date.parse(instant));
  const before = {
    lastSuccessAt: time(health.last_success_at),
    lastFailureAt: time(health.last_failure_at),
    consecutiveFailures: health.consecutive_failures,
    failingSince: null,
  };
  // The stream reports no tests, and each attempt at its end.
  const ended = {
    claim: { trigger: "ladder" },
    startedAt: Date.parse(at),
    outcome: { outcome, durationMs: 0 },
  } as const;
  const { lastSuccessAt, lastFailureAt, consecutiveFailures } = afterAttempt(before, ended);
  return {
    last_success_at: formatInstantOrNull(lastSuccessAt),
    last_failure_at: formatInstantOrNull(lastFailureAt),
    consecutive_failures: consecutiveFailures,
  };
}

/** Counts one more in the part that the time is in. Later parts come with the next read. */
function oneMore(recent: NonNullable<ListedEndpoint["recent"]>, { at, outcome }: AttemptChange) {
  const name = outcome === "succeeded" ? "succeeded" : "failed";
  const counts = recent[name];
  const part = Math.floor((Date.parse(at) - Date.parse(recent.since)) / (1000 * recent.step_seconds));
  return part < 0 || part >= counts.length ? {} : { [name]: counts.with(part, counts[part]! + 1) };
}
