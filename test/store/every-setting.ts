import { readFileSync } from "node:fs";
import type { EndpointSettings } from "../../src/domain/endpoints/endpoint.ts";

/**
 * Each setting of an endpoint, with a value that is not its default. Tests of changing and of keeping settings use
 * these. A new setting must be added here, or this does not compile.
 */
export const EVERY_SETTING: EndpointSettings = {
  uid: "changed",
  url: "https://changed.example.com/",
  events: ["goal.achieved"],
  filter: { data: { goal: { $gt: 5 } } },
  description: "changed",
  enabled: false,
  whenDisabled: "skip",
  ordering: "by_key",
  afterFailure: "hold",
  format: "cloudevents",
  traceContext: true,
  signatures: ["ed25519", "hmac"],
  headers: { "X-Changed": "yes" },
  auth: { type: "basic", username: "changed", password: "changed password" },
  ca: readFileSync(new URL("../harness/tls/ca.pem", import.meta.url), "utf8"),
  ratePerSecond: 7,
  maxInFlight: 5,
  metadata: { changed: true },
};
