/** Changes the row of an endpoint in the list by an attempt that the stream reports. The list is also read again later. */
import type { Answers, ListedEndpoint } from "../../client/operations.ts";
import type { AttemptChange, StreamMessage } from "../../client/stream.ts";

type Listed = Answers["listEndpoints"];

export function afterMessage(list: Listed, message: StreamMessage): Listed {
  if (message.kind !== "attempt" || message.data.outcome === "interrupted") return list;
  const at = list.data.findIndex(({ id }) => id === message.data.endpoint);
  if (at < 0) return list;
  return { ...list, data: list.data.with(at, afterAttempt(list.data[at]!, message.data)) };
}

function afterAttempt(endpoint: ListedEndpoint, { at, outcome }: AttemptChange): ListedEndpoint {
  const { health, recent } = endpoint;
  const succeeded = outcome === "succeeded";
  return {
    ...endpoint,
    ...(health && {
      health: {
        ...health,
        ...(succeeded ? { last_success_at: at } : { last_failure_at: at }),
        consecutive_failures: succeeded ? 0 : health.consecutive_failures + 1,
      },
    }),
    ...(recent && { recent: { ...recent, ...oneMore(recent, succeeded ? "succeeded" : "failed", Date.parse(at)) } }),
  };
}

/** Counts one more in the part that the time is in. Later parts come with the next read. */
function oneMore(recent: NonNullable<ListedEndpoint["recent"]>, name: "succeeded" | "failed", at: number) {
  const counts = recent[name];
  const part = Math.floor((at - Date.parse(recent.since)) / (1000 * recent.step_seconds));
  return part < 0 || part >= counts.length ? {} : { [name]: counts.with(part, counts[part]! + 1) };
}
