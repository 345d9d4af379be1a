/** What one attempt puts on the wire. */
import type { Job } from "../../domain/delivery.ts";
import type { Target } from "../../domain/endpoint.ts";
import { signBody, signingKeys, signStandard, type SigningKeys } from "../../domain/signature.ts";
import type { TraceContext } from "../../domain/trace-context.ts";

/** A signed request, in the shape that undici's `dispatch` takes. undici adds host, connection and content-length. */
export interface SignedRequest {
  readonly method: "POST";
  readonly path: string;
  /** Names and values by turns, in the order and case of the wire. */
  readonly headers: string[];
  /** The signed bytes; content-length is taken from this same buffer. */
  readonly body: Uint8Array;
  /** A test's response is kept whole even when it succeeded. */
  readonly keepsAll: boolean;
}

export interface SignatureOptions {
  /** The name of the body signature's header, sent in exactly this case. */
  readonly header: string;
  readonly standardWebhooks: boolean;
  /** webhookd's version, for the user agent. */
  readonly version: string;
}

/** Signs for one endpoint. What does not change between attempts, the keys above all, is made once. */
export class Signer {
  readonly #path: string;
  readonly #keys: SigningKeys;
  readonly #nextKeys: SigningKeys | null;
  readonly #options: SignatureOptions;
  readonly #userAgent: string;
  readonly #ownHeaders: readonly string[];

  constructor(target: Target, options: SignatureOptions) {
    const { pathname, search } = new URL(target.url);
    this.#path = pathname + search;
    this.#keys = signingKeys(target.signingSecret);
    this.#nextKeys = target.nextSigningSecret === null ? null : signingKeys(target.nextSigningSecret);
    this.#options = options;
    this.#userAgent = `webhookd/${options.version}`;
    this.#ownHeaders = Object.entries(target.headers).flat();
  }

  /** @param nowSeconds the attempt's time, in whole seconds since the epoch */
  sign(job: Job, nowSeconds: number): SignedRequest {
    const { body } = job;
    const headers = [
      "content-type",
      "application/json",
      "user-agent",
      this.#userAgent,
      // Holds one value only, so during a rotation the current secret goes on signing it.
      this.#options.header,
      signBody(this.#keys.specified, body),
    ];
    if (this.#options.standardWebhooks) this.#signStandard(headers, job, nowSeconds);
    headers.push("x-webhookd-delivery", job.delivery, "x-webhookd-attempt", String(job.number));
    if (job.trigger === "test") headers.push("x-webhookd-test", "1");
    if (job.trace !== undefined) pushTrace(headers, job.trace);
    for (const part of this.#ownHeaders) headers.push(part);
    return { method: "POST", path: this.#path, headers, body, keepsAll: job.trigger === "test" };
  }

  /** Standard Webhooks 1.0.0: during a rotation both secrets sign, parted by a space. */
  #signStandard(headers: string[], job: Job, nowSeconds: number): void {
    let signatures = signStandard(this.#keys.standard, job.event, nowSeconds, job.body);
    if (this.#nextKeys !== null) {
      signatures += ` ${signStandard(this.#nextKeys.standard, job.event, nowSeconds, job.body)}`;
    }
    headers.push("webhook-id", job.event, "webhook-timestamp", String(nowSeconds), "webhook-signature", signatures);
  }
}

function pushTrace(headers: string[], { traceparent, tracestate }: TraceContext): void {
  headers.push("traceparent", traceparent);
  if (tracestate !== null) headers.push("tracestate", tracestate);
}
