/** What the dispatcher asks of those that send: a sender beside it, or a pool of them on threads. */
import type { AddressRules } from "../../domain/network/address.ts";
import type { Send } from "../../domain/deliveries/delivery.ts";
import type { Target } from "../../domain/endpoints/endpoint.ts";

export interface Sending {
  /** How many attempts are on the wire. */
  readonly inFlight: number;
  /** How many attempts to this endpoint may be in flight at once, as far as is known here. */
  cap(endpoint: string): number;
  /**
   * Attempts that start after it resolved use these settings; sends that are handed over after the call do so too. An endpoint
   * that is enabled again starts with one attempt at once: what its receiver can take now is not known.
   */
  setTarget(target: Target): Promise<void>;
  /** Every connection that is opened after it, and every request but those on the wire, keeps to these rules. */
  setEgress(rules: AddressRules): void;
  /** Their endpoints' targets must have been set. Each send ends, is given back, or waits while paused. */
  send(sends: readonly Send[]): void;
  /** Starts nothing more of what the endpoint had waiting; the answer is what was given back, by delivery id. */
  forget(endpoint: string): Promise<readonly string[]>;
  /** Resolves once nothing starts any more. */
  pause(): Promise<void>;
  resume(): void;
  /** While paused: starts one attempt all the same, whichever has its turn. */
  probe(): void;
  /** Pauses, and resolves when nothing is in flight and every end was reported. */
  drain(): Promise<void>;
  /** Pauses, and ends what is in flight as `interrupted`. */
  abort(): void;
  /** After a drain. */
  close(): Promise<void>;
}

/** Whether an endpoint that was disabled is enabled again. */
export function isResumed(before: Target | undefined, after: Target): boolean {
  return before !== undefined && !before.enabled && after.enabled;
}
