/** Server-sent events (WHATWG HTML §9.2) that report changes of deliveries as they happen. */
import { Readable } from "node:stream";
import * as v from "valibot";
import { WebhookdError } from "../../domain/errors.ts";
import type { Change, ChangeCount } from "../../domain/events/change.ts";
import { formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import type { Batch, Listener, Owned, Subscription } from "../../feed/feed.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { requireNames } from "../pipeline/names.ts";
import { choiceParameter, idParameter } from "../pipeline/query.ts";
import type { Reply } from "../pipeline/reply.ts";
import type { Call, Operation, Route } from "../pipeline/route.ts";

/** The statuses whose changes a stream reports. */
export const STREAMED_STATUSES = ["pending", "delivered", "failed", "cancelled"] as const;

export const streamChanges: Operation = {
  id: "streamChanges",
  tag: "Deliveries",
  summary: "Follow deliveries as server-sent events",
  description:
    "`ready` comes first. `attempt` is an attempt that was recorded, with the `status` that it gave its delivery; " +
    "`delivery` is one that became pending (published or replayed, even if its endpoint is disabled) or was cancelled; `endpoint` is one that was changed or deleted. Messages are sent four times a second; beyond 100, the rest is sent as `counts`. If you reconnect with `Last-Event-ID`, you get the messages that you missed. If those are no longer kept, you get `reload`, and must read the lists again. Test events are left out. A client that does not read is cut off; the " +
    "stream ends when the daemon stops or its key is revoked.",
  headers: { "Last-Event-ID": "The last id that this client received." },
  replies: {
    200: {
      description: "An endless stream of messages, with a comment every 15 s while nothing happens.",
      schema: v.string(),
      example:
        'event: ready\ndata: {}\n\nid: mi7x0k3q-0\n\nevent: attempt\ndata: {"at":"2026-11-20T09:55:00.142Z","tenant":"default",' +
        '"endpoint":"ep_06fbqxvx8r4m8q2v6ng0c3kz7t","event":"evt_06fbqxw6v8s2d4f6g8h0j2k4m6",' +
        '"delivery":"dlv_06fbqxw6v8s2d4f6g8h0j2k4n0","status":"pending","number":1,"outcome":"failed",' +
        '"error":"http_status","status_code":503,"duration_ms":12,"next_attempt_at":"2026-11-20T09:55:30.142Z"}\n\n' +
        "id: mi7x0k3q-1\n\n",
      type: "text/event-stream",
    },
  },
  problems: ["overloaded"],
};

const HEARTBEAT_MS = 15_000;

/**
 * The maximum number of changes that may wait for a slow client, in addition to those it missed. The feed keeps about
 * as many anyway.
 */
const MAX_WAITING = 10_000;
const MISSED = "some changes on another node are unknown";
const GONE = "the messages since then are no longer kept";

const Status = choiceParameter("status", STREAMED_STATUSES, "Only changes to this status.");
const Endpoint = idParameter("endpoint", "ep", "Only deliveries to this endpoint.");

export function streamRoutes(parts: ApiParts): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/webhooks/stream",
      access: "read",
      reach: "own",
      query: [TenantParameter, Status, Endpoint],
      operation: streamChanges,
      handle: (call) => open(parts, call),
    },
  ];
}

async function open(parts: ApiParts, call: Call): Promise<Reply> {
  const { feed, phase } = parts;
  const { principal, query, headers } = call;
  if (phase.now !== "serving")
    throw new WebhookdError("shutting_down", "the daemon is stopping; try again in a moment");
  const tenant = tenantToRead(principal, namedTenant(query));
  const [status, endpoint] = [Status.read(query), Endpoint.read(query)];
  await requireNames(parts, tenant, { endpoint });
  const place = call.stream();
  const wants = ({ tenant: owner, what }: Owned<{ readonly endpoint: string; readonly status: string | null }>) =>
    (tenant === null || owner === tenant) &&
    (endpoint === undefined || what.endpoint === endpoint) &&
    (principal.endpoints === null || principal.endpoints.includes(what.endpoint)) &&
    (status === undefined || what.status === status);
  const textOf = ({ changes, counts, hasGap, number }: Batch) => {
    if (hasGap) return `${messageText("reload", { reason: MISSED })}${idText(feed.life, number)}`;
    const texts = changes.filter(wants).map(changeText);
    const counted = counts.filter(wants);
    if (counted.length > 0) texts.push(countsText(counted));
    // Only the last message has the id, so a batch that was cut off is sent again as a whole.
    return texts.length === 0 ? "" : `${texts.join("")}${idText(feed.life, number)}`;
  };
  await feed.open().catch((error: unknown) => {
    place.leave();
    throw error;
  });
  const last = headers["last-event-id"];
  const known = last === undefined ? null : parseLastId(feed.life, String(last));
  const body = streamOf(parts, { keyId: principal.keyId, textOf }, known);
  body.once("close", () => place.leave());
  return { status: 200, type: "text/event-stream", body, headers: [["x-accel-buffering", "no"]] };
}

