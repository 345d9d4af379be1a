/**
 * Whose fault it was that an attempt got no answer. What failed without a sign is kept until that is known; while
 * nothing at all can be reached nothing is started but one probe a second, and the first sign of anybody ends that.
 * When no DNS said anything of a receiver's name, this host's resolvers are asked for something that any of them knows:
 * if they answer nothing, the fault is ours.
 */
import {
  evidenceOf,
  isUnheard,
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
  /** Monotonic. */
  readonly endedAt: number;
}

/** What became of ends, and of the way out. */
export class Judgement {
  /** The receivers' fault or merit. */
  readonly record: EndedClaim[] = [];
  /** Our fault: they take their turn again. */
  readonly again: EndedClaim[] = [];
  /** Our fault, though others can be reached: they take their turn again after a rest. */
  readonly rest: EndedClaim[] = [];
  /** Since now nothing can be reached, and this is why; or somebody can again; null when all is as before. */
  change: { readonly out: true; readonly why: string } | { readonly out: false } | null = null;
  /** Nothing can be reached, still: one attempt is to be made, to find out. */
  probe: { readonly why: string; readonly silentMs: number } | null = null;
  /** This host's resolvers are to be asked. */
  askResolvers = false;
}

interface Undecided extends EndedClaim {
  /** What becomes of it if it turns out that others can be reached. */
  readonly verdict: "record" | "again" | "rest";
}

/** Times are monotonic milliseconds. */
export class Reachability {
  /** Whether nothing can be reached, so that nothing may start. */
  out = false;
  /** When `timePassed` has something to do. */
  wakeAt = Number.POSITIVE_INFINITY;
  readonly #outage: Outage;
  #undecided: Undecided[] = [];
  /** No look-up was answered; kept until the resolvers were asked. */
  #unresolved: EndedClaim[] = [];
  #asking = false;
  /** Whether the last question to the resolvers got no answer. */
  #askedInVain = false;
  /** Why this host says that it is cut off, if it does. */
  #why: string | null = null;
  #outBecause: { why: string; silentMs: number } | null = null;
  #stopped = false;

  /** `timeoutMs`: how long there must be no sign of anybody, which is an attempt's time limit. */
  constructor(timeoutMs: number) {
    this.#outage = new Outage(timeoutMs);
  }

  ended(batch: readonly EndedClaim[], now: number): Judgement {
    const judgement = new Judgement();
    this.#judge(batch, now, judgement);
    return judgement;
  }

  /** This host's resolvers were asked: `why` they are of no use to anybody, or null. */
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

  /** Keeps nothing any more: what is undecided is recorded as it is, and so is what ends later. */
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
    const heard = lastHeard(outcome, evidence);
    if (heard === undefined) {
      judgement.record.push(each);
      return;
    }
    const startedAt = each.endedAt - outcome.durationMs;
    const unheard = isUnheard(evidence);
    const host = unheard || this.#outage.tellsHostsApart ? new URL(url).hostname : null;
    if (heard === null && this.#outage.wasOutAt(startedAt)) {
      judgement.again.push(each);
      return;
    }
    // Once found to lie in a network of its own, it proves nothing any more, and comes to the end of its ladder.
    const spared = evidence === "cut_off" && !this.#outage.isSilent(host!);
    if (heard === null) this.#outage.noSign(host!, startedAt, now);
    else this.#outage.sign(host, startedAt + heard);
    if (evidence === "cut_off") {
      this.#outage.cutOff(host!);
      if (spared) this.#why = detail;
    }
    if (ours && !spared && !this.out) judgement.rest.push(each);
    // What got its last sign before a silence, and ran out of time in it, failed in it too.
    else if (!unheard || this.#outage.reach === "clear") judgement.record.push(each);
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
    // Others can be reached, or too few cannot.
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
 * When in the attempt the last sign of its host came, in milliseconds since the start; null when there was none, and
 * undefined when nobody was asked.
 */
function lastHeard({ durationMs, phases }: Outcome, evidence: Evidence): number | null | undefined {
  if (isUnheard(evidence)) return phases.firstByteMs ?? phases.tlsMs ?? phases.connectMs;
  return evidence === "answer" ? durationMs : undefined;
}

/** As the resolvers' answer has it. */
function judged(each: EndedClaim, why: string | null): EndedClaim {
  const { outcome } = each.ended;
  if (why === null) return { ...each, ended: { ...each.ended, outcome: { ...outcome, evidence: "silence" } } };
  const { durationMs, phases } = outcome;
  const ours = noResponse("interrupted", why, durationMs, { phases, evidence: "cut_off" });
  return { ...each, ended: { ...each.ended, outcome: ours } };
}

function asOurs(each: EndedClaim): EndedClaim {
  const { outcome } = each.ended;
  if (!isUnheard(outcome.evidence ?? evidenceOf(outcome.error))) return each;
  const { durationMs, phases, remoteAddress } = outcome;
  const ours = noResponse("interrupted", "nothing could be reached", durationMs, { phases, remoteAddress });
  return { ...each, ended: { ...each.ended, outcome: ours } };
}
