/** Reads the daemon's stream of changes to deliveries: server-sent events (WHATWG HTML §9.2). */
import type { IncomingMessage } from "node:http";
import type { Attempt, Delivery } from "./operations.ts";
import { nameOf, send, type Target, collect, textOf } from "./exchange.ts";
import { ClientError, notReached, notWebhookd } from "./error.ts";

export interface StreamOptions {
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** The id of the last message that was seen. The messages after it are sent first. */
  readonly lastEventId?: string;
  readonly signal: AbortSignal;
}

interface About {
  readonly at: string;
  readonly tenant: string;
  readonly endpoint: string;
}
export interface DeliveryChange extends About {
  readonly event: string;
  readonly delivery: string;
  /** Null where it did not change. */
  readonly status: Delivery["status"] | null;
}
export interface AttemptChange extends DeliveryChange {
  readonly number: number;
  readonly outcome: Attempt["outcome"];
  readonly error: string | null;
  readonly status_code: number | null;
  readonly duration_ms: number;
  readonly next_attempt_at: string | null;
}
/** Changes of one kind that came too fast to report one by one. */
export interface CountedChanges {
  readonly kind: "attempt" | "delivery" | "endpoint";
  readonly tenant: string;
  readonly endpoint: string;
  readonly status: string | null;
  readonly outcome: string | null;
  readonly error: string | null;
  readonly count: number;
}

export type StreamMessage =
  /** From this message on, no change is missed. */
  | { readonly kind: "ready"; readonly data: object }
  /** The messages after `lastEventId` are no longer kept, so the lists must be read again. */
  | { readonly kind: "reload"; readonly data: { readonly reason: string } }
  | { readonly kind: "attempt"; readonly data: AttemptChange }
  | { readonly kind: "delivery"; readonly data: DeliveryChange }
  | { readonly kind: "endpoint"; readonly data: About }
  | { readonly kind: "counts"; readonly data: { readonly data: readonly CountedChanges[] } }
  /** The `lastEventId` to reconnect with, after the messages so far. It is also the heartbeat, every 15 s. */
  | { readonly kind: "id"; readonly id: string };

/** The daemon sends a heartbeat every 15 s. Missing three of them means that the connection is broken. */
const SILENCE_MS = 45_000;
const MAX_MESSAGE_CHARS = 16 * 1024 * 1024;

export async function* openStream(
  target: Target,
  { version, path, lastEventId, signal }: StreamOptions & { readonly version: string; readonly path: string },
): AsyncGenerator<StreamMessage, void, undefined> {
  const headers = {
    accept: "text/event-stream",
    "user-agent": `webhookd/${version}`,
    ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
  };
  try {
    const response = await send(target, { method: "GET", path, headers, signal, silenceMs: SILENCE_MS });
    if (response.statusCode !== 200) textOf(target, await collect(response), { json: true });
    if (!/^text\/event-stream\b/.test(response.headers["content-type"] ?? "")) {
      throw notWebhookd(nameOf(target), { status: response.statusCode ?? 0 });
    }
    yield* messages(response);
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof ClientError ? error : notReached(nameOf(target), error as NodeJS.ErrnoException, false);
  }
}

async function* messages(response: IncomingMessage): AsyncGenerator<StreamMessage, void, undefined> {
  response.setEncoding("utf8");
  let rest = "";
  for await (const chunk of response as AsyncIterable<string>) {
    rest += chunk;
    if (rest.length > MAX_MESSAGE_CHARS) throw new ClientError("refused", "too_large", "a message is too large");
    const blocks = rest.split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) yield* messageOf(block);
  }
}

function* messageOf(block: string): Generator<StreamMessage, void, undefined> {
  const fields = new Map(
    block.split("\n").map((line) => {
      const colon = line.indexOf(":");
      return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
    }),
  );
  const [kind, data, id] = [fields.get("event"), fields.get("data"), fields.get("id")];
  if (kind !== undefined && data !== undefined) yield { kind, data: JSON.parse(data) } as StreamMessage;
  if (id !== undefined) yield { kind: "id", id };
}
