/**
 * Writes the line and the headers of a request. Whatever differs from attempt to attempt is described, and not made up.
 */
import type { Attempt, Delivery, Endpoint } from "../../client/operations.ts";
import { formatNamed, sentOwnHeaders } from "../../domain/endpoints/body-format.ts";
import { setsAuthorization } from "../../domain/endpoints/authorization.ts";
import { needsPrivateKey } from "../../domain/endpoints/endpoint.ts";
import type { SentBody } from "./envelope.ts";
import { t } from "../language/text.ts";

/** The names of the headers that are the endpoint's own, or of its auth. Their values are never shown. */
export function ownHeadersOf(endpoint: Endpoint | undefined): readonly string[] {
  if (endpoint === undefined) return [];
  const own = sentOwnHeaders(formatNamed(endpoint.format), Object.keys(endpoint.headers));
  return setsAuthorization(endpoint.auth ?? null) ? [...own, "authorization"] : own;
}

interface Sent {
  readonly delivery: Delivery;
  readonly endpoint: Endpoint | undefined;
  readonly sent: SentBody;
  /** The latest attempt. Undefined if there was none. */
  readonly attempt: Attempt | undefined;
  /** The name of the header with the signature of the body. */
  readonly header: string;
  /** True if every endpoint gets the headers of Standard Webhooks. */
  readonly isStandard: boolean;
}

export function headOf({ delivery, endpoint, sent, attempt, header, isStandard }: Sent): string {
  const url = attempt?.url ?? endpoint?.url ?? "";
  const hasStandard = isStandard || (endpoint !== undefined && needsPrivateKey(endpoint));
  return [
    `POST ${url}`,
    `content-type: ${sent.contentType}`,
    `${header}: (${t("head.signature")})`,
    ...(hasStandard
      ? [
          `webhook-id: ${delivery.event}`,
          `webhook-timestamp: (${t("head.timestamp")})`,
          `webhook-signature: (${t("head.standard")})`,
        ]
      : []),
    ...sent.headers.map(([name, value]) => `${name}: ${value}`),
    `x-webhookd-delivery: ${delivery.id}`,
    `x-webhookd-attempt: ${attempt?.number ?? `(${t("head.number")})`}`,
    ...(delivery.sequence ? [`webhook-sequence: ${delivery.sequence}`] : []),
    ...(delivery.test ? ["x-webhookd-test: 1"] : []),
    ...ownHeadersOf(endpoint).map((name) => `${name}: (${t("head.own")})`),
  ].join("\n");
}
