import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { newSigningSecret, signingKey, verifyingKey } from "../../src/domain/endpoints/secret.ts";

const bytes = fc.uint8Array({ maxLength: 300 });
const secret = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => newSigningSecret(() => bytes));

const VECTOR = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestamp: 1614265330,
  body: '{"test": 2432232314}',
  signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};

describe("X-Service-Signature", () => {
  const key = "It's a Secret to Everybody";
  const signature = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

  it("is the specified vector, from the secret as from its key object", () => {
    expect(signingKey(key).signBody("Hello, World!")).toBe(signature);
    expect(signingKey(key).signBody(Buffer.from("Hello, World!"))).toBe(signature);
  });

  it("is keyed by the secret as shown, whsec_ included", () => {
    fc.assert(
      fc.property(secret, bytes, (text, body) => {
        const expected = createHmac("sha256", Buffer.from(text, "utf8")).update(body).digest("hex");
        expect(signingKey(text).signBody(body)).toBe(expected);
      }),
    );
  });

  it("verifies for the body that was signed and for no other", () => {
    fc.assert(
      fc.property(secret, bytes, bytes, (text, body, other) => {
        const signed = signingKey(text).signBody(body);
        expect(verifyingKey(text).verifyBody(body, signed)).toBe(true);
        expect(verifyingKey(text).verifyBody(other, signed)).toBe(Buffer.compare(body, other) === 0);
      }),
    );
  });

  it.each(["", "757107ea", `${signature}00`, ` ${signature}`, `${signature}\n`, "z".repeat(64), `sha256=${signature}`])(
    "does not verify as %j",
    (given) => {
      expect(verifyingKey(key).verifyBody("Hello, World!", given)).toBe(false);
    },
  );

  it("does not verify under another secret", () => {
    expect(verifyingKey(`${key}!`).verifyBody("Hello, World!", signature)).toBe(false);
  });
});

describe("webhook-signature", () => {
  it("is the published vector", () => {
    expect(signingKey(VECTOR.secret).signStandard(VECTOR.id, VECTOR.timestamp, VECTOR.body)).toBe(VECTOR.signature);
  });

  it("is what the Standard Webhooks library signs and verifies", () => {
    const printableBody = fc.string({ unit: "binary", maxLength: 200 }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(secret, printableBody, fc.integer({ min: 0, max: 4e9 }), (text, body, seconds) => {
        const signed = signingKey(text).signStandard("evt_1", seconds, body);
        expect(signed).toBe(new Webhook(text).sign("evt_1", new Date(seconds * 1000), body));
      }),
      // The library hashes in plain JavaScript, which is slow.
      { numRuns: 50 },
    );
  });

  it("is keyed by the bytes of a secret that is not whsec_", () => {
    const key = signingKey("It's a Secret to Everybody");
    const expected = createHmac("sha256", "It's a Secret to Everybody").update("evt_1.7.{}").digest("base64");
    expect(key.signStandard("evt_1", 7, "{}")).toBe(`v1,${expected}`);
  });

  it("verifies while one of several entries is right, as during a rotation", () => {
    const key = verifyingKey(VECTOR.secret);
    const verify = (header: string) => key.verifyStandard(VECTOR.id, VECTOR.timestamp, VECTOR.body, header);
    const other = `v1,${Buffer.alloc(32).toString("base64")}`;
    expect(verify(VECTOR.signature)).toBe(true);
    expect(verify(`${other} ${VECTOR.signature}`)).toBe(true);
    expect(verify(`v1a,abc ${VECTOR.signature} ${other}`)).toBe(true);
    expect(verify(other)).toBe(false);
    expect(verify(VECTOR.signature.replace("v1", "v2"))).toBe(false);
    expect(verify("")).toBe(false);
    expect(verify("v1,")).toBe(false);
  });

  it("covers id, timestamp and body", () => {
    const key = verifyingKey(VECTOR.secret);
    expect(key.verifyStandard("evt_other", VECTOR.timestamp, VECTOR.body, VECTOR.signature)).toBe(false);
    expect(key.verifyStandard(VECTOR.id, VECTOR.timestamp + 1, VECTOR.body, VECTOR.signature)).toBe(false);
    expect(key.verifyStandard(VECTOR.id, VECTOR.timestamp, `${VECTOR.body} `, VECTOR.signature)).toBe(false);
  });
});
