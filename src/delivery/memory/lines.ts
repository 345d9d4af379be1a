/**
 * Keeps the attempts of each ordering key apart: one is handed to the sender only when no other of its line is loaded.
 * The store lets only the first of a line be due, but an attempt may still be on the wire when its delivery is cancelled
 * or overtaken, or when somebody asks for one outside the ladder.
 */
import type { Claim } from "../../domain/deliveries/delivery.ts";

/** The claims of one line that are loaded: the one that was handed over, and those that wait for its release. */
interface Turn {
  delivery: string;
  readonly waiting: Claim[];
}

export class Lines {
  /** By endpoint and key. */
  readonly #turns = new Map<string, Turn>();
  readonly #lineOf = new Map<string, string>();

  /** True if the claim may be handed over now. Otherwise it waits here. */
  enter(claim: Claim): boolean {
    const { delivery, endpoint, ordered } = claim;
    if (ordered === undefined) return true;
    const line = `${endpoint} ${ordered.key}`;
    const turn = this.#turns.get(line);
    if (turn === undefined) {
      this.#turns.set(line, { delivery, waiting: [] });
      this.#lineOf.set(delivery, line);
      return true;
    }
    if (turn.delivery === delivery) return true;
    if (!turn.waiting.some((one) => one.delivery === delivery)) turn.waiting.push(claim);
    return false;
  }

  /** The delivery is not loaded any more. Returns the claims that waited for that, to be handed over. */
  released(delivery: string): readonly Claim[] {
    const line = this.#lineOf.get(delivery);
    if (line === undefined) return NONE;
    this.#lineOf.delete(delivery);
    const { waiting } = this.#turns.get(line)!;
    this.#turns.delete(line);
    return waiting;
  }

  /** True if any claim of a line is loaded. */
  get some(): boolean {
    return this.#lineOf.size > 0;
  }

  /** Removes and returns the endpoint's claims that wait here. */
  takeBack(endpoint: string): readonly Claim[] {
    const taken: Claim[] = [];
    for (const [line, { waiting }] of this.#turns)
      if (line.startsWith(`${endpoint} `)) taken.push(...waiting.splice(0));
    return taken;
  }
}

const NONE: readonly Claim[] = [];
