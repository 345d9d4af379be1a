/** Whether a name that nobody knew anything of was one customer's trouble, or all look-ups are in vain. */
import { promises as dns } from "node:dns";

/** Why this host's resolvers are of no use to anybody, in a sentence; null when they are, as far as one can see. */
export type AskResolvers = () => Promise<string | null>;

/** What a resolver that works never says of the root. */
const USELESS = new Set(["ETIMEOUT", "ECONNREFUSED", "ESERVFAIL", "EREFUSED"]);

/** Asks for the name servers of the root, which any resolver knows, and which tells nobody anything of ours. */
export function caresAskResolvers(servers?: readonly string[]): AskResolvers {
  return async () => {
    // Made anew: it reads the list of resolvers once, and that may have changed.
    const resolver = new dns.Resolver({ timeout: 1000, tries: 1 });
    if (servers !== undefined) resolver.setServers(servers);
    try {
      await resolver.resolveNs(".");
      return null;
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      return USELESS.has(code) ? `this host's DNS resolvers answer nothing (${code})` : null;
    }
  };
}
