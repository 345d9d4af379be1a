/** Server-sent events: what happens to deliveries, as it happens. */
import { Readable } from "node:stream";
import { WebhookdError } from "../domain/errors.ts";
import type { Batch, Listener, Owned, Subscription } from "../feed/feed.ts";
import { requireNames } from "./names.ts";
import { streamChanges } from "./operations/stream.ts";
import { choiceParameter, idParameter } from "./parameter.ts";
import type { ApiParts } from "./parts.ts";
import { changeText, countsText, idText, messageText, parseLastId } from "./stream-text.ts";
import type { Call, Reply, Route } from "./route.ts";
import { STREAMED_STATUSES } from "./schemas/change.ts";
import { namedTenant, TenantParameter, tenantToRead } from "./tenant.ts";

const HEARTBEAT_MS = 15_000;
/** What may wait for a client that does not read, beyond what its socket holds. */
const MAX_WAITING_BYTES = 256 * 1024;
const GONE = "what happened since then is not kept any more";
/** Half of the connections that the listener takes. */
const MAX_STREAMS = 256;

const Status = choiceParameter("status", STREAMED_STATUSES, "Only what became of this status.");
const Endpoint = idParameter("endpoint", "ep", "Only what is owed to this endpoint.");

export function streamRoutes(parts: ApiParts): Route[] {
  const { feed, clock, phase } = parts;

  async function open(call: Call): Promise<Reply> {
    const { principal, query, headers } = call;
    if (phase() !== "serving")
      throw new WebhookdError("shutting_down", "the daemon is stopping; try again in a moment");
    if (feed.listeners >= MAX_STREAMS) {
      throw new WebhookdError("overloaded", `${MAX_STREAMS} streams are open already`, { retryAfterSeconds: 15 });
    }
    const tenant = tenantToRead(principal, namedTenant(query));
    const [status, endpoint] = [Status.read(query), Endpoint.read(query)];
    await requireNames(parts, tenant, { endpoint });
    const wants = ({ tenant: owner, what }: Owned<{ readonly endpoint: string; readonly status: string | null }>) =>
      (tenant === null || owner === tenant) &&
      (endpoint === undefined || what.endpoint === endpoint) &&
      (status === undefined || what.status === status);
    const textOf = ({ changes, counts, number }: Batch) => {
      const texts = changes.filter(wants).map(changeText);
      const counted = counts.filter(wants);
      if (counted.length > 0) texts.push(countsText(counted));
      // Only the last one has the id: a batch that was cut off is sent again whole.
      return texts.length === 0 ? "" : `${texts.join("")}${idText(feed.life, number)}`;
    };
    const last = headers["last-event-id"];
    const known = last === undefined ? null : parseLastId(feed.life, String(last));
    const body = streamOf({ keyId: principal.keyId, textOf }, known);
    return { status: 200, type: "text/event-stream", body, headers: [["x-accel-buffering", "no"]] };
  }

  function streamOf(
    { keyId, textOf }: { keyId: string | null; textOf: (batch: Batch) => string },
    last: number | null,
  ) {
    const stream = new Readable({ read: () => {} });
    let seen = 0;
    const write = (text: string) => {
      if (text === "") return;
      stream.push(text);
      // It does not read: it comes back with the id of what it saw last, or is gone.
      if (stream.readableLength > MAX_WAITING_BYTES) stream.destroy();
    };
    const listener: Listener = {
      keyId,
      take(batch) {
        seen = batch.number;
        write(textOf(batch));
      },
      end() {
        cancel();
        stream.push(null);
      },
    };
    const subscription: Subscription = feed.subscribe(listener, last);
    const beat = () => {
      cancel = clock.after(HEARTBEAT_MS, beat);
      write(`: still here\n${idText(feed.life, seen)}`);
    };
    let cancel = clock.after(HEARTBEAT_MS, beat);
    stream.once("close", () => {
      cancel();
      subscription.stop();
    });
    const { missed, number } = subscription;
    seen = number;
    write(missed === null ? messageText("reload", { reason: GONE }) : messageText("ready", {}));
    for (const batch of missed ?? []) write(textOf(batch));
    write(idText(feed.life, number));
    return stream;
  }

  return [
    {
      method: "GET",
      path: "/v1/webhooks/stream",
      access: "read",
      query: [TenantParameter, Status, Endpoint],
      operation: streamChanges,
      handle: open,
    },
  ];
}
