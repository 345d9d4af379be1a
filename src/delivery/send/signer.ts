/** Builds the signed request of an attempt. */
import type { Send } from "../../domain/deliveries/delivery.ts";
import type { Target } from "../../domain/endpoints/endpoint.ts";
import { signingKey, type SigningKey } from "../../domain/endpoints/secret.ts";
import type { TraceContext } from "../../domain/events/event.ts";
import type { SignedRequest } from "../http/exchange.ts";

export interface SignatureOptions {
  /** The name of the body signature's header, sent in exactly this case. */
  readonly header: string;
  readonly standardWebhooks: boolean;
  /** webhookd's version, for the user agent. */
  readonly version: string;
}

/** Signs for one endpoint. It computes once what does not change between attempts, above all the key. */
export class Signer {
  readonly #path: string;
  readonly #key: SigningKey;
  readonly #nextKey: SigningKey | null;
  readonly #options: SignatureOptions;
  readonly #userAgent: string;
  readonly #ownHeaders: readonly string[];

  constructor(target: Target, options: SignatureOptions) {
    const { href, origin } = new URL(target.url);
    // Includes a question mark that nothing follows, which `search` would leave out.
    this.#path = href.slice(origin.length);
    this.#key = signingKey(target.signingSecret);
    this.#nextKey = target.nextSigningSecret === null ? null : signingKey(target.nextSigningSecret);
    this.#options = options;
    this.#userAgent = `webhookd/${options.version}`;
    this.#ownHeaders = Object.entries(target.headers).filter(isSendable).flat();
  }

  /** @param nowSeconds the attempt's time, in whole seconds since the epoch */
  sign(send: Send, nowSeconds: number): SignedRequest {
    const { body } = send;
    const headers = [
      "content-type",
      "application/json",
      "user-agent",
      this.#userAgent,
      // This header holds a single value, so the current secret signs it during a rotation.
      this.#options.header,
      this.#key.signBody(body),
    ];
    if (this.#options.standardWebhooks) this.#signStandard(headers, send, nowSeconds);
    headers.push("x-webhookd-delivery", send.delivery, "x-webhookd-attempt", String(send.number));
    if (send.trigger === "test") headers.push("x-webhookd-test", "1");
    if (send.trace !== undefined) pushTrace(headers, send.trace);
    for (const part of this.#ownHeaders) headers.push(part);
    return { method: "POST", path: this.#path, headers, body, keepsAll: send.trigger === "test" };
  }

  /** Standard Webhooks 1.0.0: during a rotation both secrets sign, and a space separates the signatures. */
  #signStandard(headers: string[], send: Send, nowSeconds: number): void {
    let signatures = this.#key.signStandard(send.event, nowSeconds, send.body);
    if (this.#nextKey !== null) {
      signatures += ` ${this.#nextKey.signStandard(send.event, nowSeconds, send.body)}`;
    }
    headers.push("webhook-id", send.event, "webhook-timestamp", String(nowSeconds), "webhook-signature", signatures);
  }
}

/**
 * The API accepts no other headers. Should another be stored all the same, it must not end one header and begin
 * another.
 */
function isSendable(header: [name: string, value: string]): boolean {
  return header.every((part) => !/[^\t\x20-\x7e]/.test(part));
}

function pushTrace(headers: string[], { traceparent, tracestate }: TraceContext): void {
  headers.push("traceparent", traceparent);
  if (tracestate !== null) headers.push("tracestate", tracestate);
}
