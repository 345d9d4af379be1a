import { createHmac, randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { AsymmetricVerifyingKey, newPrivateKey, publicKeyOf } from "../../../src/domain/endpoints/asymmetric.ts";
import type { Send } from "../../../src/domain/deliveries/delivery.ts";
import { BODY_FORMATS } from "../../../src/domain/endpoints/body-format.ts";
import { signingKey } from "../../../src/domain/endpoints/secret.ts";
import { envelope } from "../../../src/domain/events/event.ts";
import { FORMATS } from "../../../src/domain/endpoints/further-signature.ts";
import type { Target } from "../../../src/domain/endpoints/endpoint.ts";
import { Signer, type SignatureOptions } from "../../../src/delivery/send/signer.ts";
import { claim } from "../../harness/egress.ts";
import { aTarget } from "../../harness/target.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEXT = `whsec_${Buffer.from("the secret that will take over").toString("base64")}`;
const OPTIONS: SignatureOptions = { header: "X-Service-Signature", standardWebhooks: true, also: [], version: "1.2.3" };

function aKeyPair() {
  const key = newPrivateKey(randomBytes);
  return { privateKeys: [key], publicKey: publicKeyOf(key) };
}

function pairs(headers: readonly string[]): [string, string][] {
  return Array.from({ length: headers.length / 2 }, (_, i) => [headers[2 * i]!, headers[2 * i + 1]!]);
}

describe("a signed request", () => {
  it("carries the documented headers in a fixed order and case", () => {
    const { method, path, headers } = new Signer(aTarget({ headers: { "X-Team": "billing" } }), OPTIONS).sign(
      claim({ number: 3 }),
      1_795_168_000,
    );
    expect([method, path]).toEqual(["POST", "/a/b?c=d"]);
    expect(pairs(headers)).toEqual([
      ["content-type", "application/json"],
      ["user-agent", "webhookd/1.2.3"],
      ["X-Service-Signature", expect.stringMatching(/^[0-9a-f]{64}$/)],
      ["webhook-id", "evt_01"],
      ["webhook-timestamp", "1795168000"],
      ["webhook-signature", expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/)],
      ["x-webhookd-delivery", "dlv_01"],
      ["x-webhookd-attempt", "3"],
      ["X-Team", "billing"],
    ]);
  });

  it("adds the headers of other senders for whom they are configured, and sends each name once", () => {
    const of = (name: keyof typeof FORMATS, tenants: string[] | null = null) => ({
      name,
      format: FORMATS[name],
      tenants,
      endpoints: null,
    });
    const also = [of("stripe"), of("github", ["default"]), of("shopify", ["acme"])];
    const headers = { "x-hub-signature-256": "old", "X-Team": "billing" };
    const signer = new Signer(aTarget({ headers, nextSigningSecret: NEXT }), { ...OPTIONS, also });
    const body = Buffer.from("{}");
    const sent = pairs(signer.sign(claim({ body }), 1_795_168_000).headers);
    expect(sent.map(([name]) => name).slice(6)).toEqual([
      "Stripe-Signature",
      "X-Hub-Signature-256",
      "x-webhookd-delivery",
      "x-webhookd-attempt",
      "X-Team",
    ]);
    const hex = (text: string, key = SECRET) => createHmac("sha256", key).update(text).digest("hex");
    const { "Stripe-Signature": stripe, "X-Hub-Signature-256": github } = Object.fromEntries(sent);
    expect(stripe).toBe(`t=1795168000,v1=${hex("1795168000.{}")},v1=${hex("1795168000.{}", NEXT)}`);
    // It has room for one, so the next secret would make a customer reject it.
    expect(github).toBe(`sha256=${hex("{}")}`);
  });

  it.each(BODY_FORMATS)("signs the bytes that it sends, as %s, with every signature", (format) => {
    const also = [{ name: "stripe", format: FORMATS.stripe, tenants: null, endpoints: null }];
    const headers = { "Ce-Id": "old", "X-Team": "billing" };
    const { privateKeys, publicKey } = aKeyPair();
    const parts = { format, headers, privateKeys, signatures: ["hmac", "ed25519"] as const };
    const data = Buffer.from('{"amount":1.10}');
    const stored = envelope("evt_01", "budget.exceeded", 1_795_168_000_000, data);
    const sent = new Signer(aTarget(parts), { ...OPTIONS, also }).sign(claim({ body: stored }), 1_795_168_000);
    const body = Buffer.from(sent.body);
    const isAlone = format === "data" || format === "cloudevents_binary";
    expect(body.toString()).toMatch(isAlone ? /^\{"amount":1\.10\}$/ : /^\{.*"type":"budget\.exceeded".*1\.10\}\}$/);
    if (format === "envelope") expect(sent.body).toBe(stored);
    const has = Object.fromEntries(pairs(sent.headers));
    expect(has["content-type"]).toBe(format === "cloudevents" ? "application/cloudevents+json" : "application/json");
    expect([has["ce-id"], has["Ce-Id"]]).toEqual(
      format === "cloudevents_binary" ? ["evt_01", undefined] : [undefined, "old"],
    );
    const hex = (signed: string) => createHmac("sha256", SECRET).update(signed).digest("hex");
    expect(has["X-Service-Signature"]).toBe(hex(body.toString()));
    expect(has["Stripe-Signature"]).toBe(`t=1795168000,v1=${hex(`1795168000.${body.toString()}`)}`);
    const [v1, v1a] = has["webhook-signature"]!.split(" ");
    expect(v1).toBe(signingKey(SECRET).signStandard("evt_01", 1_795_168_000, body));
    expect(new AsymmetricVerifyingKey(publicKey).verifyStandard("evt_01", 1_795_168_000, body, v1a!)).toBe(true);
  });

  it("signs the vector of the specification", () => {
    const signer = new Signer(aTarget({ signingSecret: "It's a Secret to Everybody" }), OPTIONS);
    const { headers } = signer.sign(claim({ body: Buffer.from("Hello, World!") }), 1);
    expect(headers).toContain("757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17");
  });

  it("signs the vector of Standard Webhooks", () => {
    const event = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const body = Buffer.from(`{"test": 2432232314}`);
    const { headers } = new Signer(aTarget(), OPTIONS).sign(claim({ event, body }), 1_614_265_330);
    expect(headers).toContain("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });

  it("is signed by both secrets during a rotation, the given header by the current one alone", () => {
    const body = Buffer.from(`{"amount":1.10}`);
    const now = Math.floor(Date.now() / 1000);
    const rotating = new Signer(aTarget({ nextSigningSecret: NEXT }), OPTIONS).sign(claim({ body }), now);
    const before = new Signer(aTarget(), OPTIONS).sign(claim({ body }), now);
    const sent = Object.fromEntries(pairs(rotating.headers));
    for (const secret of [SECRET, NEXT]) {
      expect(new Webhook(secret).verify(body.toString(), sent)).toEqual({ amount: 1.1 });
    }
    expect(sent["X-Service-Signature"]).toBe(Object.fromEntries(pairs(before.headers))["X-Service-Signature"]);
  });

  it("carries a v1a entry beside v1 for each private key, and the given header stays as it is", () => {
    const keys = [newPrivateKey(randomBytes), newPrivateKey(randomBytes)] as const;
    const signed = (more: Partial<Target>, options = OPTIONS) =>
      Object.fromEntries(pairs(new Signer(aTarget(more), options).sign(claim(), 1_795_168_000).headers));
    const entries = (headers: Record<string, string>) => headers["webhook-signature"]?.split(" ");
    const plain = signed({});
    const both = signed({ signatures: ["hmac", "ed25519"], privateKeys: keys });
    expect(entries(both)?.map((entry) => entry.split(",")[0])).toEqual(["v1", "v1a", "v1a"]);
    expect(entries(both)?.[0]).toBe(plain["webhook-signature"]);
    for (const [at, key] of keys.entries()) {
      const verifying = new AsymmetricVerifyingKey(publicKeyOf(key));
      const verifies = (header: string) => verifying.verifyStandard("evt_01", 1_795_168_000, claim().body, header);
      expect(verifies(both["webhook-signature"]!)).toBe(true);
      expect(verifies(entries(both)![at + 1]!)).toBe(true);
      expect(verifies(entries(both)![2 - at]!)).toBe(false);
    }
    // A library that knows only v1 ignores the rest.
    const now = Math.floor(Date.now() / 1000);
    const fresh = new Signer(aTarget({ signatures: ["ed25519", "hmac"], privateKeys: keys }), OPTIONS);
    const body = Buffer.from(`{"amount":1.10}`);
    const sent = Object.fromEntries(pairs(fresh.sign(claim({ body }), now).headers));
    expect(new Webhook(SECRET).verify(body.toString(), sent)).toEqual({ amount: 1.1 });
    const alone = signed({ signatures: ["ed25519"], privateKeys: keys.slice(0, 1), nextSigningSecret: NEXT });
    expect(entries(alone)).toEqual([entries(both)![1]]);
    for (const headers of [both, alone]) {
      expect(headers["X-Service-Signature"]).toBe(plain["X-Service-Signature"]);
    }
    // Choosing it turns on the headers only for this endpoint.
    const off = { ...OPTIONS, standardWebhooks: false };
    expect(signed({ signatures: ["ed25519"], privateKeys: keys.slice(0, 1) }, off)).toEqual(alone);
    expect(entries(signed({}, off))).toBeUndefined();
  });

  it("passes on the trace that its event belongs to where the endpoint asks for it, and none where there is none", () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const sent = (trace?: Send["trace"], traceContext = true) =>
      pairs(new Signer(aTarget({ traceContext }), OPTIONS).sign(claim({ trace }), 1).headers);
    const trace = (headers: [string, string][]) => headers.filter(([name]) => name.startsWith("trace"));
    expect(trace(sent({ traceparent, tracestate: "a=1" }))).toEqual([
      ["traceparent", traceparent],
      ["tracestate", "a=1"],
    ]);
    expect(trace(sent({ traceparent, tracestate: null }))).toEqual([["traceparent", traceparent]]);
    expect(trace(sent())).toEqual([]);
    expect(trace(sent({ traceparent, tracestate: "a=1" }, false))).toEqual([]);
  });

  it("says when it is a test, whose response is kept whole", () => {
    const signer = new Signer(aTarget(), OPTIONS);
    expect(signer.sign(claim({ trigger: "test" }), 1)).toMatchObject({ keepsAll: true });
    expect(pairs(signer.sign(claim({ trigger: "test" }), 1).headers)).toContainEqual(["x-webhookd-test", "1"]);
    expect(signer.sign(claim(), 1).keepsAll).toBe(false);
    expect(signer.sign(claim(), 1).headers).not.toContain("x-webhookd-test");
  });

  it("leaves the Standard Webhooks headers out when they are switched off, and renames its own", () => {
    const signer = new Signer(aTarget(), { ...OPTIONS, header: "X-Acme-Signature", standardWebhooks: false });
    const names = pairs(signer.sign(claim(), 1).headers).map(([name]) => name);
    expect(names).toContain("X-Acme-Signature");
    expect(names.filter((name) => name.startsWith("webhook-"))).toEqual([]);
  });

  it("never lets a header end early: the API accepts no such value, and none goes out", () => {
    const headers = { "X-Good": "1", "X-Bad": "1\r\ncontent-length: 0", "X-Worse\r\n": "1" };
    const names = pairs(new Signer(aTarget({ headers }), OPTIONS).sign(claim(), 1).headers).map(([name]) => name);
    expect(names.filter((name) => name.startsWith("X-"))).toEqual(["X-Service-Signature", "X-Good"]);
  });

  it("sends the very buffer that it signed", () => {
    const body = Buffer.from("{}");
    expect(new Signer(aTarget(), OPTIONS).sign(claim({ body }), 1).body).toBe(body);
  });
});
