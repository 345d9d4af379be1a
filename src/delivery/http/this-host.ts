/** What this host and this process have: addresses of their own, room for open files, resolvers that answer. */
import { promises as dns } from "node:dns";
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import type { Clock } from "../../clock.ts";
import { AddressPolicy, type AddressRules } from "../../domain/network/address.ts";
import { softLimitOf } from "../../domain/open-files.ts";

/** Where endpoints may be, by rules that may change: the one place where rules and this host's addresses meet. */
export function addressPolicies(
  clock: Pick<Clock, "monotonic">,
  ownAddresses: () => readonly string[] = readOwnAddresses(clock),
): (rules: AddressRules) => AddressPolicy {
  return (rules) => new AddressPolicy(rules, ownAddresses);
}

/** An address that was added counts a second later at the most; asking the kernel at each dial would cost too much. */
const FRESH_MS = 1000;

/** No endpoint may have one of these, unless it is named exactly. */
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

/** Files that this process may have open at once; null where the system does not tell. */
export function openFilesLimit(): number | null {
  try {
    return softLimitOf(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return null;
  }
}

/** Why this host's resolvers are of no use to anyone, in a sentence; null when they are, as far as one can see. */
export type AskResolvers = () => Promise<string | null>;

/** What a resolver that works never says of the root. */
const USELESS = new Set(["ETIMEOUT", "ECONNREFUSED", "ESERVFAIL", "EREFUSED"]);

/**
 * Tells one customer's trouble with a name from look-ups that are all in vain. Asks for the name servers of the root,
 * which any resolver knows, and which gives nothing of ours away.
 */
export async function askResolvers(): Promise<string | null> {
  // Made anew: it reads the list of resolvers once, and that may have changed.
  const resolver = new dns.Resolver({ timeout: 1000, tries: 1 });
  try {
    await resolver.resolveNs(".");
    return null;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    return USELESS.has(code) ? `this host's DNS resolvers do not answer (${code})` : null;
  }
}
