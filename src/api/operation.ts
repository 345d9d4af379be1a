/**
 * What callers are told about a route, as data beside its rules. openapi.ts publishes it; answering a request never
 * looks at it, and tests hold real answers against it.
 */
import type * as v from "valibot";
import type { ErrorCode } from "../domain/errors.ts";

export interface Operation {
  /** In camel case and stable for ever: generated clients name their functions after it. */
  readonly id: string;
  readonly tag: Tag;
  /** One line, imperative, without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** What the path's parameters hold: the prefix of an id, `{ id: "ep" }`. */
  readonly params?: Readonly<Record<string, string>>;
  /** What a request may say in headers, by name; `Idempotency-Key` on every POST needs no mention. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A body that is taken as it stands. */
  readonly example?: unknown;
  /** Where `application/x-ndjson` is taken too: one line of it. */
  readonly line?: unknown;
  /** By status. */
  readonly replies: Readonly<Record<number, ReplyShape>>;
  /** Beyond what follows from the route's rules, which openapi.ts adds: `unauthorized`, `invalid_query` and the like. */
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

/** The chapters of the description, in this order. */
export const TAGS = {
  Endpoints: "Where events go: registered URLs, the event types they chose and how they are called.",
  Publishing: "The way in for events. What is answered with 202 is durable.",
  Events: "What was published, what became of it, and sending it again.",
  Deliveries: "One event owed to one endpoint, and the attempts made for it.",
  Jobs: "Acting on many deliveries: a set that is written down first, and walked at a pace.",
  Keys: "API keys: a scope, a tenant and an optional expiry each. The key itself is shown once.",
  Daemon: "The process itself.",
} as const;

export type Tag = keyof typeof TAGS;
