/** Describes the requests that receivers get and the answers they must give: `docs/interface.md` §4. */
import { printDuration } from "../../config/units.ts";
import { SIGNED_HEADERS } from "../../domain/endpoints/secret.ts";
import type { EventType } from "../../domain/events/event-type.ts";
import { idPattern } from "../../domain/id.ts";
import { listed } from "../../domain/wording.ts";
import type { JsonObject } from "./json-schema.ts";

const EVENT = "evt_06fbqxw6v8s2d4f6g8h0j2k4m6";

export interface Signature {
  /** The name of the header with the body's signature. */
  readonly header: string;
  readonly standardWebhooks: boolean;
}

/** The delays of the ladder and the time limit of an attempt, in milliseconds. */
export interface Retries {
  readonly delays: readonly number[];
  readonly timeout: number;
}

/** Describes one webhook for each event type. `parameters` are components. */
export function webhooks(types: Iterable<EventType>, parameters: JsonObject): JsonObject {
  const refs = Object.keys(parameters).map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return Object.fromEntries([...types].map((type) => [type.name, { post: delivery(type, refs) }]));
}

function delivery({ name, description, source, schema, sample }: EventType, parameters: JsonObject[]): JsonObject {
  const made =
    source === "example" ? " The shape of `data` is an example: the publisher decides what it contains." : "";
  // The `$id` makes the schema a resource of its own, so that its references stay inside it.
  const data = { $id: `urn:webhookd:data:${name}`, ...schema };
  return {
    operationId: `receive.${name}`,
    tags: ["Receivers"],
    summary: description,
    description: `Sent to the endpoints that chose \`${name}\`.${made}`,
    security: [],
    parameters,
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: {
            allOf: [
              { $ref: "#/components/schemas/Envelope" },
              { type: "object", properties: { type: { const: name }, data }, required: ["type", "data"] },
            ],
          },
          example: { id: EVENT, type: name, created_at: "2026-11-20T09:55:00.123Z", data: sample },
        },
      },
    },
    responses: {
      "2XX": { $ref: "#/components/responses/accepted" },
      default: { $ref: "#/components/responses/not_accepted" },
    },
  };
}

/** Describes the consequence of each answer of a receiver, with the delays of this daemon, as components. */
export function receivedAnswers({ delays, timeout }: Retries): JsonObject {
  const again =
    delays.length === 0
      ? "It is not sent again."
      : `The same bytes are sent again after ${listed(delays.map(printDuration), "and")}.`;
  return {
    accepted: {
      description: `Accepted. Answer within ${printDuration(timeout)}, before you process the event. The response body is not used.`,
    },
    not_accepted: {
      description: `Any other status is a failure, including a redirect (which is not followed) and no answer within ${printDuration(timeout)}. ${again}`,
    },
  };
}

/** The body of every delivery. Its four keys never change. */
export const ENVELOPE: JsonObject = {
  type: "object",
  description:
    "Compact JSON with its keys in this order; nothing inside `data` is altered. This is the `format` `envelope`; an endpoint may ask for a CloudEvent or the data alone.",
  properties: {
    id: { type: "string", pattern: idPattern("evt").source, description: "The same on every attempt." },
    type: { type: "string" },
    created_at: { type: "string", format: "date-time" },
    data: { type: "object" },
  },
  required: ["id", "type", "created_at", "data"],
};

/** The headers of every delivery, as components. */
export function receivedHeaders({ header, standardWebhooks }: Signature): JsonObject {
  const signature = given(
    header,
    `${SIGNED_HEADERS.map(({ body }) => body).join(" ")} Verify it before parsing, in constant time. During a rotation it is ` +
      "made with the current secret.",
    { type: "string", pattern: SIGNED_HEADERS.map(({ pattern }) => `^${pattern}$`).join("|") },
    "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
  );
  const standard = {
    "webhook-id": given(
      "webhook-id",
      "The event's id. Keep it, because an event may arrive more than once.",
      { type: "string" },
      EVENT,
    ),
    "webhook-timestamp": given(
      "webhook-timestamp",
      "When the attempt was made, in seconds since the epoch.",
      { type: "integer" },
      1795168000,
    ),
    "webhook-signature": given(
      "webhook-signature",
      `Standard Webhooks: ${SIGNED_HEADERS.map(({ standard }) => standard).join(" ")} During a rotation there are two, ` +
        "separated by a space.",
      { type: "string" },
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    ),
  };
  return {
    signature,
    ...(standardWebhooks && standard),
    "x-webhookd-delivery": given(
      "x-webhookd-delivery",
      "The delivery's id.",
      { type: "string" },
      "dlv_06fbqxw6v8s2d4f6g8h0j2k4n0",
    ),
    "x-webhookd-attempt": given(
      "x-webhookd-attempt",
      "The number of this attempt, from 1.",
      { type: "integer", minimum: 1 },
      1,
    ),
    "x-webhookd-test": sometimes("x-webhookd-test", "On test events only.", "1", { const: "1" }),
    traceparent: sometimes(
      "traceparent",
      "With `trace_context`.",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ),
    tracestate: sometimes("tracestate", "With `traceparent`.", "vendor=t61rcWkgMzE"),
  };
}

function sometimes(name: string, description: string, example: string, more: JsonObject = {}): JsonObject {
  return { ...given(name, description, { type: "string", ...more }, example), required: false };
}

function given(name: string, description: string, schema: JsonObject, example: unknown): JsonObject {
  return { name, in: "header", required: true, description, schema, example };
}
