/** Requests that come again. */
import type { KeyedRequest } from "../../domain/idempotency.ts";

export interface IdempotencyStore {
  /** The answer remembered for the request, or null; rejects with `idempotency_mismatch` if it was another request's. */
  recall(request: KeyedRequest, now: number): Promise<string | null>;
  /** For what was done by verbs that take no `once`. */
  remember(request: KeyedRequest, answer: string): Promise<void>;
  /** Forgets at most 500 keys that have expired; how many. Fewer: there are no more. */
  prune(now: number): Promise<number>;
}
