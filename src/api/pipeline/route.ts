/**
 * Routes as data: the rules by which one pipeline checks every request in the same order, and the description for
 * callers.
 *
 * To add a route, write its rules and `handle` in `routes.ts` of its resource. Its `operation` and the schemas of its
 * body and answers belong in `schemas.ts` beside it, or in the same file if they are few. Parameters come from
 * query.ts. `/openapi.json` and `/docs` then include the route automatically. `test/api/openapi/walk.test.ts` then
 * demands a request for each described answer, and `vitest run test/api/openapi/published.test.ts --update` adds the
 * route to `docs/openapi.json`.
 */
import type { IncomingHttpHeaders } from "node:http";
import type * as v from "valibot";
import type { AuditAction } from "../../domain/caller.ts";
import type { ErrorCode } from "../../domain/errors.ts";
import type { KeyedRequest } from "../../domain/events/idempotency.ts";
import type { Scope } from "../../domain/caller.ts";
import type { Principal } from "./access.ts";
import type { Parameter } from "./query.ts";
import type { Reply } from "./reply.ts";

export type Route = Rules & (Reading | Changing);

interface Reading {
  readonly method: "GET";
  readonly audit?: undefined;
  readonly growth?: undefined;
}

/** The rules of every route that writes something, even if only a row of the audit log. */
interface Changing {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /**
   * The disk space that an allowed caller uses up by repeating the call. `test/api/pipeline/growth.test.ts` measures
   * it.
   */
  readonly growth: Growth;
  /**
   * The action in the audit log. Every route that changes something or shows a secret has one, except publishes. The
   * object of the entry is the `:id` of the path, or the id at the end of the answer's `location`.
   */
  readonly audit?: AuditAction;
}

/**
 * The disk space that calls may use up.
 * - `folds`: only an entry of the audit log, in which repeated calls are counted (domain/audit-fold.ts).
 * - `grows`: the most bytes per call beyond the body, for each delivery it creates and for the row of its idempotency
 *   key. `kept` names the setting that limits how long they are kept.
 */
export type Growth = "folds" | { readonly grows: number; readonly kept: string };

interface Rules {
  /** The path in h3's notation: `/v1/webhooks/:id`. */
  readonly path: string;
  /** The scope that a key must have. `any` accepts every key, `open` needs none. */
  readonly access: Scope | "any" | "open";
  /** Says how a key for only some endpoints may use the route (reach.ts). If absent, it may not. */
  readonly reach?: Reach;
  /** The query parameters; others are refused. `any` ignores the query. */
  readonly query?: readonly Parameter[] | "any";
  /** Absent if the route takes no body. */
  readonly body?: BodyRule;
  readonly operation: Operation;
  /**
   * Answers a repeat of a POST with the same Idempotency-Key, from the text that its operation remembered (the `once`
   * made of `call.request`). If absent, the first answer is stored and sent again, so it must not contain a secret or
   * an event's data. With "itself", `handle` takes care of repeats.
   */
  readonly again?: "itself" | ((call: Call, remembered: string) => Reply | Promise<Reply>);
  handle(call: Call): Reply | Promise<Reply>;
}

/**
 * Says how a route relates to endpoints, for keys that are for some of them only (reach.ts).
 *
 * - `endpoint`, `delivery`, `attempt`, `event`, `job`: the `:id` of the path is one of these.
 * - `filter`: `?endpoint=` must be one of the key's endpoints; a key for one endpoint need not name it.
 * - `own`: the handler shows only what the key may see; an `?endpoint=` must be one of the key's endpoints.
 * - `all`: nothing in the answer is about an endpoint.
 */
export type Reach = "endpoint" | "delivery" | "attempt" | "event" | "job" | "filter" | "own" | "all";

export interface BodyRule {
  readonly maxBytes: number;
  /** The schema that the handler reads the body with. */
  readonly schema?: v.GenericSchema;
  /** True if the body may be left out. */
  readonly optional?: boolean;
  /** True if the body counts against `[limits]`, because a published body stays in memory until it is durable. */
  readonly metered?: boolean;
  /** The accepted media types. Only `application/json` if absent. */
  readonly types?: readonly string[];
}

