/** From a name to addresses, in one lookup: one A and one AAAA query. */
import { promises as dns } from "node:dns";
import { isUnheard, type AttemptError, type Evidence } from "../../domain/deliveries/attempt.ts";
import { codeOf, Fault, faultOf } from "./fault.ts";

/** All addresses of a name, at least one; rejects with a `Fault`. Answers are not vetted here. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** The resolver that the configuration names. With `dev`, `localhost` is this host, without a look-up. */
export function createResolve(kind: "c-ares" | "system", dev: boolean): Resolve {
  const resolve = kind === "system" ? systemResolve : caresResolve();
  if (!dev) return resolve;
  return (hostname) => (hostname === "localhost" ? Promise.resolve(["127.0.0.1", "::1"]) : resolve(hostname));
}

/**
 * c-ares waits on its own sockets: getaddrinfo would hold one of four threads for every silent DNS server, and a few
 * of them would stall everybody. It reads no /etc/hosts, which is one way less around the address rules.
 */
export function caresResolve(options: { timeout?: number; servers?: readonly string[] } = {}): Resolve {
  const open = () => {
    const resolver = new dns.Resolver({ timeout: options.timeout ?? 1000, tries: 2 });
    if (options.servers !== undefined) resolver.setServers(options.servers);
    return resolver;
  };
  let current = open();
  return async (hostname) => {
    const resolver = current;
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const fault = dnsFault(answers.flatMap((one) => (one.status === "rejected" ? [codeOf(one.reason as Error)] : [])));
    // It reads the list of resolvers once: a host that moved, or had no network at the start, has others by now.
    if (isUnheard(fault.evidence) && resolver === current) current = open();
    throw fault;
  };
}

async function systemResolve(hostname: string): Promise<readonly string[]> {
  try {
    const answers = await dns.lookup(hostname, { all: true, order: "verbatim" });
    return answers.map((answer) => answer.address);
  } catch (error) {
    throw dnsFault([codeOf(error as Error)]);
  }
}

/**
 * What the failed queries for one name come to: the first of these that one of them says. No codes means that they all
 * were answered with nothing.
 */
const BY_CODE: readonly (readonly [code: string, error: AttemptError, sentence: string, evidence: Evidence])[] = [
  ["ENOTFOUND", "dns_failure", "the host name does not exist", "answer"],
  ["ETIMEOUT", "timeout", "DNS did not answer in time", "no_look_up"],
  // c-ares says so when not one of this host's own resolvers could be asked.
  ["ECONNREFUSED", "interrupted", "no DNS resolver could be reached", "cut_off"],
];

export function dnsFault(codes: readonly string[]): Fault {
  for (const [code, ...fault] of BY_CODE) if (codes.includes(code)) return new Fault(...fault);
  const ours = codes
    .map((code) => faultOf(Object.assign(new Error(), { code })))
    .find((fault) => fault.error === "interrupted");
  if (ours !== undefined) return ours;
  const code = codes.find((each) => each !== "ENODATA" && each !== "");
  if (code === undefined) return new Fault("dns_failure", "the host name has no address");
  return new Fault("dns_failure", `the DNS lookup failed (${code})`, "no_look_up");
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
