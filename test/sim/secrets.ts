/** The secrets of one receiver: what its owner has given it, and what it was told of rotations. */
import { verifyingKey, type VerifyingKey } from "../../src/domain/endpoints/secret.ts";
import type { SignedRequest } from "../../src/delivery/http/exchange.ts";

interface Held {
  readonly key: VerifyingKey;
  /** Wall clock. Not before it may this secret sign the given header; by `mustBy` it does. */
  mayFrom: number;
  mustBy: number;
  /** Was abandoned: it must not sign anything. */
  forgotten: boolean;
}

/** A switch comes with the tick after it is due. */
const LATE_MS = 1100;

export class SimSecrets {
  /** Whether nothing delays a switch. */
  untroubled = true;
  /** Whether the wall clock tells when something may be. */
  timely = true;
  /** In the order in which they were brought along. */
  readonly #held: Held[] = [];
  /** The latest that is known to have signed the given header: no earlier one ever does so again. */
  #signing = 0;
  /** Answered for: it signs the standard header beside the current one. -1 for none. */
  #beside = -1;

  /** The receiver accepts it from now on; it is of no use before it was registered or rotated to. */
  give(secret: string, mayFrom: number): SimSecret {
    const held = { key: verifyingKey(secret), mayFrom, mustBy: Number.POSITIVE_INFINITY, forgotten: false };
    const place = this.#held.push(held) - 1;
    return {
      rotated: (switchesAt) => {
        this.#beside = place;
        held.mustBy = switchesAt + LATE_MS;
      },
      ending: () => {
        if (this.#beside === place) this.#beside = -1;
        held.mustBy = Number.POSITIVE_INFINITY;
      },
      completing: () => (held.mayFrom = Number.NEGATIVE_INFINITY),
      completed: () => (this.#signing = Math.max(this.#signing, place)),
      abandoned: () => (held.forgotten = true),
    };
  }

  /** What is wrong with the signatures of a request that leaves now. */
  faultOf({ headers, body }: SignedRequest, now: number): string | null {
    const value = (name: string) => headers[headers.indexOf(name) + 1]!;
    const [id, at, standard] = [value("webhook-id"), Number(value("webhook-timestamp")), value("webhook-signature")];
    const signs = ({ key }: Held) => key.verifyStandard(id, at, body, standard);
    const place = this.#held.findIndex(({ key }) => key.verifyBody(body, value("X-Service-Signature")));
    const signer = this.#held[place];
    if (signer === undefined) return "came with a wrong signature";
    if (!signs(signer)) return "came with a wrong standard signature";
    if (place < this.#signing) return "was signed with a secret from before a switch";
    this.#signing = place;
    if (this.#held.some((held) => held.forgotten && signs(held))) return "was signed with an abandoned secret";
    if (this.timely && now < signer.mayFrom) return "was signed with the next secret too early";
    if (place < this.#beside && !signs(this.#held[this.#beside]!)) return "was not signed with the next secret as well";
    const late = this.#held.some(({ mustBy }, other) => other > place && mustBy < now);
    return late && this.untroubled && this.timely ? "was signed with the old secret after the overlap" : null;
  }
}

/** What its owner hears and does about one secret. */
export interface SimSecret {
  rotated(switchesAt: number): void;
  ending(): void;
  completing(): void;
  completed(): void;
  abandoned(): void;
}
