import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSigningSecret, newSigningSecret } from "../../src/domain/endpoints/secret.ts";

describe("signing secrets", () => {
  it("are whsec_ and the base64 of 32 bytes", () => {
    expect(newSigningSecret(() => new Uint8Array(32))).toBe(`whsec_${"A".repeat(43)}=`);
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (b) => isSigningSecret(newSigningSecret(() => b))),
    );
    expect(() => newSigningSecret(() => new Uint8Array(16))).toThrow(RangeError);
  });

  it.each(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "It's a Secret to Everybody", "0123456789abcdef"])(
    "may be brought along as %j",
    (text) => {
      expect(isSigningSecret(text)).toBe(true);
    },
  );

  it.each([
    ["empty", ""],
    ["too short to guess", "hunter2"],
    ["longer than 256 characters", "x".repeat(257)],
    ["with a control character", "0123456789abcdef\n"],
    ["with a space at an end", "0123456789abcdef "],
    ["not ASCII", "ключ-ключ-ключ-ключ"],
    ["whsec_ without base64 after it", "whsec_not base64 at all, not at all"],
    ["whsec_ with base64 lacking its padding", `whsec_${"A".repeat(43)}`],
    ["whsec_ of fewer than 24 bytes", `whsec_${Buffer.alloc(23).toString("base64")}`],
    ["an Ed25519 key of Standard Webhooks, which is no HMAC's", `whsk_${Buffer.alloc(32, 7).toString("base64")}`],
    ["the public one of such a key", `whpk_${Buffer.alloc(32, 7).toString("base64")}`],
    ["whsec_ of more than 64 bytes", `whsec_${Buffer.alloc(65).toString("base64")}`],
  ])("are refused when %s", (_, text) => {
    expect(isSigningSecret(text)).toBe(false);
  });
});
