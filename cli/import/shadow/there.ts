/** Reads the attempts of another sender from its API: one list for each endpoint, in the shapes that it publishes. */
import type { ArgsOf } from "../../command.ts";
import { usage } from "../../failure.ts";
import type { Io } from "../../io.ts";
import { API, type ForeignApi, foreignApi, KEYS, PROJECT } from "../foreign-api.ts";
import { isRecord, type JsonRecord } from "../../../src/domain/json/merge-patch.ts";
import { recordsIn, textIn } from "../record.ts";
import { payloadHash, type Sent, type Span } from "./sides.ts";

/** An endpoint at the other sender. */
export interface Place {
  readonly id: string;
  readonly tenant: string;
}

/** Yields each event that was sent to the endpoint within the span, however often it was attempted. */
export type Attempts = (place: Place, span: Span) => AsyncGenerator<Sent, void, undefined>;

/** The other sender, by the name that an import gave its endpoints. */
export const SOURCE = {
  type: "positional",
  required: true,
  valueHint: "SOURCE",
  description: "Where the endpoints came from: svix, convoy, outpost or csv",
} as const;

/** The flags that name where attempts are read. */
export const ATTEMPTS_FROM = {
  ...API,
  ...PROJECT,
  log: { type: "string", valueHint: "FILE", description: "Read what was sent there from a log: JSON lines, or CSV" },
} as const;

type Args = ArgsOf<typeof ATTEMPTS_FROM> & { readonly source: string };

/** Attempts are read page by page, and not kept. */
const BUDGET = { requests: 200_000, bytes: 16 * 1024 ** 3 };

/** Null if they are to be read from a log. */
export function attemptsOf({ source, log, project, ...where }: Args, io: Io): Attempts | null {
  const variable = (KEYS as Readonly<Record<string, string>>)[source];
  if (variable === undefined && source !== "csv")
    throw usage(`no import is from "${source}"`, "Name one of svix, convoy, outpost and csv.");
  const { from } = where;
  if (log !== undefined && (from !== undefined || where["from-key-file"] !== undefined))
    throw usage("--log and --from name two sources", "Use one of them.");
  if (log !== undefined) return null;
  if (from === undefined || variable === undefined)
    throw usage(
      "there is nothing to compare with",
      `Name a log with --log${variable === undefined ? "" : ", or an API with --from"}.`,
    );
  const api = foreignApi({ ...where, from }, variable, io, BUDGET);
  if (source === "svix") return (place, span) => ofSvix(api, place, span);
  if (source === "outpost") return (place, span) => ofOutpost(api, place, span);
  if (project === undefined) throw usage("--from needs the project to read", "Name it with --project ID.");
  return (place, span) => ofConvoy(api, project, place, span);
}

const PAGE = "100";

async function* ofSvix(api: ForeignApi, { id, tenant }: Place, { since, until }: Span) {
  const path = `/api/v1/app/${encodeURIComponent(tenant)}/attempt/endpoint/${encodeURIComponent(id)}`;
  const query = { limit: PAGE, with_msg: "true", with_content: "true", after: iso(since), before: iso(until) };
  const next = ({ done, iterator }: JsonRecord) =>
    done !== false || typeof iterator !== "string" ? null : { iterator };
  const once = new Once();
  for await (const page of api.eachPage(path, query, next)) {
    for (const { msgId, msg } of recordsIn(page.data)) {
      if (!isRecord(msg) || !once.isFirst(String(msgId))) continue;
      const publisherId = textIn(msg, "eventId");
      yield* within(
        { event: String(msgId), type: String(msg.eventType), publisherId, of: msg.payload },
        msg.timestamp,
        since,
      );
    }
  }
}

async function* ofConvoy(api: ForeignApi, project: string, { id }: Place, { since, until }: Span) {
  const path = `/api/v1/projects/${encodeURIComponent(project)}/eventdeliveries`;
  // Convoy takes instants without a zone, in UTC.
  const [startDate, endDate] = [iso(since).slice(0, 19), iso(until + 1000).slice(0, 19)];
  const query = { perPage: PAGE, direction: "next", endpointId: id, startDate, endDate };
  const next = ({ data }: JsonRecord) => {
    const pagination = isRecord(data) && isRecord(data.pagination) ? data.pagination : {};
    const cursor = textIn(pagination, "next_page_cursor");
    return pagination.has_next_page === true && cursor !== null ? { next_page_cursor: cursor } : null;
  };
  for await (const { data } of api.eachPage(path, query, next)) {
    for (const delivery of recordsIn(isRecord(data) ? data.content : data)) {
      // Nothing was sent for it yet.
      if (delivery.status === "Scheduled" || delivery.status === "Discarded") continue;
      const event = isRecord(delivery.event_metadata) ? delivery.event_metadata : {};
      const metadata = isRecord(delivery.metadata) ? delivery.metadata : {};
      const type = textIn(delivery, "event_type") ?? String(event.event_type);
      const publisherId = textIn(delivery, "idempotency_key") || textIn(event, "idempotency_key") || null;
      const name = textIn(delivery, "event_id") ?? String(event.uid);
      yield* within({ event: name, type, publisherId, of: metadata.data ?? event.data }, delivery.created_at, since);
    }
  }
}

async function* ofOutpost(api: ForeignApi, { id, tenant }: Place, { since, until }: Span) {
  const query = {
    limit: PAGE,
    tenant_id: tenant,
    destination_id: id,
    include: "event.data",
    "time[gte]": iso(since),
    "time[lte]": iso(until),
  };
  const next = ({ pagination }: JsonRecord) => {
    const cursor = isRecord(pagination) ? textIn(pagination, "next") : null;
    return cursor === null || cursor === "" ? null : { next: cursor };
  };
  const once = new Once();
  for await (const page of api.eachPage("/attempts", query, next)) {
    for (const { event } of recordsIn(page.models)) {
      if (!isRecord(event) || !once.isFirst(String(event.id))) continue;
      const name = String(event.id);
      yield* within({ event: name, type: String(event.topic), publisherId: name, of: event.data }, event.time, since);
    }
  }
}

interface Read extends Pick<Sent, "event" | "type" | "publisherId"> {
  readonly of: unknown;
}

/** A retry within the span may be of an older event. */
function* within({ of, ...read }: Read, time: unknown, since: number): Generator<Sent, void, undefined> {
  const at = typeof time === "string" ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(at) || at >= since)
    yield { ...read, payload: of === undefined ? null : payloadHash(of), at: Number.isNaN(at) ? since : at };
}

/** Tells the first attempt of an event from the others. */
class Once {
  readonly #seen = new Set<string>();

  isFirst(event: string): boolean {
    const { size } = this.#seen;
    return this.#seen.add(event).size > size;
  }
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
