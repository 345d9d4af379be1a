import { systemClock } from "../../src/clock.ts";
import { AddressPolicy, type AddressRules } from "../../src/domain/address.ts";
import type { Claim } from "../../src/domain/delivery.ts";
import { Egress, trust, type EgressParts } from "../../src/delivery/http/egress.ts";
import type { SignedRequest } from "../../src/delivery/send/signed-request.ts";
import { caFile } from "./tls.ts";

/** Of a host without addresses of its own, unless they are given. */
export function anAddressPolicy(rules: Partial<AddressRules> = {}, ownAddresses: readonly string[] = []) {
  const none = { allowCidrs: [], denyCidrs: [], tenants: [], allowLoopback: false, ownPort: 0 };
  return new AddressPolicy({ ...none, ...rules }, () => ownAddresses);
}

export const PUBLIC_ONLY = anAddressPolicy();
export const LOOPBACK_TOO = anAddressPolicy({ allowLoopback: true });

/** Trusts the authority of tls/ as well. */
export const testTrust = trust(caFile);

/** An egress that may reach this host, looks nothing up, and has all the time that a busy machine may need. */
export function testEgress(parts: Partial<EgressParts> = {}): Egress {
  return new Egress({
    clock: systemClock,
    policy: LOOPBACK_TOO,
    resolve: (hostname) => Promise.reject(new Error(`nobody should look up ${hostname}`)),
    secureContext: testTrust,
    timeoutMs: 60_000,
    bodyMs: 60_000,
    ...parts,
  });
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
