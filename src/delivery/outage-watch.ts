/**
 * Acts on an outage: keeps what failed until it is known whose fault that was, lets nothing start but one probe a second
 * while nothing can be reached, and ends that at the first sign of anybody.
 */
import type { Clock } from "../clock.ts";
import type { Outcome } from "../domain/attempt.ts";
import type { Log } from "../log.ts";
import { Outage } from "./outage.ts";
import type { EndedClaim } from "./recorder.ts";

const PROBE_MS = 1000;

export interface OutageWatchParts {
  readonly clock: Clock;
  readonly log: Log;
  /** How long there must be no sign of anybody: an attempt's time limit. */
  readonly timeoutMs: number;
  /** The receivers' fault, it turned out. */
  readonly record: (ended: readonly EndedClaim[]) => void;
  /** Our fault: they take their turn again. */
  readonly again: (ended: readonly EndedClaim[]) => void;
  readonly pause: () => void;
  /** Starts one attempt, whosever turn it is. */
  readonly probe: () => void;
  readonly resume: () => void;
}

export class OutageWatch {
  /** Whether nothing can be reached, so that nothing may start. */
  out = false;
  readonly #parts: OutageWatchParts;
  readonly #outage: Outage;
  #undecided: EndedClaim[] = [];
  #cancelTimer: (() => void) | null = null;
  #stopped = false;

  constructor(parts: OutageWatchParts) {
    this.#parts = parts;
    this.#outage = new Outage(parts.timeoutMs);
  }

  /** Takes in the ends of attempts; the answer is what can be recorded at once. */
  sort(batch: readonly EndedClaim[]): readonly EndedClaim[] {
    if (this.#stopped) return this.out ? batch.map(asOurs) : batch;
    const now = this.#parts.clock.monotonic();
    const decided = batch.filter((each) => this.#isDecided(each, now));
    this.#decide(now);
    return decided;
  }

  /** Keeps nothing any more: what is undecided is recorded as it is, and so is what ends later. */
  stop(): void {
    this.#stopped = true;
    this.#disarm();
    this.#recordUndecided();
  }

  #isDecided(each: EndedClaim, now: number): boolean {
    const { outcome, url } = each.ended;
    const { unanswered = false } = outcome;
    const sign = signOf(outcome);
    if (sign === undefined) return true;
    const startedAt = now - outcome.durationMs;
    const host = unanswered || this.#outage.caresWho ? new URL(url).hostname : null;
    if (sign === null && this.#outage.wasOutAt(startedAt)) {
      this.#parts.again([each]);
      return false;
    }
    if (sign === null) this.#outage.noSign(host!, startedAt, now);
    else this.#outage.sign(host, startedAt + sign);
    // What got its last sign before a silence, and ran out of time in it, failed in it too.
    if (!unanswered || this.#outage.reach === "clear") return true;
    this.#undecided.push({ ...each, endedAt: now });
    return false;
  }

  #decide(now: number): void {
    const reach = this.#outage.look(now);
    if (reach === "out") {
      if (!this.out) this.#begin(now);
      if (this.#undecided.length > 0) this.#parts.again(this.#undecided.splice(0));
      return;
    }
    if (this.out) this.#end(now);
    this.#disarm();
    if (reach === "open") this.#arm(this.#outage.decidesAt - now, () => this.#decide(this.#parts.clock.monotonic()));
    else this.#recordUndecided();
  }

  #begin(now: number): void {
    this.out = true;
    const silent_ms = Math.round(now - this.#outage.since);
    this.#parts.log.error(
      { silent_ms },
      "nothing can be reached: no lookup and no connection to anybody got an answer; until one does, nothing is sent but one probe a second, and no delivery loses an attempt. Check this host's network and DNS",
    );
    this.#parts.pause();
    this.#probe();
  }

  #end(now: number): void {
    this.out = false;
    this.#parts.log.info({ lasted_ms: Math.round(now - this.#outage.since) }, "receivers can be reached again");
    this.#parts.resume();
  }

  readonly #probe = (): void => {
    this.#parts.probe();
    this.#arm(PROBE_MS, this.#probe);
  };

  #arm(delayMs: number, run: () => void): void {
    this.#disarm();
    this.#cancelTimer = this.#parts.clock.after(Math.max(1, Math.ceil(delayMs)), run);
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  #recordUndecided(): void {
    if (this.#undecided.length > 0) this.#parts.record(this.#undecided.splice(0));
  }
}

/**
 * When in the attempt the last sign of its host came, in milliseconds since the start; null when there was none, and
 * undefined when nobody was asked.
 */
function signOf({ unanswered, ours, error, durationMs, phases }: Outcome): number | null | undefined {
  if (unanswered === true) return phases.firstByteMs ?? phases.tlsMs ?? phases.connectMs;
  if (ours || error === "payload_corrupt" || error === "interrupted" || error?.startsWith("address_") === true) {
    return undefined;
  }
  return durationMs;
}

function asOurs(each: EndedClaim): EndedClaim {
  const { outcome } = each.ended;
  if (outcome.unanswered !== true) return each;
  const ours = {
    outcome: "interrupted",
    error: "interrupted",
    detail: "nothing could be reached",
    ours: true,
  } as const;
  return { ...each, ended: { ...each.ended, outcome: { ...outcome, ...ours } } };
}
