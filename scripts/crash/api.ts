/** The daemon's HTTP API, as a publisher and an operator use it. */

import { setTimeout as sleep } from "node:timers/promises";

/** No request takes this long unless it hangs. */
const TIMEOUT_MS = 60_000;
/** On a busy machine, a list that takes the database too long gets a 503. */
const TRIES = 10;

export interface ShownAttempt {
  readonly delivery: string;
  readonly number: number;
  readonly round: number;
  readonly outcome: "succeeded" | "failed" | "interrupted";
  readonly status_code: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
}

export interface ShownDelivery {
  readonly id: string;
  readonly endpoint: string;
  readonly status: string;
  readonly attempts: number;
  readonly next_attempt_at: string | null;
  readonly sequence: number | null;
}

export interface ShownEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly marker: string };
  readonly deliveries: readonly ShownDelivery[];
}

interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}

/** The daemon answered with a status that the caller does not expect. */
export class Refused extends Error {
  override readonly name = "Refused";
}

export class Api {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /** Resolves when the status of the response is known. */
  post(path: string, body: string, idempotencyKey: string | null = null): Promise<Response> {
    return this.send("POST", path, body, idempotencyKey);
  }

  /** Does the same as `post`, with any method. */
  send(method: string, path: string, body: string | null, idempotencyKey: string | null = null): Promise<Response> {
    return fetch(this.#url + path, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body !== null && { "content-type": "application/json" }),
        ...(idempotencyKey !== null && { "idempotency-key": idempotencyKey }),
      },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }

  async get<T>(path: string, tries = TRIES): Promise<T> {
    const response = await fetch(this.#url + path, {
      headers: { authorization: `Bearer ${this.#key}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const retryAfter = response.headers.get("retry-after");
    if (response.status === 503 && retryAfter !== null && tries > 1) {
      await response.body?.cancel();
      await sleep(Number(retryAfter) * 1000);
      return this.get(path, tries - 1);
    }
    if (!response.ok) throw new Refused(`GET ${path} was answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Yields every item of a list. `path` must already have a query. */
  async *all<T>(path: string): AsyncGenerator<T> {
    let cursor: string | null = null;
    do {
      const page: Page<T> = await this.get(cursor === null ? path : `${path}&cursor=${cursor}`);
      yield* page.data;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  newest(limit: number): Promise<Page<ShownEvent>> {
    return this.get(`/v1/webhooks/events?limit=${limit}&include=data,deliveries`);
  }

  events(): AsyncGenerator<ShownEvent> {
    return this.all("/v1/webhooks/events?limit=100&order=oldest&include=data,deliveries");
  }

  attempts(event: string): AsyncGenerator<ShownAttempt> {
    return this.all(`/v1/webhooks/events/${event}/attempts?limit=100&order=oldest`);
  }

  /** True if a delivery is pending that waits behind no other. */
  async hasDue(): Promise<boolean> {
    for await (const one of this.all<ShownDelivery>("/v1/webhooks/deliveries?limit=100&status=pending&order=oldest")) {
      if (one.next_attempt_at !== null) return true;
    }
    return false;
  }

  /**
   * Asks for deliveries, because an event counts as failed if one of its deliveries has failed, whatever the others
   * did.
   */
  async hasPending(): Promise<boolean> {
    for await (const _ of this.all("/v1/webhooks/deliveries?limit=1&status=pending")) return true;
    return false;
  }
}
