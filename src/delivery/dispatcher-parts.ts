/** What delivery is given. */
import type { Clock } from "../clock.ts";
import type { Ladder } from "../domain/ladder.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import type { AskResolvers } from "./http/this-host.ts";
import type { DisablingRules } from "./disabling.ts";
import type { Ended, Sending } from "./send/sending.ts";
import type { DeliveryWatcher } from "./watcher.ts";

type DispatcherStore = Pick<Store, "recovery" | "deliveries" | "endpoints" | "operations">;

export interface DispatcherParts {
  readonly store: DispatcherStore;
  readonly sending: (onEnded: (batch: readonly Ended[]) => void) => Sending;
  readonly clock: Clock;
  readonly ladder: Ladder;
  readonly maxRetryAfter?: number;
  /** How long an attempt may take. */
  readonly timeoutMs: number;
  /** Asked when a name cannot be looked up; left out: they answer. */
  readonly askResolvers?: AskResolvers;
  readonly log: Log;
  /** Bytes of bodies that memory may hold. */
  readonly heldBytes: number;
  /** Called where an error is our bug: the daemon must end rather than go on wrongly. */
  readonly onFault: (error: unknown) => void;
  /** When endpoints are disabled by themselves; left out: never. */
  readonly disabling?: DisablingRules;
  readonly watcher?: DeliveryWatcher;
}
