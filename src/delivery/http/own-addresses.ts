/** The addresses of this host, which no endpoint may have unless one is named exactly. */
import { networkInterfaces } from "node:os";
import type { Clock } from "../../clock.ts";

/** An address that was added counts a second later at the most; asking the kernel at each dial would cost too much. */
const FRESH_MS = 1000;

export function readOwnAddresses(
  clock: Pick<Clock, "monotonic">,
  interfaces: typeof networkInterfaces = networkInterfaces,
): () => readonly string[] {
  const read = () => Object.values(interfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  let addresses = read();
  let readAt = clock.monotonic();
  return () => {
    const now = clock.monotonic();
    if (now - readAt < FRESH_MS) return addresses;
    readAt = now;
    try {
      addresses = read();
    } catch {
      // No descriptor is left to ask with: what was known holds on.
    }
    return addresses;
  };
}
