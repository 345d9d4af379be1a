import type { EndpointSettings } from "../../src/domain/endpoints/endpoint.ts";

/**
 * Each setting of an endpoint with another value than its default. What changes it and what keeps it is tested with these:
 * a setting that is added has to be named here, or this does not compile.
 */
export const EVERY_SETTING: EndpointSettings = {
  uid: "changed",
  url: "https://changed.example.com/",
  events: ["goal.achieved"],
  description: "changed",
  enabled: false,
  whenDisabled: "skip",
  headers: { "X-Changed": "yes" },
  ratePerSecond: 7,
  maxInFlight: 5,
  metadata: { changed: true },
};
