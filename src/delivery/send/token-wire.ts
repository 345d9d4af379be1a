/**
 * The wire to an endpoint whose requests carry a token. An attempt may have to wait for the token first, and sends its
 * request once more if the receiver answers 401 to a token that was in memory: all within the time limit of an attempt.
 */
import type { Clock } from "../../clock.ts";
import { noResponse, type Outcome, type Phases } from "../../domain/deliveries/attempt.ts";
import type { SignedRequest } from "../http/exchange.ts";
import type { Exchange } from "../http/exchange.ts";
import type { KeptToken, TokenClient } from "./tokens.ts";

/** With less time than this left, a request is not sent once more. */
const LEAST_MS = 1000;

export interface TokenWireParts {
  readonly clock: Clock;
  readonly exchange: Pick<Exchange, "post" | "abort" | "close">;
  readonly client: TokenClient;
  /** The time limit of an attempt. */
  readonly timeoutMs: number;
  /** Gives the client back. */
  readonly leave: () => Promise<void>;
}

export class TokenWire {
  readonly #parts: TokenWireParts;
  #inFlight = 0;
  #aborted = false;
  #onDrained: (() => void) | null = null;

  constructor(parts: TokenWireParts) {
    this.#parts = parts;
  }

  async post(request: SignedRequest): Promise<Outcome> {
    this.#inFlight += 1;
    try {
      return await this.#post(request);
    } finally {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#onDrained?.();
    }
  }

  abort(): void {
    this.#aborted = true;
    this.#parts.client.abort();
    this.#parts.exchange.abort();
  }

  async close(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onDrained = resolve));
    await Promise.all([this.#parts.exchange.close(), this.#parts.leave()]);
  }

  async #post(request: SignedRequest): Promise<Outcome> {
    const { client, clock } = this.#parts;
    const startedAt = clock.monotonic();
    const kept = client.kept();
    const token = kept ?? (await client.fetch());
    if ("why" in token) return { ...token.why, durationMs: Math.round(clock.monotonic() - startedAt) };
    const outcome = await this.#send(request, token, startedAt);
    if (kept === null || outcome.statusCode !== 401 || this.#aborted) return outcome;
    const next = await this.#inTime(client.afterRefusal(kept), startedAt);
    return next !== null && this.#leftMs(startedAt) >= LEAST_MS ? this.#send(request, next, startedAt) : outcome;
  }

  /** Gives up once there is no time left to use the token. Later attempts get it all the same. */
  async #inTime(token: Promise<KeptToken | null>, startedAt: number): Promise<KeptToken | null> {
    const { promise: late, resolve } = Promise.withResolvers<null>();
    const cancel = this.#parts.clock.after(Math.max(0, this.#leftMs(startedAt) - LEAST_MS), () => resolve(null));
    const found = await Promise.race([token, late]);
    cancel();
    return found;
  }

  async #send(request: SignedRequest, token: KeptToken, startedAt: number): Promise<Outcome> {
    const { clock, exchange } = this.#parts;
    const spentMs = clock.monotonic() - startedAt;
    if (this.#aborted) return noResponse("interrupted", "webhookd was stopped during the attempt", Math.round(spentMs));
    const headers = [...request.headers, "authorization", `Bearer ${token.value}`];
    const isAtOnce = Math.round(spentMs) === 0;
    const outcome = await exchange.post(
      { ...request, headers },
      isAtOnce ? null : Math.max(1, this.#leftMs(startedAt)),
    );
    return isAtOnce ? outcome : later(outcome, Math.round(spentMs));
  }

  #leftMs(startedAt: number): number {
    return this.#parts.timeoutMs - (this.#parts.clock.monotonic() - startedAt);
  }
}

/** Counts the times of an outcome from this many milliseconds earlier. */
function later(outcome: Outcome, byMs: number): Outcome {
  const { durationMs, phases } = outcome;
  const moved = Object.entries(phases).map(([step, at]: [string, number | null]) => [
    step,
    at === null ? null : at + byMs,
  ]);
  return { ...outcome, durationMs: durationMs + byMs, phases: Object.fromEntries(moved) as unknown as Phases };
}
