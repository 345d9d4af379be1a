/** Follows the stream of changes while the page is open. After an interruption it continues where it stopped. */
import type { Client } from "../../client/client.ts";
import type { ClientError } from "../../client/error.ts";
import type { StreamMessage } from "../../client/stream.ts";
import { pause } from "./clock.ts";

export type Liveness = "connecting" | "live" | "broken";

interface Hearers {
  /** Called for a change to an endpoint. Null means that anything may have changed. */
  changed(endpoint: string | null): void;
  /** Called for each message about one change. */
  told(message: StreamMessage): void;
  /** Called when the stream has begun. */
  streams(): void;
  is(liveness: Liveness): void;
  ended(error: ClientError): void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

/** Runs until `signal` aborts, or until the key is refused. */
export async function stayLive(
  client: Client,
  query: Readonly<Record<string, string | undefined>>,
  hearers: Hearers,
  signal: AbortSignal,
): Promise<void> {
  let lastEventId: string | undefined;
  let wait = FIRST_WAIT_MS;
  while (!signal.aborted) {
    try {
      for await (const message of client.changes({
        query,
        signal,
        ...(lastEventId !== undefined && { lastEventId }),
      })) {
        wait = FIRST_WAIT_MS;
        hearers.is("live");
        if (message.kind === "id") lastEventId = message.id;
        else tell(message, hearers);
      }
    } catch (error) {
      if ((error as ClientError).code === "unauthorized") return hearers.ended(error as ClientError);
    }
    if (signal.aborted) return;
    hearers.is("broken");
    await pause(wait, signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

function tell(message: Exclude<StreamMessage, { kind: "id" }>, hearers: Hearers): void {
  switch (message.kind) {
    case "ready":
      return hearers.streams();
    case "reload":
      return hearers.changed(null);
    case "counts":
      return new Set(message.data.data.map(({ endpoint }) => endpoint)).forEach((one) => hearers.changed(one));
    default:
      hearers.told(message);
      return hearers.changed(message.data.endpoint);
  }
}