/** A request that passed all checks that do not depend on the route's resource. */
export interface Call {
  readonly principal: Principal;
  /** The path as received, possibly with a trailing slash. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: ReadonlyMap<string, string>;
  /** The headers, with names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The body as received. Empty if there was none. */
  readonly body: Uint8Array;
  /** Epoch milliseconds at which the request was read. */
  readonly now: number;
  /** The body's media type, in lower case. "" without a body. */
  readonly type: string;
  /** Present if the request has an Idempotency-Key, for operations that run only once. */
  readonly request?: KeyedRequest;
  /** The bare idempotency key, for routes with `again: "itself"`. */
  readonly idempotencyKey?: string;
  /**
   * Counts the events of a publish against the rates of the key and its tenant. Throws if the tenant has used up its
   * rate. Must be called before anyone else gets `body` or a view of it, because a refusal until then frees its memory.
   */
  carries(drafts: readonly { readonly tenant: string }[]): void;
  /** Waits for a turn to work on this many bytes of the body. Null means at once. */
  turn(bytes: number): Promise<void> | null;
  /** Does long work, whose pieces take about a millisecond each. */
  readonly inPieces: <T>(pieces: Generator<void, T>) => Promise<T>;
  /** Takes one of the limited streams until `leave` is called on the result. Throws if none is free. */
  stream(): { leave(): void };
  /**
   * The origin at which the caller reached us, such as `https://hooks.example.com`. Null over the unix socket, and if
   * the request does not name it.
   */
  origin(): string | null;
  /** Sets the id in the audit entry, if the path names the object in another form. */
  isAbout(id: string): void;
  /**
   * Calls `run`, never synchronously, when the client is gone. The returned function cancels the call. For answers that
   * take long.
   */
  whenGone(run: () => void): () => void;
}

/** The description of a route. Requests are handled without it, and tests compare real answers with it. */
export interface Operation {
  /** In camel case, and never changed: generated clients name their functions after it. */
  readonly id: string;
  readonly tag: Tag;
  /** One line in the imperative, without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** The id prefix of each path parameter, `{ id: "ep" }`, or "" if it is not an id. */
  readonly params?: Readonly<Record<string, string>>;
  /** True if the route creates the object that the path names, so that the answer is never `not_found`. */
  readonly adds?: boolean;
  /** Descriptions of request headers by name. `Idempotency-Key` on POST is described automatically. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A valid body. */
  readonly example?: unknown;
  /** True if it answers with a page or a script for browsers, which no client needs. The description leaves it out. */
  readonly isPage?: true;
  /** The replies by status. */
  readonly replies: Readonly<Record<number, ReplyShape>>;
  /**
   * Further problem codes. openapi/responses.ts adds the ones that follow from the route's rules, such as
   * `unauthorized` or `invalid_query`.
   */
  readonly problems?: readonly ErrorCode[];
}

export interface ReplyShape {
  readonly description: string;
  /** Absent if there is no body. */
  readonly schema?: v.GenericSchema;
  readonly example?: unknown;
  /** `application/json` if absent. */
  readonly type?: string;
  readonly headers?: readonly ReplyHeader[];
}

export type ReplyHeader = "location" | "link" | "etag" | "deprecation" | "sunset";

/** The header parameter of operations that answer with a `Representation`. */
export const IF_NONE_MATCH = {
  "If-None-Match": "The `ETag` that you have: if it is still the same, the answer is 304 without a body.",
};
export const UNCHANGED: ReplyShape = {
  description: "It is still what your `If-None-Match` names.",
  headers: ["etag"],
};

/** The sections of the description, in this order. */
export const TAGS = {
  Endpoints: "Where events go: the registered URLs, their event types, and how requests are made to them.",
  Publishing: "Publishing events. Once a publish request is answered with 202, its events are durable.",
  Events: "What was published, what became of it, and replaying it.",
  Deliveries: "One event owed to one endpoint, and the attempts made for it.",
  Jobs: "Acting on many deliveries: the set is fixed first, then worked through at a steady pace.",
  Keys: "API keys: each has scopes, a tenant and perhaps an expiry. The key itself is shown only once.",
  Daemon: "The process itself.",
} as const;

export type Tag = keyof typeof TAGS;

export interface Served {
  readonly route: Route;
  /** The route's name in metrics. */
  readonly name: string;
  /** The names of the query parameters. Null ignores the query. */
  readonly parameters: readonly string[] | null;
}

/** Everything served at one path. */
export interface Resource {
  readonly methods: Map<string, Served>;
  /** True if it needs no key. */
  readonly isOpen: boolean;
}

export function byPath(routes: readonly Route[]): Map<string, Resource> {
  const resources = new Map<string, Resource>();
  for (const route of routes) {
    const { method, path, access, query = [] } = route;
    const parameters = query === "any" ? null : query.map(({ name }) => name);
    let resource = resources.get(path);
    if (resource === undefined) resources.set(path, (resource = { methods: new Map(), isOpen: access === "open" }));
    resource.methods.set(method, { route, name: `${method} ${path}`, parameters });
  }
  return resources;
}
