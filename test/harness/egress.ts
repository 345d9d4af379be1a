import { systemClock, type Clock } from "../../src/clock.ts";
import { AddressPolicy, type AddressRules } from "../../src/domain/network/address.ts";
import type { Claim } from "../../src/domain/deliveries/delivery.ts";
import type { SignedRequest } from "../../src/delivery/http/exchange.ts";
import { Egress, trust, type Network } from "../../src/delivery/http/egress.ts";
import { caFile } from "./tls.ts";

const NO_RULES: AddressRules = { allowCidrs: [], denyCidrs: [], tenants: [], allowLoopback: false, ownPort: 0 };

/** Returns the policy of a host that has no addresses of its own except the given ones. */
export function anAddressPolicy(rules: Partial<AddressRules> = {}, ownAddresses: readonly string[] = []) {
  return new AddressPolicy({ ...NO_RULES, ...rules }, () => ownAddresses);
}

export const PUBLIC_ONLY = anAddressPolicy();
export const LOOPBACK_TOO = anAddressPolicy({ allowLoopback: true });

/** Trusts the certificate authority of tls/ as well. */
export const testTrust = trust(caFile);

export interface TestEgressParts extends Network {
  readonly clock: Clock;
  readonly policy: AddressPolicy;
  readonly timeoutMs: number;
  readonly caFile: string;
}

/**
 * Returns an egress that may reach this host and does no look-ups. Its time limit is long enough for a busy machine.
 */
export function testEgress(parts: Partial<TestEgressParts> = {}): Egress {
  const { clock = systemClock, policy = LOOPBACK_TOO, timeoutMs = 60_000, caFile: named = "", ...network } = parts;
  const settings = { timeoutMs, addresses: NO_RULES, resolver: "c-ares", caFile: named } as const;
  const egress = new Egress(settings, clock, {
    resolve: (hostname) => Promise.reject(new Error(`nobody should look up ${hostname}`)),
    secureContext: testTrust,
    bodyMs: 60_000,
    ...network,
  });
  egress.policy = policy;
  return egress;
}

export function signedRequest(more: Partial<SignedRequest> = {}): SignedRequest {
  const headers = ["content-type", "application/json", "X-Service-Signature", "0".repeat(64)];
  return { method: "POST", path: "/hook", headers, body: Buffer.from(`{"id":"evt_1"}`), keepsAll: false, ...more };
}

export function claim(more: Partial<Claim> = {}): Claim {
  return {
    event: "evt_01",
    delivery: "dlv_01",
    endpoint: "ep_01",
    body: Buffer.from("Hello, World!"),
    corrupt: false,
    number: 1,
    round: 1,
    retry: 0,
    trigger: "ladder",
    dueAt: 0,
    fresh: true,
    ...more,
  } as Claim;
}
