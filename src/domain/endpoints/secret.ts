/** Signing secrets: `whsec_` and base64 of 32 random bytes, or one brought along from another provider. */

export const SECRET_PREFIX = "whsec_";

/** Canonical base64 with padding. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const VISIBLE_ASCII = /^[\x20-\x7e]{16,256}$/;

/** `random` is 32 bytes from a cryptographic source. */
export function newSigningSecret(random: Uint8Array): string {
  if (random.length !== 32) throw new RangeError("a signing secret needs 32 random bytes");
  return SECRET_PREFIX + Buffer.from(random).toString("base64");
}

/**
 * Whether a secret brought along can sign: 24 to 64 bytes of base64 after `whsec_` (Standard Webhooks), or, without that
 * prefix, 16 to 256 characters of visible ASCII and spaces, none at the ends.
 */
export function isSigningSecret(text: string): boolean {
  if (!VISIBLE_ASCII.test(text) || text.trim() !== text) return false;
  if (!text.startsWith(SECRET_PREFIX)) return true;
  const encoded = text.slice(SECRET_PREFIX.length);
  const bytes = Buffer.from(encoded, "base64").length;
  return BASE64.test(encoded) && bytes >= 24 && bytes <= 64;
}
