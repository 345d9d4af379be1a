/** Looks up the addresses of a name, with one A and one AAAA query. */
import { promises as dns } from "node:dns";
import { isInconclusive, type AttemptError, type Evidence } from "../../domain/deliveries/attempt.ts";
import { codeOf, Fault, faultOf } from "./fault.ts";

/** Returns all addresses of a name, at least one. Rejects with a `Fault`. The addresses are not vetted yet. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** Returns the resolver that the configuration names. With `dev`, `localhost` is this host, without a look-up. */
export function createResolve(kind: "c-ares" | "system", dev: boolean): Resolve {
  const resolve = kind === "system" ? systemResolve : caresResolve();
  if (!dev) return resolve;
  return (hostname) => (hostname === "localhost" ? Promise.resolve(["127.0.0.1", "::1"]) : resolve(hostname));
}

/**
 * Uses c-ares, which waits on its own sockets. getaddrinfo would hold one of four threads for every silent DNS server,
 * and a few of those would stall everybody. Nor does c-ares read /etc/hosts, so that file cannot bypass the address
 * rules.
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
    // c-ares reads the list of resolvers only once. A host that has moved, or had no network at the start, has other
    // resolvers by now.
    if (isInconclusive(fault.evidence) && resolver === current) current = open();
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
 * Maps the failed queries for one name to a fault: the first entry whose code occurs wins. If there is no code, all
 * queries were answered but held no address.
 */
const BY_CODE: readonly (readonly [code: string, error: AttemptError, sentence: string, evidence: Evidence])[] = [
  ["ENOTFOUND", "dns_failure", "the host name does not exist", "answer"],
  ["ETIMEOUT", "timeout", "DNS did not answer in time", "no_look_up"],
  // c-ares reports this when it could ask none of this host's own resolvers.
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

/** Returns a sentence about why this host's resolvers are of no use, or null if they seem to work. */
export type AskResolvers = () => Promise<string | null>;

/** Answers that a working resolver never gives about the root. */
const USELESS = new Set(["ETIMEOUT", "ECONNREFUSED", "ESERVFAIL", "EREFUSED"]);

/**
 * Distinguishes one customer's broken name from resolvers that answer nothing. Asks for the name servers of the root,
 * which any resolver knows, and which reveals nothing about us.
 */
export async function askResolvers(): Promise<string | null> {
  // Use a new resolver, because it reads the list of resolvers only once, and the list may have changed.
  const resolver = new dns.Resolver({ timeout: 1000, tries: 1 });
  try {
    await resolver.resolveNs(".");
    return null;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    return USELESS.has(code) ? `this host's DNS resolvers do not answer (${code})` : null;
  }
}
