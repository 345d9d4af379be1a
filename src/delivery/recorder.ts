/**
 * Writes down what came of attempts, and decides by the ladder what becomes of their deliveries. What the store cannot
 * take (a full disk) is kept and tried again; until then nothing may be started, because an attempt that cannot be
 * recorded would be made again and again.
 */
import type { Clock } from "../clock.ts";
import { settle, type Claim, type Verdict } from "../domain/delivery.ts";
import type { Ladder } from "../domain/ladder.ts";
import type { Log } from "../log.ts";
import type { EndedAttempt, Store, Waiting } from "../store/store.ts";
import type { ClockShift } from "./clock-shift.ts";
import type { Ended } from "./send/sending.ts";
import type { DeliveryWatcher } from "./watcher.ts";

export interface RecorderParts {
  readonly store: Pick<Store, "deliveries">;
  readonly clock: Clock;
  readonly ladder: Ladder;
  /** Milliseconds by which a receiver may put off its next attempt; 0 keeps the ladder exact. */
  readonly maxRetryAfter?: number;
  readonly log: Log;
  readonly shift: ClockShift;
  readonly tenantOf: (endpoint: string) => string | null;
  /** Called for each recorded attempt; `waiting` says where its delivery now waits, if it does. */
  readonly onRecorded: (claim: Claim, waiting: Waiting | null) => void;
  readonly watcher?: Pick<DeliveryWatcher, "attempted"> | undefined;
  /** Called once all calls of `onRecorded` for a commit were made. */
  readonly onCommitted: () => void;
  readonly onStuck: () => void;
  readonly onFlowing: () => void;
}

export interface EndedClaim {
  readonly claim: Claim;
  readonly ended: Ended;
  /** Monotonic; the call's own time if it is not said. */
  readonly endedAt?: number;
}

/** With what its due time was reckoned by: the clock's epoch, and when it ended in monotonic time. */
interface SettledAttempt extends EndedAttempt {
  readonly epoch: number;
  readonly endedAtMonotonic: number;
}

export class Recorder {
  readonly #parts: RecorderParts;
  #unrecorded: SettledAttempt[] = [];
  #recording = 0;
  #stuck = false;
  #ending = false;
  /** Commits come in the order of their calls, so the last one stands for all. */
  #last: Promise<void> = Promise.resolve();

  constructor(parts: RecorderParts) {
    this.#parts = parts;
  }

  get busy(): boolean {
    return this.#recording > 0 || this.#unrecorded.length > 0;
  }

  /** Resolves once all that was settled before this call is written, or has failed to be. */
  written(): Promise<void> {
    return this.#last;
  }

  record(batch: readonly EndedClaim[]): void {
    const now = this.#parts.clock.monotonic();
    this.#write(
      batch.map(({ claim, ended: { url, startedAt, secretVersion, outcome }, endedAt = now }) => {
        const settled = this.#settle({ claim, url, startedAt, secretVersion, outcome }, endedAt);
        this.#log(settled);
        return settled;
      }),
    );
  }

  /** Tries again what the store did not take. */
  retry(): void {
    const unrecorded = this.#unrecorded;
    this.#unrecorded = [];
    if (unrecorded.length === 0) return;
    // Reckoned anew, because the clock may have been set while nothing could be recorded.
    this.#write(unrecorded.map((attempt) => this.#settle(attempt, attempt.endedAtMonotonic)));
  }

  /** From now on what cannot be recorded is given up: it will be attempted again after the next start. */
  end(): void {
    this.#ending = true;
    this.retry();
  }

  #settle(attempt: Omit<EndedAttempt, "verdict">, endedAtMonotonic: number): SettledAttempt {
    const { clock, ladder, maxRetryAfter, shift } = this.#parts;
    const epoch = shift.look();
    const endedAt = clock.now() - Math.floor(clock.monotonic() - endedAtMonotonic);
    const verdict = settle(attempt.claim, attempt.outcome, ladder, endedAt, maxRetryAfter);
    return { ...attempt, verdict, epoch, endedAtMonotonic };
  }

  #write(attempts: readonly SettledAttempt[]): void {
    const { store, shift } = this.#parts;
    this.#recording++;
    for (const { claim, epoch, verdict } of attempts) {
      // What stays as it was moves with the clock like all the rest.
      if (verdict.status !== "unchanged") shift.noteWrite(claim, epoch);
    }
    this.#last = store.deliveries.record(attempts).then(
      (recorded) => {
        this.#recording--;
        const { onRecorded, watcher } = this.#parts;
        attempts.forEach((attempt, at) => {
          onRecorded(attempt.claim, recorded[at]!.waiting);
          watcher?.attempted(attempt, recorded[at]!);
        });
        this.#flow();
        this.#parts.onCommitted();
      },
      (error: unknown) => {
        this.#recording--;
        if (!this.#ending) this.#unrecorded.push(...attempts);
        this.#stick(error);
        this.#parts.onCommitted();
      },
    );
  }

  #stick(error: unknown): void {
    if (this.#stuck) return;
    this.#stuck = true;
    this.#parts.log.error({ err: error }, "results cannot be recorded; no attempt is made until they can be");
    this.#parts.onStuck();
  }

  #flow(): void {
    if (!this.#stuck || this.#unrecorded.length > 0) return;
    this.#stuck = false;
    this.#parts.log.info({}, "results can be recorded again");
    this.#parts.onFlowing();
  }

  /** One line an attempt, with all that is needed to find it and its like again. */
  #log({ claim, outcome, verdict }: SettledAttempt): void {
    const level = outcome.outcome === "succeeded" ? "debug" : "info";
    if (!this.#parts.log.isLevelEnabled(level)) return;
    this.#parts.log[level](
      {
        event: claim.event,
        delivery: claim.delivery,
        endpoint: claim.endpoint,
        tenant: this.#parts.tenantOf(claim.endpoint),
        attempt: claim.number,
        round: claim.round,
        retry: claim.trigger === "manual" || claim.trigger === "test" ? null : claim.retry,
        trigger: claim.trigger,
        outcome: outcome.outcome,
        error: outcome.error,
        status_code: outcome.statusCode,
        duration_ms: Math.round(outcome.durationMs),
        ...stateOf(claim, verdict),
      },
      "delivery.attempted",
    );
  }
}

function stateOf(claim: Claim, verdict: Verdict): { status: string; next_attempt_at: string | null } {
  // A manual attempt that failed leaves what is due as it is, and what has failed is due never.
  const due = verdict.status === "pending" ? verdict.dueAt : verdict.status === "unchanged" ? claim.dueAt : Infinity;
  if (due !== Infinity) return { status: "pending", next_attempt_at: new Date(due).toISOString() };
  return { status: verdict.status === "unchanged" ? "failed" : verdict.status, next_attempt_at: null };
}
