import * as fc from "fast-check";
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isGuessable, isSigningSecret, newSigningSecret } from "../../src/domain/endpoints/secret.ts";

describe("signing secrets", () => {
  it("are whsec_ and the base64 of 32 bytes", () => {
    expect(newSigningSecret(() => new Uint8Array(32))).toBe(`whsec_${"A".repeat(43)}=`);
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (b) => isSigningSecret(newSigningSecret(() => b))),
    );
    expect(() => newSigningSecret(() => new Uint8Array(16))).toThrow(RangeError);
  });

  it.each(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "It's a Secret to Everybody", "9f86d081884c7d65"])(
    "may be brought along as %j",
    (text) => {
      expect(isSigningSecret(text)).toBe(true);
    },
  );

  const whsec = (bytes: Uint8Array) => `whsec_${Buffer.from(bytes).toString("base64")}`;

  it.each([
    "a".repeat(16),
    "0000000000000000",
    "0123012301230123",
    "abababababababab",
    "passwordpassword",
    "changeme-changeme-chan",
    "1111222233334444",
    "0123456789012345",
    "0123456789abcdef",
    "abcdefghijklmnopqrstuvwxyz",
    "zyxwvutsrqponmlk",
    `a${"b".repeat(60)}cc`,
    whsec(new Uint8Array(24)),
    whsec(new Uint8Array(64).fill(255)),
    whsec(Buffer.from("secret".repeat(4))),
    whsec(Uint8Array.from({ length: 32 }, (_, at) => at)),
  ])("are guessable, and not to be brought along: %j", (text) => {
    expect([isSigningSecret(text), isGuessable(text)]).toEqual([true, true]);
  });

  // These secrets are made up in the format of each provider.
  it.each([
    ["Stripe", "whsec_5e8b1f0c2a7d4936b1e07fa2c98d3450a6be17f2c4d09853ee71ab60f2d3c948".slice(0, 38)],
    ["Svix", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    [
      "GitHub, by its own advice (ruby -rsecurerandom -e 'puts SecureRandom.hex(20)')",
      "d12f0b7c9a4e865f3210bd67aa90c8e4571f3b6d",
    ],
    ["Shopify", "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"],
    ["Shopify, older", "hush3b9fa7712c8d4e05916ab7c2d83fe049"],
    ["Slack", "8f742231b10e8888abcd99yyyzzz85a5"],
    ["Standard Webhooks' own vectors", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"],
    ["a sentence", "It's a Secret to Everybody"],
    ["a password manager, 16 characters", "k9#Vt2qLx8@Zb4Rw"],
    ["a UUID", "3f2504e0-4f89-41d3-9a0c-0305e82c3301"],
    ["sixteen hexadecimal digits", "9f86d081884c7d65"],
    ["sixteen decimal digits", "7402918365520947"],
    ["64 hexadecimal digits", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"],
  ])("may be those of %s", (_, text) => {
    expect(isGuessable(text)).toBe(false);
  });

  it("are not guessable if they are random, of 16 bytes or more, however they are written", () => {
    const bytes = Array.from({ length: 5000 }, () => randomBytes(16));
    for (const one of bytes)
      for (const text of [
        one.toString("hex"),
        one.toString("base64"),
        one.toString("base64url"),
        whsec(Buffer.concat([one, randomBytes(8)])),
      ])
        expect(isGuessable(text), text).toBe(false);
  });

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
