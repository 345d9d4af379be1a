/**
 * Acts on an outage: keeps what failed until it is known whose fault that was, lets nothing start but one probe a second
 * while nothing can be reached, and ends that at the first sign of anybody.
 */
import type { Clock } from "../clock.ts";
import { noResponse, type Outcome } from "../domain/attempt.ts";
import { evidenceOf, isUnheard, type Evidence } from "../domain/evidence.ts";
import type { Log } from "../log.ts";
import { Alarm } from "../alarm.ts";
import type { AskResolvers } from "./http/this-host.ts";
import { Outage } from "./outage.ts";
import type { EndedClaim } from "./recorder.ts";
import { Unresolved } from "./unresolved.ts";

const PROBE_MS = 1000;

export interface OutageWatchParts {
  readonly clock: Clock;
  readonly log: Log;
  /** How long there must be no sign of anybody: an attempt's time limit. */
  readonly timeoutMs: number;
  /** Left out: they answer. */
  readonly askResolvers?: AskResolvers | undefined;
  /** The receivers' fault, it turned out. */
  readonly record: (ended: readonly EndedClaim[]) => void;
  /** Our fault: they take their turn again. */
  readonly again: (ended: readonly EndedClaim[]) => void;
  /** Our fault, though others can be reached: they take their turn again after a rest. */
  readonly rest: (ended: readonly EndedClaim[]) => void;
  readonly pause: (why: string) => void;
  /** Starts one attempt, whosever turn it is. */
  readonly probe: () => void;
  readonly resume: () => void;
}

interface Undecided extends EndedClaim {
  /** What becomes of it if it turns out that others can be reached. */
  readonly verdict: "record" | "again" | "rest";
}

export class OutageWatch {
  /** Whether nothing can be reached, so that nothing may start. */
  out = false;
  readonly #parts: OutageWatchParts;
  readonly #outage: Outage;
  readonly #alarm: Alarm;
  readonly #unresolved: Unresolved;
  #undecided: Undecided[] = [];
  /** Why this host says that it is cut off, if it does. */
  #why: string | null = null;
  #cancelTimer: (() => void) | null = null;
  #stopped = false;

