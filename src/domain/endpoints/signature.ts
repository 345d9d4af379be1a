/**
 * Signing secrets, and the two signatures of a request. `X-Service-Signature` is hex HMAC-SHA256 over the exact body
 * bytes, its key the UTF-8 bytes of the secret as shown; `webhook-signature` is Standard Webhooks, its key the base64-decoded part after `whsec_`.
 */
import { createHmac, createSecretKey, timingSafeEqual, type Hmac, type KeyObject } from "node:crypto";

/** A secret is `whsec_` and base64 of 32 random bytes, or one brought along from another provider. */
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

type Bytes = Uint8Array | string;

export interface SigningKeys {
  readonly specified: KeyObject;
  readonly standard: KeyObject;
}

/** Both keys of a secret; keep them as long as the secret, they are made for each attempt otherwise. */
export function signingKeys(secret: string): SigningKeys {
  const specified = keyOf(secret);
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : null;
  return { specified, standard: encoded === null ? specified : createSecretKey(encoded, "base64") };
}

/** The value of `X-Service-Signature`: 64 lower-case hex digits. A string key is the secret as shown. */
export function signBody(key: KeyObject | string, body: Bytes): string {
  return bodyMac(key, body).digest("hex");
}

/** One entry of `webhook-signature`, `v1,<base64>`, over `id.timestamp.body`. The timestamp is the attempt's, in seconds. */
export function signStandard(key: KeyObject, id: string, timestampSeconds: number, body: Bytes): string {
  return `v1,${standardMac(key, id, timestampSeconds, body).digest("base64")}`;
}

/** In constant time. Anything but 64 hex digits is false. */
export function verifyBody(key: KeyObject | string, body: Bytes, signature: string): boolean {
  return (
    /^[0-9a-f]{64}$/i.test(signature) && timingSafeEqual(bodyMac(key, body).digest(), Buffer.from(signature, "hex"))
  );
}

/** In constant time, against each entry of the header; entries of other versions are ignored. Freshness is the caller's. */
export function verifyStandard(
  key: KeyObject,
  id: string,
  timestampSeconds: number,
  body: Bytes,
  header: string,
): boolean {
  const expected = standardMac(key, id, timestampSeconds, body).digest();
  return header.split(" ").some((entry) => {
    const given = entry.startsWith("v1,") ? Buffer.from(entry.slice(3), "base64") : null;
    return given?.length === expected.length && timingSafeEqual(expected, given);
  });
}

// Not digested here: a text straight from the digest costs a third less than one by way of a buffer.
function bodyMac(key: KeyObject | string, body: Bytes): Hmac {
  return createHmac("sha256", typeof key === "string" ? keyOf(key) : key).update(body);
}

function standardMac(key: KeyObject, id: string, timestampSeconds: number, body: Bytes): Hmac {
  return createHmac("sha256", key).update(`${id}.${timestampSeconds}.`).update(body);
}

function keyOf(secret: string): KeyObject {
  return createSecretKey(secret, "utf8");
}
