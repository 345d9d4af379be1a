/**
 * Pairs what another sender has sent to an endpoint with what would have been sent from here. Events are the same if
 * they have the same publisher's id, or, where one side has none, the same type and payload.
 */
import { createHash } from "node:crypto";
import { canonical } from "../comparison.ts";

/** An event that one of both has sent, or would have. */
export interface Sent {
  /** The event's own name on that side. */
  readonly event: string;
  readonly type: string;
  readonly publisherId: string | null;
  /** A hash of the payload, however it is written. Null if it is not known. */
  readonly payload: string | null;
  /** When that side got it, in epoch milliseconds. */
  readonly at: number;
}

/** Returns the SHA-256 of the JSON with the members of each object in order. */
export function payloadHash(value: unknown): string {
  return createHash("sha256").update(canonical(value)).digest("hex");
}

export interface Span {
  readonly since: number;
  readonly until: number;
}

/** The events of one kind: how many there are, of which types, and the first of them. */
export interface Found {
  readonly count: number;
  readonly types: Readonly<Record<string, number>>;
  readonly examples: readonly Sent[];
}

export interface Compared {
  readonly both: number;
  readonly onlyThere: Found;
  readonly onlyHere: Found;
  /** The same publisher's id, and another type or payload. The examples are those there. */
  readonly different: Found;
}

const EXAMPLES = 3;

class Finds {
  #count = 0;
  readonly #types = new Map<string, number>();
  readonly #examples: Sent[] = [];

  add(sent: Sent): void {
    this.#count++;
    this.#types.set(sent.type, (this.#types.get(sent.type) ?? 0) + 1);
    if (this.#examples.length < EXAMPLES) this.#examples.push(sent);
  }

  get found(): Found {
    return { count: this.#count, types: Object.fromEntries(this.#types), examples: this.#examples };
  }
}

/** Compares the two sides of one endpoint. Add everything from there first. */
export class Sides {
  readonly #span: Span;
  /** The events there that have no partner yet, by each name that a partner may know. */
  readonly #byId = new Map<string, Set<Sent>>();
  readonly #byPayload = new Map<string, Set<Sent>>();
  /** The same without those that have a publisher's id. An event with an id of its own finds its partner here. */
  readonly #unnamed = new Map<string, Set<Sent>>();
  readonly #open = new Set<Sent>();
  #both = 0;
  readonly #onlyHere = new Finds();
  readonly #different = new Finds();

  constructor(span: Span) {
    this.#span = span;
  }

  there(sent: Sent): void {
    this.#open.add(sent);
    if (sent.publisherId !== null) into(this.#byId, sent.publisherId, sent);
    if (sent.payload === null) return;
    into(this.#byPayload, contentOf(sent), sent);
    if (sent.publisherId === null) into(this.#unnamed, contentOf(sent), sent);
  }

  /** Returns the same event there, or null if there is none. */
  here(sent: Sent): Sent | null {
    const partner = this.#partnerOf(sent);
    if (partner === null) {
      if (this.#isWithin(sent)) this.#onlyHere.add(sent);
      return null;
    }
    this.#take(partner);
    if (!this.#isWithin(sent) && !this.#isWithin(partner)) return partner;
    if (isSame(partner, sent)) this.#both++;
    else this.#different.add(partner);
    return partner;
  }

  compared(): Compared {
    const onlyThere = new Finds();
    for (const sent of this.#open) if (this.#isWithin(sent)) onlyThere.add(sent);
    return {
      both: this.#both,
      onlyThere: onlyThere.found,
      onlyHere: this.#onlyHere.found,
      different: this.#different.found,
    };
  }

  #partnerOf(sent: Sent): Sent | null {
    const named = sent.publisherId === null ? undefined : this.#byId.get(sent.publisherId);
    // A publisher may use an id twice, so one with the same payload goes first.
    if (named !== undefined) return [...named].find((one) => isSame(one, sent)) ?? [...named][0]!;
    if (sent.payload === null) return null;
    const alike = sent.publisherId === null ? this.#byPayload : this.#unnamed;
    const [first = null] = alike.get(contentOf(sent)) ?? [];
    return first;
  }

  #take(sent: Sent): void {
    this.#open.delete(sent);
    if (sent.publisherId !== null) outOf(this.#byId, sent.publisherId, sent);
    if (sent.payload === null) return;
    outOf(this.#byPayload, contentOf(sent), sent);
    if (sent.publisherId === null) outOf(this.#unnamed, contentOf(sent), sent);
  }

  /** Outside of the span, an event is only there so that its partner within finds it. */
  #isWithin({ at }: Sent): boolean {
    return at >= this.#span.since && at <= this.#span.until;
  }
}

function isSame(there: Sent, here: Sent): boolean {
  const isKnown = there.payload !== null && here.payload !== null;
  return there.type === here.type && (!isKnown || there.payload === here.payload);
}

function contentOf({ payload, type }: Sent): string {
  return `${payload} ${type}`;
}

function into(map: Map<string, Set<Sent>>, key: string, sent: Sent): void {
  const some = map.get(key);
  if (some === undefined) map.set(key, new Set([sent]));
  else some.add(sent);
}

function outOf(map: Map<string, Set<Sent>>, key: string, sent: Sent): void {
  const some = map.get(key)!;
  some.delete(sent);
  if (some.size === 0) map.delete(key);
}