  constructor(parts: OutageWatchParts) {
    this.#parts = parts;
    this.#outage = new Outage(parts.timeoutMs);
    this.#alarm = new Alarm(parts.clock, parts.log);
    this.#unresolved = new Unresolved({
      ...parts,
      ask: parts.askResolvers ?? (async () => null),
      onKnown: (ended) => this.#take(ended),
      onAnswered: () => this.#resolversAnswered(),
    });
  }

  /** Takes in the ends of attempts; the answer is what can be recorded at once. */
  sort(batch: readonly EndedClaim[]): readonly EndedClaim[] {
    if (this.#stopped) return this.out ? batch.map(asOurs) : batch;
    const now = this.#parts.clock.monotonic();
    const known = batch.filter((each) => !this.#unresolved.keeps(each, now));
    const decided = known.filter((each) => this.#isDecided(each, now));
    this.#decide(now);
    return decided;
  }

  /** Keeps nothing any more: what is undecided is recorded as it is, and so is what ends later. */
  stop(): void {
    this.#stopped = true;
    this.#disarm();
    const kept = [...this.#unresolved.giveUp(), ...this.#undecided.splice(0)];
    if (kept.length > 0) this.#parts.record(this.out ? kept.map(asOurs) : kept);
  }

  #take(ended: readonly EndedClaim[]): void {
    const decided = this.sort(ended);
    if (decided.length > 0) this.#parts.record(decided);
  }

  #isDecided(each: EndedClaim, now: number): boolean {
    const { outcome, url } = each.ended;
    const { evidence = evidenceOf(outcome.error), ours, detail } = outcome;
    const heard = lastHeard(outcome, evidence);
    if (heard === undefined) return true;
    const startedAt = (each.endedAt ?? now) - outcome.durationMs;
    const unheard = isUnheard(evidence);
    const host = unheard || this.#outage.caresWho ? new URL(url).hostname : null;
    if (heard === null && this.#outage.wasOutAt(startedAt)) {
      this.#parts.again([each]);
      return false;
    }
    // Once found to lie in a network of its own, it proves nothing any more, and comes to the end of its ladder.
    const spared = evidence === "cut_off" && !this.#outage.isSilent(host!);
    if (heard === null) this.#outage.noSign(host!, startedAt, now);
    else this.#outage.sign(host, startedAt + heard);
    if (evidence === "cut_off") {
      this.#outage.cutOff(host!);
      if (spared) this.#why = detail;
    }
    if (ours && !spared && !this.out) {
      this.#parts.rest([each]);
      return false;
    }
    // What got its last sign before a silence, and ran out of time in it, failed in it too.
    if (!unheard || this.#outage.reach === "clear") return true;
    this.#undecided.push({
      ...each,
      endedAt: each.endedAt ?? now,
      verdict: ours ? "rest" : spared ? "again" : "record",
    });
    return false;
  }

  #decide(now: number): void {
    const reach = this.#outage.look(now);
    if (reach === "out") {
      if (!this.out) this.#begin(now);
      if (this.#undecided.length > 0) this.#parts.again(this.#undecided.splice(0));
      return;
    }
    if (this.out) this.#end();
    this.#disarm();
    if (reach === "open") this.#arm(this.#outage.decidesAt - now, () => this.#decide(this.#parts.clock.monotonic()));
    else this.#settle();
  }

  #begin(now: number): void {
    this.out = true;
    const why = this.#why ?? `no look-up and no connection to any of ${this.#outage.hosts} hosts got an answer`;
    const silent_ms = Math.round(now - this.#outage.since);
    this.#parts.pause(why);
    this.#probe(why, silent_ms);
  }

  #end(): void {
    this.out = false;
    this.#unresolved.forget();
    this.#alarm.clear("receivers can be reached: what waited can be sent again, and goes now");
    this.#parts.resume();
  }

  #probe(why: string, silent_ms: number): void {
    const message = `nothing can be sent: ${why}. Until that is over one probe a second is made, and no delivery loses an attempt. Check this host's network and DNS`;
    this.#alarm.raise(message, { reason: "unreachable", silent_ms });
    this.#parts.probe();
    if (this.#unresolved.wasInVain) this.#unresolved.ask();
    this.#arm(PROBE_MS, () => this.#probe(why, silent_ms));
  }

  /** Asked in an outage in which they did not. */
  #resolversAnswered(): void {
    if (!this.out || this.#stopped) return;
    const now = this.#parts.clock.monotonic();
    this.#outage.sign(null, now);
    this.#decide(now);
  }

  #arm(delayMs: number, run: () => void): void {
    this.#disarm();
    this.#cancelTimer = this.#parts.clock.after(Math.max(1, Math.ceil(delayMs)), run);
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  /** Others can be reached, or too few cannot. */
  #settle(): void {
    this.#why = null;
    const ends = Map.groupBy(this.#undecided.splice(0), ({ verdict }) => verdict);
    for (const [verdict, of] of ends) this.#parts[verdict](of);
  }
}

/**
 * When in the attempt the last sign of its host came, in milliseconds since the start; null when there was none, and
 * undefined when nobody was asked.
 */
function lastHeard({ durationMs, phases }: Outcome, evidence: Evidence): number | null | undefined {
  if (isUnheard(evidence)) return phases.firstByteMs ?? phases.tlsMs ?? phases.connectMs;
  return evidence === "answer" ? durationMs : undefined;
}

function asOurs(each: EndedClaim): EndedClaim {
  const { outcome } = each.ended;
  if (!isUnheard(outcome.evidence ?? evidenceOf(outcome.error))) return each;
  const { durationMs, phases, remoteAddress } = outcome;
  const ours = noResponse("interrupted", "nothing could be reached", durationMs, { phases, remoteAddress });
  return { ...each, ended: { ...each.ended, outcome: ours } };
}