function streamOf(
  { feed, clock }: ApiParts,
  { keyId, textOf }: { keyId: string | null; textOf: (batch: Batch) => string },
  last: number | null,
) {
  /** The missed changes, then newer ones. They are formatted only as the client reads, because there may be many. */
  const waiting: (Batch | string)[] = [];
  let behind = 0;
  let reads = false;
  const hand = () => {
    while (reads && waiting.length > 0) {
      const next = waiting.shift()!;
      if (typeof next !== "string" && next.number > number) behind -= next.size;
      const text = typeof next === "string" ? next : textOf(next);
      if (text !== "") reads = stream.push(text);
    }
  };
  const stream = new Readable({
    read() {
      reads = true;
      hand();
    },
  });
  const listener: Listener = {
    keyId,
    take(batch) {
      seen = batch.number;
      waiting.push(batch);
      behind += batch.size;
      // A failure ends only this stream, because the feed has other listeners to notify.
      try {
        hand();
      } catch (error) {
        stream.destroy(error as Error);
      }
      // The client is too slow. It will reconnect with the last id it saw, or it is gone.
      if (behind > MAX_WAITING) stream.destroy();
    },
    end() {
      cancel();
      stream.push(null);
    },
  };
  const subscription: Subscription = feed.subscribe(listener, last);
  const { missed, number } = subscription;
  let seen = number;
  waiting.push(missed === null ? messageText("reload", { reason: GONE }) : messageText("ready", {}));
  waiting.push(...(missed ?? []), idText(feed.life, number));
  const beat = () => {
    cancel = clock.after(HEARTBEAT_MS, beat);
    // A client that has not read everything yet needs no heartbeat.
    if (reads) reads = stream.push(`: still here\n${idText(feed.life, seen)}`);
  };
  let cancel = clock.after(HEARTBEAT_MS, beat);
  stream.once("close", () => {
    cancel();
    subscription.stop();
  });
  return stream;
}

export function messageText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Makes a message without data: the client stores the id without passing it to its program. */
export function idText(life: string, number: number): string {
  return `id: ${life}-${number}\n\n`;
}

/** Returns the number of an id that this process assigned, or -1 for any other id, which the feed treats as too old. */
export function parseLastId(life: string, id: string): number {
  const number = /^([0-9a-z]+)-(\d{1,15})$/.exec(id);
  return number?.[1] === life ? Number(number[2]) : -1;
}

/** The text of each change, formatted once for all clients. */
const texts = new WeakMap<Owned<Change>, string>();

export function changeText(owned: Owned<Change>): string {
  let text = texts.get(owned);
  if (text === undefined) texts.set(owned, (text = messageText(owned.what.kind, presentChange(owned))));
  return text;
}

export function countsText(counts: readonly Owned<ChangeCount>[]): string {
  return messageText("counts", { data: counts.map(({ tenant, what }) => ({ tenant, ...what })) });
}

function presentChange({ tenant, what }: Owned<Change>) {
  const { at, endpoint, event, delivery, status, attempt } = what;
  const about = { at: formatInstant(at), tenant, endpoint };
  if (what.kind === "endpoint") return about;
  if (attempt === null) return { ...about, event, delivery, status };
  return {
    ...about,
    event,
    delivery,
    status,
    number: attempt.number,
    outcome: attempt.outcome,
    error: attempt.error,
    status_code: attempt.statusCode,
    duration_ms: attempt.durationMs,
    next_attempt_at: formatInstantOrNull(attempt.nextAttemptAt),
  };
}
