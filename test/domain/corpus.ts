/** The SSRF corpus as cases for the domain: the verdict at registration, and the verdict on each resolved address. */
import corpus from "../corpora/ssrf-corpus.json" with { type: "json" };
import type { UrlPolicy } from "../../src/domain/network/url.ts";
import { anAddressPolicy } from "../harness/egress.ts";

interface Entry {
  readonly id: string;
  readonly input: {
    readonly url: string;
    /** One list of addresses per lookup. */
    readonly dns?: readonly (readonly string[])[];
    readonly config?: EgressConfig;
  };
  readonly expect: { readonly verdict: string; readonly stage: string; readonly code: string | null };
  readonly why: string;
}

interface EgressConfig {
  readonly allow_cidrs?: readonly string[];
  readonly allow_hosts?: readonly string[];
  readonly deny_cidrs?: readonly string[];
  readonly own_addresses?: readonly string[];
  readonly allow_ip_hosts?: boolean;
  readonly allow_http?: boolean;
  readonly allowed_ports?: readonly number[] | "any";
}

export const ssrfCorpus = corpus as readonly Entry[];

/** Returns the defaults of `[egress]`, with some fields replaced. */
export function aUrlPolicy(fields: Partial<UrlPolicy> = {}): UrlPolicy {
  return {
    allowHttp: false,
    ports: [443, 8443],
    allowIpHosts: true,
    allowHosts: [],
    address: anAddressPolicy(),
    tenant: "default",
    dev: false,
    ...fields,
  };
}

export function policyOf({ input: { config = {} } }: Entry): UrlPolicy {
  return aUrlPolicy({
    allowHttp: config.allow_http ?? false,
    ports: config.allowed_ports ?? [443, 8443],
    allowIpHosts: config.allow_ip_hosts ?? true,
    allowHosts: config.allow_hosts ?? [],
    address: anAddressPolicy(
      { allowCidrs: config.allow_cidrs ?? [], denyCidrs: config.deny_cidrs ?? [] },
      config.own_addresses,
    ),
  });
}
