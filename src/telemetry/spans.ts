/**
 * Writes the spans of an event, by OpenTelemetry's conventions for messaging and HTTP. The publish is the producer's
 * span; the wait for a turn and the attempt are its children, because an event is one message and its trace should show
 * all that became of it. They have no secrets: a URL is without its userinfo, query and fragment.
 */
import {
  type Attributes,
  createTraceState,
  type HrTime,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
} from "@opentelemetry/api";
import type { Resource } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_REQUEST_RESEND_COUNT,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_NETWORK_PEER_ADDRESS,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
  ATTR_URL_FULL,
} from "@opentelemetry/semantic-conventions";
import { readEnvelope, type EventDraft, type TraceContext } from "../domain/events/event.ts";
import { attemptSpanId, parentSpanIdOf, publishSpanId, traceIdOf, type Traced } from "../domain/events/tracing.ts";
import { receivedAt } from "../domain/id.ts";
import { portOf } from "../domain/network/url.ts";
import type { EndedAttempt, Publication } from "../store/store.ts";

/** The conventions for messaging are not stable yet, so their names are not among the package's stable ones. */
const MESSAGING = {
  system: "messaging.system",
  operation: "messaging.operation.name",
  operationType: "messaging.operation.type",
  destination: "messaging.destination.name",
  message: "messaging.message.id",
  bodySize: "messaging.message.body.size",
} as const;

/** The parts that all spans of a daemon have in common. */
export interface Origin {
  readonly resource: Resource;
  readonly instrumentationScope: { readonly name: string; readonly version: string };
}

export function publishSpan(
  origin: Origin,
  { id: event, type, deliveries }: Publication,
  { tenant, data, trace }: Pick<EventDraft, "tenant" | "data" | "trace">,
  [from, to]: readonly [from: number, to: number],
): ReadableSpan {
  const traced = { event, trace };
  return span(origin, traced, {
    id: publishSpanId(traced),
    parent: parentSpanIdOf(traced),
    name: `publish ${type}`,
    kind: SpanKind.PRODUCER,
    from,
    to,
    attributes: {
      ...messageOf(event, type, "publish", "send"),
      [MESSAGING.bodySize]: data.length,
      "webhookd.tenant": tenant,
      "webhookd.deliveries": deliveries,
    },
  });
}

/**
 * A first attempt waits from when its event was received, which includes a wait for another event in its order. Others
 * wait from when they are due. Returns null if the attempt waited for nothing.
 */
export function waitSpan(origin: Origin, { claim, startedAt }: EndedAttempt): ReadableSpan | null {
  const { event, delivery, endpoint, number, dueAt, body } = claim;
  const from = number === 1 ? receivedAt(event) : dueAt;
  if (!(from < startedAt)) return null;
  const { type } = readEnvelope(body, event);
  return span(origin, claim, {
    id: attemptSpanId(delivery, number, "wait"),
    parent: publishSpanId(claim),
    name: `wait ${type}`,
    kind: SpanKind.INTERNAL,
    from,
    to: startedAt,
    attributes: {
      [MESSAGING.message]: event,
      "webhookd.delivery.id": delivery,
      "webhookd.endpoint.id": endpoint,
      "webhookd.attempt.number": number,
    },
  });
}

/** `isWhole` is true if the span of the publish is recorded too. */
export function attemptSpan(
  origin: Origin,
  { claim, url, startedAt, outcome, verdict }: EndedAttempt,
  { tenant, isWhole }: { readonly tenant: string | null; readonly isWhole: boolean },
): ReadableSpan {
  const { event, delivery, endpoint, number, trigger, body } = claim;
  const { type } = readEnvelope(body, event);
  const { statusCode, error, remoteAddress, detail } = outcome;
  return span(origin, claim, {
    id: attemptSpanId(delivery, number),
    parent: isWhole ? publishSpanId(claim) : parentSpanIdOf(claim),
    name: "POST",
    kind: SpanKind.CLIENT,
    from: startedAt,
    to: startedAt + outcome.durationMs,
    failure: outcome.outcome === "succeeded" ? undefined : detail,
    attributes: {
      ...messageOf(event, type, "deliver", "process"),
      [ATTR_HTTP_REQUEST_METHOD]: "POST",
      ...placeOf(url),
      ...(statusCode !== null && { [ATTR_HTTP_RESPONSE_STATUS_CODE]: statusCode }),
      ...(error !== null && { [ATTR_ERROR_TYPE]: error === "http_status" ? String(statusCode) : error }),
      ...(number > 1 && { [ATTR_HTTP_REQUEST_RESEND_COUNT]: number - 1 }),
      ...(remoteAddress !== null && { [ATTR_NETWORK_PEER_ADDRESS]: remoteAddress }),
      ...(tenant !== null && { "webhookd.tenant": tenant }),
      "webhookd.delivery.id": delivery,
      "webhookd.delivery.status": verdict.status,
      "webhookd.endpoint.id": endpoint,
      "webhookd.attempt.number": number,
      "webhookd.attempt.trigger": trigger,
    },
  });
}

function messageOf(event: string, type: string, operation: string, operationType: "send" | "process"): Attributes {
  return {
    [MESSAGING.system]: "webhookd",
    [MESSAGING.operation]: operation,
    [MESSAGING.operationType]: operationType,
    [MESSAGING.destination]: type,
    [MESSAGING.message]: event,
  };
}

function placeOf(text: string): Attributes {
  const url = new URL(text);
  return {
    [ATTR_URL_FULL]: `${url.origin}${url.pathname}`,
    [ATTR_SERVER_ADDRESS]: url.hostname,
    [ATTR_SERVER_PORT]: portOf(url),
  };
}

interface Content extends Pick<ReadableSpan, "name" | "kind" | "attributes"> {
  readonly id: string;
  readonly parent: string | null;
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  /** The reason, if it failed. */
  readonly failure?: string | undefined;
}

function span(origin: Origin, traced: Traced, { id, parent, from, to, failure, ...content }: Content): ReadableSpan {
  const traceId = traceIdOf(traced);
  const context = contextOf(traceId, id, traced.trace);
  const end = Math.max(from, to);
  return {
    ...origin,
    ...content,
    spanContext: () => context,
    ...(parent !== null && { parentSpanContext: { ...contextOf(traceId, parent, undefined), isRemote: true } }),
    startTime: timeOf(from),
    endTime: timeOf(end),
    duration: timeOf(end - from),
    status: failure === undefined ? UNSET : { code: SpanStatusCode.ERROR, message: failure },
    ended: true,
    links: [],
    events: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

const UNSET = { code: SpanStatusCode.UNSET };

function contextOf(traceId: string, spanId: string, trace: TraceContext | undefined) {
  const state = trace?.tracestate ?? null;
  return {
    traceId,
    spanId,
    traceFlags: TraceFlags.SAMPLED,
    ...(state !== null && { traceState: createTraceState(state) }),
  };
}

function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
