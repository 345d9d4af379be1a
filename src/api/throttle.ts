/** Counts failed authentications per peer: 30 a minute, in bounded memory. */
import { isIPv6 } from "node:net";

const LIMIT = 30;
const WINDOW_MS = 60_000;
const MAX_PEERS = 10_000;

interface Window {
  failures: number;
  readonly endsAt: number;
}

export interface Throttled {
  readonly seconds: number;
  /** Whether this failure is the first one over the limit, which is worth a line in the log. */
  readonly isNews: boolean;
}

export class FailureThrottle {
  readonly #windows = new Map<string, Window>();

  /** Notes a failure; how long to wait when the peer has used up its failures, else null. `now` is monotonic. */
  fail(address: string, now: number): Throttled | null {
    const peer = peerOf(address);
    let window = this.#windows.get(peer);
    if (window === undefined || window.endsAt <= now) {
      window = { failures: 0, endsAt: now + WINDOW_MS };
      this.#windows.delete(peer);
      // The map keeps the order of insertion: the first one is the window that ends first.
      if (this.#windows.size >= MAX_PEERS) this.#windows.delete(this.#windows.keys().next().value!);
      this.#windows.set(peer, window);
    }
    window.failures += 1;
    if (window.failures <= LIMIT) return null;
    return { seconds: Math.max(1, Math.ceil((window.endsAt - now) / 1000)), isNews: window.failures === LIMIT + 1 };
  }
}

/** A host owns a whole IPv6 /64, so that is what counts as one peer. */
function peerOf(address: string): string {
  if (!isIPv6(address) || address.startsWith("::ffff:")) return address;
  return address.split("::")[0]!.split(":").slice(0, 4).join(":");
}
