/** The secrets of one receiver: those that its owner has given it, and the rotations that it knows of. */
import { verifyingKey, type VerifyingKey } from "../../src/domain/endpoints/secret.ts";
import type { SignedRequest } from "../../src/delivery/http/exchange.ts";

interface Held {
  readonly key: VerifyingKey;
  /** Wall-clock times: the secret may sign the given header from `mayFrom`, and must sign it by `mustBy`. */
  mayFrom: number;
  mustBy: number;
  /** True if the secret was abandoned and must sign nothing. */
  forgotten: boolean;
}

/** A switch happens at the tick after it is due. */
const LATE_MS = 1100;

export class SimSecrets {
  /** True if nothing delays a switch. */
  untroubled = true;
  /** True if the wall clock decides when a secret may sign. */
  timely = true;
  /** Secrets in the order in which they were given. */
  readonly #held: Held[] = [];
  /**
   * The position of the latest secret that is known to have signed the given header. No earlier one may do so again.
   */
  #signing = 0;
  /**
   * The position of the secret that must also sign the standard header, because its rotation was answered. -1 for none.
   */
  #beside = -1;

  /** The receiver accepts the secret from now on. It signs only once it is registered or rotated to. */
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

  /** Returns the fault in the signatures of a request that leaves now, or null. */
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

/** The events of one secret, which its owner reports. */
export interface SimSecret {
  rotated(switchesAt: number): void;
  ending(): void;
  completing(): void;
  completed(): void;
  abandoned(): void;
}
