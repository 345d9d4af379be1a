import type { Target } from "../../src/domain/endpoints/endpoint.ts";

/** An endpoint as a sender gets it: without limits, and signed by HMAC alone, unless a test says otherwise. */
export function aTarget(more: Partial<Target> = {}): Target {
  return {
    endpoint: "ep_01",
    tenant: "default",
    url: "https://hooks.example.com/a/b?c=d",
    enabled: true,
    headers: {},
    auth: null,
    ca: null,
    signingSecret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    secretVersion: 1,
    nextSigningSecret: null,
    format: "envelope",
    traceContext: false,
    signatures: ["hmac"],
    privateKeys: [],
    ratePerSecond: null,
    maxInFlight: null,
    ...more,
  };
}
