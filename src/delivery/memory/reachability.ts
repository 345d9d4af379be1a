/**
 * Finds out whose fault it was that an attempt got no answer. An attempt that failed without any sign of its receiver
 * is kept until that is known. While nothing at all can be reached, only one probe a second is started, and the first
 * sign of any receiver ends that. If no DNS server said anything about a receiver's name, this host's resolvers get a
 * question whose answer every resolver knows. If they do not answer it, the fault is ours.
 */
import {
  evidenceOf,
  isInconclusive,
  noResponse,
  type Ended,
  type Evidence,
  type Outcome,
} from "../../domain/deliveries/attempt.ts";
import type { Claim } from "../../domain/deliveries/delivery.ts";
import { Outage } from "./halts.ts";

const PROBE_MS = 1000;

export interface EndedClaim {
  readonly claim: Claim;
  readonly ended: Ended;
  /** Monotonic milliseconds. */
  readonly endedAt: number;
}

/** The decisions about attempts that ended, and about the network. */
export class Judgement {
  /** Failures and successes of the receivers, to be recorded. */
  readonly record: EndedClaim[] = [];
  /** Failures of ours, to be sent again at once. */
  readonly again: EndedClaim[] = [];
  /** Failures of ours although others can be reached, to be sent again after a pause. */
  readonly rest: EndedClaim[] = [];
  /**
   * Set when the state changes: either nothing can be reached from now on, for the reason `why`, or somebody can again.
   */
  change: { readonly out: true; readonly why: string } | { readonly out: false } | null = null;
  /** Set if nothing can be reached yet: make one attempt to find out. */
  probe: { readonly why: string; readonly silentMs: number } | null = null;
  /** True to ask this host's resolvers. */
  askResolvers = false;
}

interface Undecided extends EndedClaim {
  /** The decision if it turns out that others can be reached. */
  readonly verdict: "record" | "again" | "rest";
}

/** Times are monotonic milliseconds. */
export class Reachability {
  /** True while nothing can be reached, so that nothing may start. */
  out = false;
  /** The time at which `timePassed` has something to do. */
  wakeAt = Number.POSITIVE_INFINITY;
  readonly #outage: Outage;
  #undecided: Undecided[] = [];
  /** Attempts whose look-up was not answered, kept until the resolvers have been asked. */
  #unresolved: EndedClaim[] = [];
  #asking = false;
  /** True if the resolvers did not answer the last question. */
  #askedInVain = false;
  /** This host's own reason why it is cut off, or null. */
  #why: string | null = null;
  #outBecause: { why: string; silentMs: number } | null = null;
  #stopped = false;

  /** `timeoutMs` is how long there must be no sign of anybody: the time limit of an attempt. */
  constructor(timeoutMs: number) {
    this.#outage = new Outage(timeoutMs);
  }

  ended(batch: readonly EndedClaim[], now: number): Judgement {
    const judgement = new Judgement();
    this.#judge(batch, now, judgement);
    return judgement;
  }

  /** The resolvers have been asked. `why` says why they are of no use, or is null. */
  resolversAsked(why: string | null, now: number): Judgement {
    const judgement = new Judgement();
    this.#asking = false;
    const wasInVain = this.#askedInVain;
    this.#askedInVain = why !== null;
    const known = this.#unresolved.splice(0).map((each) => judged(each, why));
    if (known.length > 0) this.#judge(known, now, judgement);
    if (wasInVain && why === null && this.out && !this.#stopped) {
      this.#outage.sign(null, now);
      this.#decide(now, judgement);
    }
    return judgement;
  }

