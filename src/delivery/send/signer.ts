/** Builds the signed request of an attempt. */
import type { Send } from "../../domain/deliveries/delivery.ts";
import { AsymmetricSigningKey } from "../../domain/endpoints/asymmetric.ts";
import type { Target } from "../../domain/endpoints/endpoint.ts";
import {
  FurtherSigner,
  headerNames,
  isFor,
  type FurtherSignature,
  type SignatureFormat,
} from "../../domain/endpoints/further-signature.ts";
import { signingKey, type SigningKey } from "../../domain/endpoints/secret.ts";
import type { TraceContext } from "../../domain/events/event.ts";
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
}

/** Counts the deliveries of an ordering key at its endpoint, so that the receiver notices a gap. */
const SEQUENCE_HEADER = "webhook-sequence";

/** Signs for one endpoint. Computes once what does not change between attempts, above all the key. */
export class Signer {
  readonly #url: string;
  readonly #path: string;
  readonly #key: SigningKey;
  /** The keys of `webhook-signature`, in the order of its entries. Empty if the header is not sent. */
  readonly #standardKeys: readonly Pick<SigningKey, "signStandard">[];
  readonly #also: readonly FurtherSigner[];
  readonly #options: SignatureOptions;
  readonly #userAgent: string;
  readonly #ownHeaders: readonly string[];

  constructor(target: Target, options: SignatureOptions) {
    const { href, origin } = new URL(target.url);
    this.#url = target.url;
    // This keeps a question mark that nothing follows, which `search` would leave out.
    this.#path = href.slice(origin.length);
    this.#key = signingKey(target.signingSecret);
    const isSent = options.standardWebhooks || target.privateKeys.length > 0;
    this.#standardKeys = isSent ? this.#keysOf(target) : [];
    this.#options = options;
    this.#userAgent = `webhookd/${options.version}`;
    const also = options.also.filter((one) => isFor(one, target));
    this.#also = also.map(({ format }) => furtherSigner(format, target));
    // An endpoint may have been given a header before the operator made it a signature's.
    const taken = new Set(also.flatMap(headerNames));
    const own = Object.entries(target.headers).filter(([name]) => !taken.has(name.toLowerCase()));
    this.#ownHeaders = own.filter(isSendable).flat();
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
    if (this.#standardKeys.length > 0) this.#signStandard(headers, send, nowSeconds);
    for (const signer of this.#also) {
      signer.sign(headers, { id: send.event, timestamp: nowSeconds, body, url: this.#url });
    }
    headers.push("x-webhookd-delivery", send.delivery, "x-webhookd-attempt", String(send.number));
    // A delivery that a job added afterwards has no number.
    if (send.ordered !== undefined && send.ordered.sequence > 0)
      headers.push(SEQUENCE_HEADER, String(send.ordered.sequence));
    if (send.trigger === "test") headers.push("x-webhookd-test", "1");
    if (send.trace !== undefined) pushTrace(headers, send.trace);
    for (const part of this.#ownHeaders) headers.push(part);
    return { method: "POST", path: this.#path, headers, body, keepsAll: send.trigger === "test" };
  }

  /** Returns the keys that sign. During a rotation both secrets do, and both private keys. */
  #keysOf({ nextSigningSecret, privateKeys, signatures }: Target): Pick<SigningKey, "signStandard">[] {
    const next = nextSigningSecret === null ? [] : [signingKey(nextSigningSecret)];
    const hmac = signatures.includes("hmac") ? [this.#key, ...next] : [];
    return [...hmac, ...privateKeys.map((key) => new AsymmetricSigningKey(key))];
  }

  /** Standard Webhooks 1.0.0: a space separates the signatures. */
  #signStandard(headers: string[], send: Send, nowSeconds: number): void {
    let signatures = "";
    for (const key of this.#standardKeys) {
      const signature = key.signStandard(send.event, nowSeconds, send.body);
      signatures = signatures === "" ? signature : `${signatures} ${signature}`;
    }
    headers.push("webhook-id", send.event, "webhook-timestamp", String(nowSeconds), "webhook-signature", signatures);
  }
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

function pushTrace(headers: string[], { traceparent, tracestate }: TraceContext): void {
  headers.push("traceparent", traceparent);
  if (tracestate !== null) headers.push("tracestate", tracestate);
}
