/** Builds the signed request of an attempt. */
import type { Send } from "../../domain/deliveries/delivery.ts";
import {
  bodyIn,
  sentOwnHeaders,
  shapeOf,
  type BodyFormat,
  type BodyShape,
} from "../../domain/endpoints/body-format.ts";
import { AsymmetricSigningKey } from "../../domain/endpoints/asymmetric.ts";
import { fixedAuthorization } from "../../domain/endpoints/auth.ts";
import { setsAuthorization } from "../../domain/endpoints/authorization.ts";
import type { Target } from "../../domain/endpoints/endpoint.ts";
import {
  FurtherSigner,
  headerNames,
  isFor,
  type FurtherSignature,
  type SignatureFormat,
} from "../../domain/endpoints/further-signature.ts";
import { signingKey, type SigningKey } from "../../domain/endpoints/secret.ts";
import { readEnvelope, type TraceContext } from "../../domain/events/event.ts";
import { sentTrace } from "../../domain/events/tracing.ts";
import type { SignedRequest } from "../http/exchange.ts";

export interface SignatureOptions {
  /** The name of the body signature's header, sent in exactly this case. */
  readonly header: string;
  /** True to send the headers of Standard Webhooks to every endpoint, not only to those that chose `ed25519`. */
  readonly standardWebhooks: boolean;
  /** Signatures in the formats of other senders. */
  readonly also: readonly FurtherSignature[];
  /** webhookd's version, for the user agent. */
  readonly version: string;
  /** The part of the events that are traced. Null or absent if the daemon records no spans. */
  readonly sampleRatio?: number | null;
}

/** Counts the deliveries of an ordering key at its endpoint, so that the receiver notices a gap. */
const SEQUENCE_HEADER = "webhook-sequence";

/** Signs for one endpoint. Computes once what does not change between attempts, above all the key. */
export class Signer {
  readonly #url: string;
  readonly #path: string;
  readonly #tenant: string;
  readonly #format: BodyFormat;
  readonly #key: SigningKey;
  /** The keys of `webhook-signature`, in the order of its entries. Empty if the header is not sent. */
  readonly #standardKeys: readonly Pick<SigningKey, "signStandard">[];
  readonly #also: readonly FurtherSigner[];
  readonly #options: SignatureOptions;
  readonly #userAgent: string;
  readonly #ownHeaders: readonly string[];
  readonly #sendsTrace: boolean;

  constructor(target: Target, options: SignatureOptions) {
    const { href, origin } = new URL(target.url);
    this.#url = target.url;
    // This keeps a question mark that nothing follows, which `search` would leave out.
    this.#path = href.slice(origin.length);
    this.#tenant = target.tenant;
    this.#format = target.format;
    this.#sendsTrace = target.traceContext;
    this.#key = signingKey(target.signingSecret);
    const isSent = options.standardWebhooks || target.privateKeys.length > 0;
    this.#standardKeys = isSent ? this.#keysOf(target) : [];
    this.#options = options;
    this.#userAgent = `webhookd/${options.version}`;
    const also = options.also.filter((one) => isFor(one, target));
    this.#also = also.map(({ format }) => furtherSigner(format, target));
    // An endpoint may have been given a header before the operator made it a signature's.
    const taken = new Set<string>(also.flatMap(headerNames));
    if (setsAuthorization(target.auth)) taken.add("authorization");
    const sent = new Set(sentOwnHeaders(target.format, Object.keys(target.headers)));
    const own = Object.entries(target.headers).filter(([name]) => sent.has(name) && !taken.has(name.toLowerCase()));
    const authorization = fixedAuthorization(target.auth);
    if (authorization !== null) own.push(["authorization", authorization]);
    this.#ownHeaders = own.filter(isSendable).flat();
  }

