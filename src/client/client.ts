/** A client of the daemon's HTTP API. Strings in its results are outside text. */
import { type Answers, type Page, OPERATIONS, type OperationName } from "./operations.ts";
import { nameOf, type Target, exchange, type Named } from "./exchange.ts";
import { nearest } from "../domain/nearest.ts";
import { ClientError } from "./error.ts";
import { openStream, type StreamMessage, type StreamOptions } from "./stream.ts";

export { ClientError, type ClientFailure } from "./error.ts";
export type { Target } from "./exchange.ts";

export interface Client {
  /** The daemon's name in messages: its URL, or the path of its socket. */
  readonly target: string;
  /** Throws a `ClientError` if the daemon refuses the request or cannot be reached. */
  call<O extends keyof Answers>(operation: O, ask?: Ask): Promise<Answers[O]>;
  /** Like `call`, with the `ETag` of the answer, which a change can send back as `ifMatch`. */
  callWithEtag<O extends keyof Answers>(operation: O, ask?: Ask): Promise<WithEtag<Answers[O]>>;
  /** Resolves to the text of the response, for responses that are not JSON, or whose bytes matter. */
  text(operation: OperationName, ask?: Ask): Promise<string>;
  /** Yields the items of a list, page after page, to its end. */
  every<O extends Listing>(operation: O, ask?: Ask): AsyncGenerator<Item<O>, void, undefined>;
  /**
   * Yields the changes from now on, over one connection. Ends when the daemon ends it; throws if the connection breaks.
   */
  changes(options: StreamOptions): AsyncGenerator<StreamMessage, void, undefined>;
}

export interface WithEtag<T> {
  readonly value: T;
  /** Null if the answer has none. */
  readonly etag: string | null;
}

export interface Ask {
  /** Replaces `{id}` in the path. */
  readonly id?: string;
  /** Undefined values are left out. */
  readonly query?: Query;
  /** Text must be JSON, and is sent unchanged. */
  readonly body?: object | string;
  readonly idempotencyKey?: string;
  /** The `ETag` that was read: changes nothing if somebody has changed the object since. */
  readonly ifMatch?: string;
  /** `*`: only if there is no such object yet. */
  readonly ifNoneMatch?: "*";
  /** Overrides the client's own time limit. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export type Listing = { [O in keyof Answers]: Answers[O] extends Page<unknown> ? O : never }[keyof Answers];
export type Item<O extends Listing> = Answers[O] extends Page<infer T> ? T : never;

export interface ClientOptions {
  readonly version: string;
  /** The limit from sending a request to the end of its response. */
  readonly timeoutMs?: number;
  /** Leaves connections open for the next request, which then takes half the time. */
  readonly keepAlive?: boolean;
}

const TIMEOUT_MS = 10_000;
const PAGE = 100;

export function createClient(target: Target, options: ClientOptions): Client {
  const { version, timeoutMs = TIMEOUT_MS, keepAlive = false } = options;
  const request = async (operation: OperationName, json: boolean, ask: Ask = {}) => {
    const { method, path } = locate(operation, ask);
    const { id, body, idempotencyKey, ifMatch, ifNoneMatch, signal } = ask;
    return exchange(target, {
      method,
      path,
      body: typeof body === "object" ? JSON.stringify(body) : body,
      idempotencyKey,
      ifMatch,
      ifNoneMatch,
      version,
      timeoutMs: ask.timeoutMs ?? timeoutMs,
      signal,
      keepAlive,
      json,
      what: id === undefined ? undefined : named(operation, id),
    });
  };
  const callWithEtag: Client["callWithEtag"] = async (operation, asked) => {
    const { text, etag } = await request(operation, true, asked);
    return { value: (text === "" ? null : JSON.parse(text)) as Answers[typeof operation], etag };
  };
  const call: Client["call"] = async (operation, asked) => (await callWithEtag(operation, asked)).value;
  return {
    target: nameOf(target),
    call,
    callWithEtag,
    text: async (operation, ask) => (await request(operation, false, ask)).text,
    async *every<O extends Listing>(operation: O, ask: Ask = {}) {
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = (await call(operation, { ...ask, query: { limit: PAGE, ...ask.query, cursor } })) as Page<Item<O>>;
        yield* page.data;
        cursor = page.next_cursor ?? null;
      }
    },
    changes(options) {
      const { path } = locate("streamChanges", { query: options.query ?? {} });
      return openStream(target, { ...options, version, path });
    },
  };
}

function locate(operation: OperationName, { id, query = {} }: Pick<Ask, "id" | "query">) {
  if (!Object.hasOwn(OPERATIONS, operation)) throw unknownOperation(operation);
  const [method, template] = OPERATIONS[operation].split(" ") as [string, string];
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  const path = template.replace("{id}", () => encodeURIComponent(id ?? ""));
  return { method, path: search.size === 0 ? path : `${path}?${search.toString()}` };
}

/** A program in JavaScript has no types that would notice. */
function unknownOperation(name: string): ClientError {
  const near = nearest(String(name), Object.keys(OPERATIONS));
  const hint = near === null ? "GET /openapi.json of the daemon names all of them." : `Did you mean ${near}?`;
  return new ClientError("usage", "unknown_operation", `there is no operation "${String(name)}"`, hint);
}

/** Returns the kind of object that an operation's `{id}` names, for messages. */
function named(operation: OperationName, id: string): Named {
  const [, plural = "endpoints"] =
    /^\S+ \/v1\/(?:webhooks\/)?(?!webhooks\/)([a-z-]+s)\//.exec(OPERATIONS[operation]) ?? [];
  if (plural === "event-types") return { id, name: `event type ${id}`, list: "webhookd types list" };
  if (plural === "outboxes") return { id, name: `outbox ${id}`, list: "webhookd outbox status" };
  const noun = plural === "deliveries" ? "delivery" : plural.slice(0, -1);
  // Attempts are listed by their event.
  const list = plural === "attempts" ? "webhookd attempts list evt_…" : `webhookd ${plural} list`;
  return { id, name: `${noun} ${id}`, list };
}
