/**
 * What a route needs and what callers are told about it, as data, so that one pipeline checks every request in the same
 * order.
 *
 * To add one: its rules and `handle` in `routes.ts` of its resource; its `operation`, the schema that reads its body and
 * the shapes of its answers in `schemas.ts` beside it, or all in one file where they are few; parameters from query.ts. `/openapi.json` and `/docs` follow by
 * themselves; `test/api/openapi/walk.test.ts` asks for requests that reach what it says, and
 * `vitest run test/api/openapi/published.test.ts --update` writes the addition to `docs/openapi.json`.
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

/** Every route that writes something, if only a row of the audit log. */
interface Changing {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** What an allowed caller in a loop adds to the disk; `test/api/pipeline/growth.test.ts` measures it. */
  readonly growth: Growth;
  /**
   * What a call of it is in the audit log. Every route has one that changes something or shows a secret, except for
   * publishes. Its object is the `:id` of the path, else the id at the end of the answer's `location`.
   */
  readonly audit?: AuditAction;
}

/**
 * - `folds`: an entry of the audit log, in which repeated calls are counted (domain/audit-fold.ts).
 * - `grows`: at most so many bytes a call, beside what its body holds, for each delivery that it makes, and for a row
 *   under its idempotency key; `kept` says how long, by its setting.
 */
export type Growth = "folds" | { readonly grows: number; readonly kept: string };

interface Rules {
  /** In h3's notation: `/v1/webhooks/:id`. */
  readonly path: string;
  /** The scope a key must have; `any` takes every key, `open` asks for none at all. */
  readonly access: Scope | "any" | "open";
  /** How a key that is for some endpoints only may use it: reach.ts. Absent: not at all. */
  readonly reach?: Reach;
  /** The query parameters it takes; any other is refused. `any`: what there is in it is not looked at. */
  readonly query?: readonly Parameter[] | "any";
  /** Absent: the route takes no body. */
  readonly body?: BodyRule;
  readonly operation: Operation;
  /**
   * How a POST whose Idempotency-Key was answered before is answered again, from what its verb remembered (the `once`
   * made of `call.request`). Absent: the first answer is kept and given again, so it may hold neither a secret nor an
   * event's data. "itself": `handle` sees to it.
   */
  readonly again?: "itself" | ((call: Call, remembered: string) => Reply | Promise<Reply>);
  handle(call: Call): Reply | Promise<Reply>;
}

/**
 * How a route is about endpoints, for a key that is for some of them only (reach.ts).
 *
 * - `endpoint`, `delivery`, `attempt`, `event`, `job`: the `:id` of the path is one.
 * - `filter`: `?endpoint=` must be one of the key's; a key for one endpoint need not name it.
 * - `own`: the handler shows what is the key's alone; an `?endpoint=` must be one of them.
 * - `all`: nothing in it is about an endpoint.
 */
export type Reach = "endpoint" | "delivery" | "attempt" | "event" | "job" | "filter" | "own" | "all";

export interface BodyRule {
  readonly maxBytes: number;
  /** What the handler reads the body by. */
  readonly schema?: v.GenericSchema;
  /** Whether the body may be left out. */
  readonly optional?: boolean;
  /** Whether it counts against `[limits]`: what is published is held in memory until it is durable. */
  readonly metered?: boolean;
  /** Media types it takes; `application/json` alone if absent. */
  readonly types?: readonly string[];
}

/** A request that passed every check which needs no knowledge of the route's noun. */
export interface Call {
  readonly principal: Principal;
  /** As received, perhaps with a slash at its end. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: ReadonlyMap<string, string>;
  /** By their names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** As received; empty when there was none. */
  readonly body: Uint8Array;
  /** Epoch milliseconds at which the request was read. */
  readonly now: number;
  /** The body's media type, in lower case; "" without a body. */
  readonly type: string;
  /** Given with an Idempotency-Key, for verbs that do what they do once. */
  readonly request?: KeyedRequest;
  /** The key alone, where the route sees to it `itself`. */
  readonly idempotencyKey?: string;
  /**
   * Counts what is published against the rates of the key and of its tenant; throws when the tenant has used up its own.
   * To be called before `body`, or a view of it, is given to anybody else: until then a refusal frees its memory.
   */
  carries(drafts: readonly { readonly tenant: string }[]): void;
  /** For work on so many bytes of the body: null when it may be done at once, else resolves when it is its turn. */
  turn(bytes: number): Promise<void> | null;
  /** Takes one of the streams that there may be, until `leave` is called on what it answers; throws when there is none. */
  stream(): { leave(): void };
  /** Where the caller reached us, as `https://hooks.example.com`; null over the unix socket, and where it did not say. */
  origin(): string | null;
  /** Tells the audit log the id of what the path names otherwise. */
  isAbout(id: string): void;
  /** Calls `run`, never at once, when the client is gone; what it answers takes that back. For answers that are waited for. */
  whenGone(run: () => void): () => void;
}

/** What callers are told about a route. Answering a request never looks at it; tests hold real answers against it. */
export interface Operation {
  /** In camel case and stable for ever: generated clients name their functions after it. */
  readonly id: string;
  readonly tag: Tag;
  /** One line, imperative, without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** What the path's parameters hold: the prefix of an id, `{ id: "ep" }`; "" for what is none. */
  readonly params?: Readonly<Record<string, string>>;
  /** What a request may say in headers, by name; `Idempotency-Key` on every POST needs no mention. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A body that is taken as it stands. */
  readonly example?: unknown;
  /** Where `application/x-ndjson` is taken too: one line of it. */
  readonly line?: unknown;
  /** By status. */
  readonly replies: Readonly<Record<number, ReplyShape>>;
  /** Beyond what follows from the route's rules, which openapi/responses.ts adds: `unauthorized`, `invalid_query` and the like. */
  readonly problems?: readonly ErrorCode[];
}

export interface ReplyShape {
  readonly description: string;
  /** Absent: there is no body. */
  readonly schema?: v.GenericSchema;
  readonly example?: unknown;
  /** `application/json` unless said otherwise. */
  readonly type?: string;
  readonly headers?: readonly ReplyHeader[];
}

export type ReplyHeader = "location" | "link" | "etag";

/** Of operations that answer a `Representation`. */
export const IF_NONE_MATCH = {
  "If-None-Match": "The `ETag` that you have: if it is still the same, the answer is 304 without a body.",
};
export const UNCHANGED: ReplyShape = {
  description: "It is still what your `If-None-Match` names.",
  headers: ["etag"],
};

/** The chapters of the description, in this order. */
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
  /** What it is called in metrics. */
  readonly name: string;
  /** The query parameters it takes; null: any, and none is looked at. */
  readonly parameters: readonly string[] | null;
}

/** What is served at one path. */
export interface Resource {
  readonly methods: Map<string, Served>;
  /** Whether it asks for no key. */
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