  timePassed(now: number): Judgement {
    const judgement = new Judgement();
    if (this.#stopped) return judgement;
    if (this.out) this.#probe(now, judgement);
    else this.#decide(now, judgement);
    return judgement;
  }

  /** Keeps no attempt from now on. Undecided ones are recorded as they are, and so are those that end later. */
  stop(): Judgement {
    const judgement = new Judgement();
    this.#stopped = true;
    this.wakeAt = Number.POSITIVE_INFINITY;
    for (const each of [...this.#unresolved.splice(0), ...this.#undecided.splice(0)]) {
      judgement.record.push(this.out ? asOurs(each) : each);
    }
    return judgement;
  }

  #judge(batch: readonly EndedClaim[], now: number, judgement: Judgement): void {
    for (const each of batch) {
      if (this.#stopped) judgement.record.push(this.out ? asOurs(each) : each);
      else if (each.ended.outcome.evidence === "no_look_up") {
        this.#unresolved.push(each);
        this.#ask(judgement);
      } else this.#take(each, now, judgement);
    }
    if (!this.#stopped) this.#decide(now, judgement);
  }

  #take(each: EndedClaim, now: number, judgement: Judgement): void {
    const { outcome, url } = each.ended;
    const { evidence = evidenceOf(outcome.error), ours, detail } = outcome;
    const signAt = lastSignAt(outcome, evidence);
    if (signAt === undefined) {
      judgement.record.push(each);
      return;
    }
    const startedAt = each.endedAt - outcome.durationMs;
    const inconclusive = isInconclusive(evidence);
    const host = inconclusive || this.#outage.tellsHostsApart ? new URL(url).hostname : null;
    if (signAt === null && this.#outage.wasOutAt(startedAt)) {
      judgement.again.push(each);
      return;
    }
    // A host that was found to lie in a network of its own proves nothing more, so its deliveries reach the end of
    // their ladders.
    const spared = evidence === "cut_off" && !this.#outage.isSilent(host!);
    if (signAt === null) this.#outage.noSign(host!, startedAt, now);
    else this.#outage.sign(host, startedAt + signAt);
    if (evidence === "cut_off") {
      this.#outage.cutOff(host!);
      if (spared) this.#why = detail;
    }
    if (ours && !spared && !this.out) judgement.rest.push(each);
    // If the last sign came before a silence and the attempt timed out in it, it counts as failed in that silence too.
    else if (!inconclusive || this.#outage.reach === "clear") judgement.record.push(each);
    else this.#undecided.push({ ...each, verdict: ours ? "rest" : spared ? "again" : "record" });
  }

  #decide(now: number, judgement: Judgement): void {
    const reach = this.#outage.look(now);
    if (reach === "out") {
      if (!this.out) this.#begin(now, judgement);
      for (const each of this.#undecided.splice(0)) judgement.again.push(each);
      return;
    }
    if (this.out) {
      this.out = false;
      this.#askedInVain = false;
      judgement.change = { out: false };
    }
    if (reach === "open") {
      this.wakeAt = Math.max(now + 1, Math.ceil(this.#outage.decidesAt));
      return;
    }
    this.wakeAt = Number.POSITIVE_INFINITY;
    // Others can be reached, or too few hosts are silent to prove an outage.
    this.#why = null;
    for (const each of this.#undecided.splice(0)) judgement[each.verdict].push(each);
  }

  #begin(now: number, judgement: Judgement): void {
    this.out = true;
    const why = this.#why ?? `none of ${this.#outage.hosts} hosts answered a lookup or a connection`;
    this.#outBecause = { why, silentMs: Math.round(now - this.#outage.since) };
    judgement.change = { out: true, why };
    this.#probe(now, judgement);
  }

  #probe(now: number, judgement: Judgement): void {
    judgement.probe = this.#outBecause;
    if (this.#askedInVain) this.#ask(judgement);
    this.wakeAt = now + PROBE_MS;
  }

  #ask(judgement: Judgement): void {
    if (this.#asking) return;
    this.#asking = true;
    judgement.askResolvers = true;
  }
}

/**
 * Returns the time of the last sign of its host, in milliseconds since the start of the attempt. Null if there was
 * none. Undefined if the attempt never got as far as asking the host.
 */
function lastSignAt({ durationMs, phases }: Outcome, evidence: Evidence): number | null | undefined {
  if (isInconclusive(evidence)) return phases.firstByteMs ?? phases.tlsMs ?? phases.connectMs;
  return evidence === "answer" ? durationMs : undefined;
}

/** Applies what the resolvers said to an attempt. */
function judged(each: EndedClaim, why: string | null): EndedClaim {
  const { outcome } = each.ended;
  if (why === null) return { ...each, ended: { ...each.ended, outcome: { ...outcome, evidence: "silence" } } };
  const { durationMs, phases } = outcome;
  const ours = noResponse("interrupted", why, durationMs, { phases, evidence: "cut_off" });
  return { ...each, ended: { ...each.ended, outcome: ours } };
}

function asOurs(each: EndedClaim): EndedClaim {
  const { outcome } = each.ended;
  if (!isInconclusive(outcome.evidence ?? evidenceOf(outcome.error))) return each;
  const { durationMs, phases, remoteAddress } = outcome;
  const ours = noResponse("interrupted", "nothing could be reached", durationMs, { phases, remoteAddress });
  return { ...each, ended: { ...each.ended, outcome: ours } };
}
