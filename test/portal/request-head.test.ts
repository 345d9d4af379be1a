import { describe, expect, it } from "vitest";
import type { Delivery, Endpoint } from "../../src/client/operations.ts";
import { headOf } from "../../src/portal/delivery/request-head.ts";

const delivery = { id: "dlv_1", event: "evt_1", test: false } as Delivery;
const endpoint = { url: "https://example.com/", headers: {}, signatures: ["hmac"] } as unknown as Endpoint;
const sent = { contentType: "application/json", headers: [], body: "{}" };
const head = (more: object) =>
  headOf({ delivery, endpoint, sent, attempt: undefined, header: "X-Service-Signature", isStandard: false, ...more });

describe("the head of a request", () => {
  it("has the number of the attempt, and makes none up where there was no attempt yet", () => {
    expect(head({ attempt: { url: endpoint.url, number: 3 } })).toMatch(/^x-webhookd-attempt: 3$/m);
    expect(head({})).not.toMatch(/x-webhookd-attempt: \d/);
  });

  it("has the headers of Standard Webhooks if the daemon sends them, or the endpoint chose Ed25519", () => {
    expect(head({})).not.toContain("webhook-signature");
    expect(head({ isStandard: true })).toContain("webhook-signature");
    expect(head({ endpoint: { ...endpoint, signatures: ["hmac", "ed25519"] } })).toContain("webhook-signature");
  });

  it("has the endpoint's own headers, without those that its format sets itself", () => {
    const own = { ...endpoint, headers: { "CE-Id": "***", "X-Team": "***" } };
    expect(head({ endpoint: { ...own, format: "envelope" } })).toMatch(/^CE-Id: /m);
    const binary = head({ endpoint: { ...own, format: "cloudevents_binary" } });
    expect(binary).not.toMatch(/^CE-Id: /m);
    expect(binary).toMatch(/^X-Team: /m);
  });

  it("has the header of the endpoint's auth, unless that is a certificate", () => {
    const shown = (auth: object | null) => head({ endpoint: { ...endpoint, auth } });
    expect(shown({ type: "bearer", token: "***" })).toMatch(/^authorization: /m);
    for (const auth of [null, { type: "mtls" }]) expect(shown(auth)).not.toContain("authorization");
  });

  it("has the number of an event that is delivered in order", () => {
    expect(head({ delivery: { ...delivery, sequence: 7 } })).toMatch(/^webhook-sequence: 7$/m);
    expect(head({})).not.toContain("webhook-sequence");
  });
});
