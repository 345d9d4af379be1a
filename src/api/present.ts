/** Answers as callers see them: `interface.md` §7. */
import type { Endpoint, EndpointHealth } from "../domain/endpoint.ts";
import type { ApiKey } from "../domain/key.ts";
import type { Attempt, DeliveryView, EventSummary, EventView, Page } from "../store/store.ts";
import { formatInstant, formatInstantOrNull } from "./instant.ts";

const MASKED = "***";
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

export function presentEndpoint(endpoint: Endpoint) {
  return {
    id: endpoint.id,
    tenant: endpoint.tenant,
    uid: endpoint.uid,
    url: endpoint.url,
    events: endpoint.events,
    description: endpoint.description,
    enabled: endpoint.enabled,
    disabled_reason: endpoint.disabledReason,
    when_disabled: endpoint.whenDisabled,
    headers: Object.fromEntries(endpoint.headerNames.map((name) => [name, MASKED])),
    rate_per_second: endpoint.ratePerSecond,
    max_in_flight: endpoint.maxInFlight,
    metadata: endpoint.metadata,
    secret_switches_at: formatInstantOrNull(endpoint.secretSwitchesAt),
    damaged: endpoint.damaged,
    created_at: formatInstant(endpoint.createdAt),
    updated_at: formatInstant(endpoint.updatedAt),
  };
}

export function presentHealth(health: EndpointHealth) {
  return {
    last_success_at: formatInstantOrNull(health.lastSuccessAt),
    last_failure_at: formatInstantOrNull(health.lastFailureAt),
    consecutive_failures: health.consecutiveFailures,
    pending: health.pending,
    held: health.held,
    failed: health.failed,
  };
}

export interface EventParts {
  readonly data: boolean;
  readonly deliveries: boolean;
}

/** A JSON text, because `data` has to come out as the bytes it came in as: a round trip would change numbers. */
export function eventText(event: EventSummary | EventView, include: EventParts, more: object = {}): string {
  const members = [
    JSON.stringify({
      id: event.id,
      type: event.type,
      created_at: formatInstant(event.createdAt),
      received_at: formatInstant(event.receivedAt),
      tenant: event.tenant,
      test: event.test,
      status: event.status,
    }).slice(1, -1),
  ];
  if ("data" in event && include.data) members.push(`"data":${event.data === null ? "null" : utf8.decode(event.data)}`);
  if ("deliveries" in event && include.deliveries) {
    const isCut = event.deliveryCount > event.deliveries.length;
    members.push(
      `"deliveries":${JSON.stringify(event.deliveries.map(presentOwed))}`,
      `"delivery_count":${event.deliveryCount}`,
      `"more_deliveries":${isCut ? `"/v1/webhooks/deliveries?event=${event.id}"` : "null"}`,
    );
  }
  const rest = JSON.stringify(more).slice(1, -1);
  if (rest !== "") members.push(rest);
  return `{${members.join(",")}}`;
}

export function presentDelivery(delivery: DeliveryView) {
  const { id, ...owed } = presentOwed(delivery);
  return {
    id,
    event: delivery.event,
    type: delivery.type,
    received_at: formatInstant(delivery.receivedAt),
    tenant: delivery.tenant,
    test: delivery.test,
    round: delivery.round,
    retry: delivery.retry,
    ...owed,
  };
}

/** Inside its event, which says the rest. */
function presentOwed(delivery: DeliveryView) {
  return {
    id: delivery.id,
    endpoint: delivery.endpoint,
    status: delivery.status,
    attempts: delivery.attempts,
    next_attempt_at: formatInstantOrNull(delivery.nextAttemptAt),
    last_attempt: delivery.lastAttempt === null ? null : presentAttempt(delivery.lastAttempt),
  };
}

export function presentAttempt(attempt: Attempt) {
  const { phases } = attempt;
  return {
    id: attempt.id,
    event: attempt.event,
    delivery: attempt.delivery,
    endpoint: attempt.endpoint,
    url: attempt.url,
    number: attempt.number,
    trigger: attempt.trigger,
    started_at: formatInstant(attempt.startedAt),
    duration_ms: attempt.durationMs,
    round: attempt.round,
    retry: attempt.retry,
    outcome: attempt.outcome,
    status_code: attempt.statusCode,
    error: attempt.error,
    body_error: attempt.bodyError,
    detail: attempt.detail,
    remote_address: attempt.remoteAddress,
    secret: attempt.secret,
    phases: {
      dns_ms: phases.dnsMs,
      connect_ms: phases.connectMs,
      tls_ms: phases.tlsMs,
      first_byte_ms: phases.firstByteMs,
    },
    response_headers: attempt.responseHeaders,
    // A receiver may answer in any encoding, or none.
    response_body: utf8.decode(attempt.responseBody),
    response_truncated: attempt.responseTruncated,
  };
}

export function presentKey(key: Omit<ApiKey, "hash">) {
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes,
    tenant: key.tenant,
    created_at: formatInstant(key.createdAt),
    expires_at: formatInstantOrNull(key.expiresAt),
    last_used_at: formatInstantOrNull(key.lastUsedAt),
    revoked_at: formatInstantOrNull(key.revokedAt),
  };
}

/** `{data, next_cursor}` of items that are JSON texts already. */
export function pageText(items: readonly string[], page: Pick<Page<unknown>, "nextCursor">): string {
  return `{"data":[${items.join(",")}],"next_cursor":${JSON.stringify(page.nextCursor)}}`;
}