  /** @param nowSeconds the attempt's time, in whole seconds since the epoch */
  sign(send: Send, nowSeconds: number): SignedRequest {
    const { contentType, headers: ofFormat, body } = this.#format === "envelope" ? asStored(send) : this.#shaped(send);
    const headers = [
      "content-type",
      contentType,
      "user-agent",
      this.#userAgent,
      // This header holds a single value, so the current secret signs it during a rotation.
      this.#options.header,
      this.#key.signBody(body),
    ];
    if (this.#standardKeys.length > 0) this.#signStandard(headers, send.event, body, nowSeconds);
    for (const header of ofFormat) headers.push(...header);
    for (const signer of this.#also) {
      signer.sign(headers, { id: send.event, timestamp: nowSeconds, body, url: this.#url });
    }
    headers.push("x-webhookd-delivery", send.delivery, "x-webhookd-attempt", String(send.number));
    // A delivery that a job added afterwards has no number.
    if (send.ordered !== undefined && send.ordered.sequence > 0)
      headers.push(SEQUENCE_HEADER, String(send.ordered.sequence));
    if (send.trigger === "test") headers.push("x-webhookd-test", "1");
    if (this.#sendsTrace) pushTrace(headers, sentTrace(send, this.#options.sampleRatio ?? null));
    for (const part of this.#ownHeaders) headers.push(part);
    return { method: "POST", path: this.#path, headers, body, keepsAll: send.trigger === "test" };
  }

  /** The stored bytes are the envelope. Every attempt in the same format makes the same bytes of them. */
  #shaped({ body, event: id }: Send): Shaped {
    const { data, ...head } = readEnvelope(body, id);
    const shape = shapeOf(this.#format, { id, ...head, tenant: this.#tenant });
    return { contentType: shape.contentType, headers: shape.headers, body: bodyIn(shape, data) };
  }

  /** Returns the keys that sign. During a rotation both secrets do, and both private keys. */
  #keysOf({ nextSigningSecret, privateKeys, signatures }: Target): Pick<SigningKey, "signStandard">[] {
    const next = nextSigningSecret === null ? [] : [signingKey(nextSigningSecret)];
    const hmac = signatures.includes("hmac") ? [this.#key, ...next] : [];
    return [...hmac, ...privateKeys.map((key) => new AsymmetricSigningKey(key))];
  }

  /** Standard Webhooks 1.0.0: a space separates the signatures. */
  #signStandard(headers: string[], event: string, body: Uint8Array, nowSeconds: number): void {
    let signatures = "";
    for (const key of this.#standardKeys) {
      const signature = key.signStandard(event, nowSeconds, body);
      signatures = signatures === "" ? signature : `${signatures} ${signature}`;
    }
    headers.push("webhook-id", event, "webhook-timestamp", String(nowSeconds), "webhook-signature", signatures);
  }
}

/** The body as it is sent and signed, with the headers that describe it. */
interface Shaped extends Pick<BodyShape, "contentType" | "headers"> {
  readonly body: Uint8Array;
}

const NO_HEADERS = [] as const;

function asStored({ body }: Send): Shaped {
  return { contentType: "application/json", headers: NO_HEADERS, body };
}

/** During a rotation both secrets sign, if the format has room for two signatures. */
function furtherSigner(format: SignatureFormat, { signingSecret, nextSigningSecret }: Target): FurtherSigner {
  const next = nextSigningSecret === null || format.separator === null ? [] : [nextSigningSecret];
  return new FurtherSigner(format, [signingSecret, ...next]);
}

/** The API accepts no other headers. If another one is stored anyway, it must not end one header and begin another. */
function isSendable(header: [name: string, value: string]): boolean {
  return header.every((part) => !/[^\t\x20-\x7e]/.test(part));
}

function pushTrace(headers: string[], trace: TraceContext | undefined): void {
  if (trace === undefined) return;
  const { traceparent, tracestate } = trace;
  headers.push("traceparent", traceparent);
  if (tracestate !== null) headers.push("tracestate", tracestate);
}
