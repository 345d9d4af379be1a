import { noResponse, type Outcome } from "../../src/domain/deliveries/attempt.ts";
import type { SignedRequest } from "../../src/delivery/http/exchange.ts";
import type { Random } from "./random.ts";
import { SimSecrets } from "./secrets.ts";

export const BEHAVIOURS = ["ok", "error", "hang", "reset", "reset-after", "late"] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

/** A complete request that the receiver has processed, whatever the sender made of the response. */
export interface Processed {
  readonly event: string;
  readonly body: string;
  /** True if it responded with 2xx within the limit. */
  readonly inTime: boolean;
}

/** The fate of one request: the outcome, its duration, and whether the receiver got the whole request. */
export interface Exchange {
  readonly outcome: Outcome;
  readonly afterMs: number;
  readonly processed: Processed | null;
}

/** A model of a receiver. It behaves as its seed says until it is healed. */
export class SimReceiver {
  readonly url: string;
  readonly processed: Processed[] = [];
  readonly violations: string[] = [];
  readonly secrets = new SimSecrets();
  behaviour: Behaviour = "ok";
  /** The signatures that its endpoint may have chosen, since when, and whose key signs. */
  signing: Signing | null = null;
  /** The `v1a` entries of requests, to be checked once the keys are known. */
  readonly entries: { readonly id: string; readonly at: number; readonly body: string; readonly header: string }[] = [];
  readonly #timeoutMs: number;

  constructor(url: string, timeoutMs: number) {
    this.url = url;
    this.#timeoutMs = timeoutMs;
  }

  /** Checks the signature of a request that is on its way. */
  signed(request: SignedRequest, now: number): void {
    const fault = this.secrets.faultOf(request, now);
    if (fault !== null) this.violations.push(`V3: ${eventOf(request)} ${fault}`);
  }

  /** Checks that a request carries a `v1a` entry if its endpoint certainly chose it, and none if it never did. */
  signedToo({ headers, body }: SignedRequest, monotonic: number): void {
    const value = (name: string) => headers[headers.indexOf(name) + 1]!;
    const [id, at, header] = [value("webhook-id"), Number(value("webhook-timestamp")), value("webhook-signature")];
    const isThere = header.split(" ").some((entry) => entry.startsWith("v1a,"));
    if (isThere) this.entries.push({ id, at, body: Buffer.from(body).toString(), header });
    const asked = this.signing?.isAsked(monotonic) ?? [];
    if (asked.every((signatures) => signatures.includes("ed25519") !== isThere))
      this.violations.push(`V3: ${id} was sent ${isThere ? "with" : "without"} v1a, against what its endpoint chose`);
  }

  answer(request: SignedRequest, random: Random): Exchange {
    const body = Buffer.from(request.body).toString();
    const event = eventOf(request);
    const quick = random.between(1, 50);
    const limit = this.#timeoutMs;
    switch (this.behaviour) {
      case "ok":
        return { outcome: response(200, quick), afterMs: quick, processed: { event, body, inTime: true } };
      case "error":
        return { outcome: response(500, quick), afterMs: quick, processed: { event, body, inTime: false } };
      case "late":
        return {
          outcome: noResponse("timeout", "late", limit),
          afterMs: limit,
          processed: { event, body, inTime: false },
        };
      case "hang":
        return { outcome: noResponse("timeout", "silent", limit), afterMs: limit, processed: null };
      case "reset-after":
        return {
          outcome: noResponse("connection_closed", "reset", quick),
          afterMs: quick,
          processed: { event, body, inTime: false },
        };
      case "reset":
        return { outcome: noResponse("connection_closed", "reset", quick), afterMs: quick, processed: null };
    }
  }
}

export interface Signing {
  readonly tenant: string;
  readonly isAsked: (since: number) => readonly (readonly string[])[];
}

function response(statusCode: number, durationMs: number): Outcome {
  const succeeded = statusCode < 300;
  return {
    ...noResponse("http_status", `the receiver answered ${statusCode}`, durationMs),
    outcome: succeeded ? "succeeded" : "failed",
    error: succeeded ? null : "http_status",
    statusCode,
  };
}

function eventOf({ body }: SignedRequest): string {
  return String((JSON.parse(Buffer.from(body).toString()) as { id: string }).id);
}
