/** Where endpoints may be, as the configuration says: for registrations, deliveries, alerts and probes alike. */
import type { Config } from "../config.ts";
import type { AddressPolicy, AddressRules } from "../domain/network/address.ts";
import type { UrlPolicy } from "../domain/network/url.ts";

type Given = Pick<Config, "egress" | "dev">;

/** `ownPort` is the one that the API listens on. */
export function addressRules({ egress, dev }: Given, ownPort: number): AddressRules {
  const { allowCidrs, denyCidrs, tenants } = egress;
  return { allowCidrs, denyCidrs, tenants, allowLoopback: dev, ownPort };
}

/** The way out to endpoints: what a sender and a probe are made from. */
export function egressSettings(given: Given & Pick<Config, "retry">, ownPort: number) {
  const { resolver, caFile } = given.egress;
  return { addresses: addressRules(given, ownPort), resolver, caFile, timeoutMs: given.retry.timeout };
}

export function urlPolicies(
  given: Given,
  ownPort: number,
  policyOf: (rules: AddressRules) => AddressPolicy,
): (tenant: string) => UrlPolicy {
  const { allowHttp, ports, allowIpHosts } = given.egress;
  const address = policyOf(addressRules(given, ownPort));
  return (tenant) => ({ allowHttp, ports, allowIpHosts, address, tenant, dev: given.dev });
}
