/** The ways by which verbs come to the file. */
import type { Once } from "../../../domain/idempotency.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import type { Condition } from "./condition.ts";
import type { GroupCommit, WorkSize } from "./group-commit.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import { CHUNK } from "../endpoints/sweep.ts";

export interface Doors {
  readonly commit: GroupCommit;
  /** Runs a read, unless the storage has failed. */
  readonly read: <T>(work: () => T) => T;
  /** A commit of what may be refused, and is done once under an idempotency key. */
  readonly once: <T>(
    once: Once<T> | undefined,
    now: number,
    work: () => T | WebhookdError,
    size?: WorkSize,
  ) => Promise<T>;
  readonly defer: (run: () => void) => void;
}

export const CHUNK_SIZE: WorkSize = { events: 0, deliveries: CHUNK };

interface Parts {
  readonly condition: Condition;
  readonly commit: GroupCommit;
  readonly idempotency: IdempotencyKeys;
  readonly defer: (run: () => void) => void;
}

export function doorsOf({ condition, commit, idempotency, defer }: Parts): Doors {
  return {
    commit,
    defer,
    read: (work) => {
      condition.requireUsable();
      try {
        return work();
      } catch (error) {
        throw condition.failed(error) ?? error;
      }
    },
    once: async <T>(once: Once<T> | undefined, now: number, work: () => T | WebhookdError, size?: WorkSize) => {
      const result = await commit.run(() => idempotency.once(once, now, work), size);
      if (result instanceof WebhookdError) throw result;
      return result;
    },
  };
}
