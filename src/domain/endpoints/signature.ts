/**
 * The two signatures of a request. `X-Service-Signature` is hex HMAC-SHA256 over the exact body bytes, its key the UTF-8
 * bytes of the secret as shown; `webhook-signature` is Standard Webhooks, its key the base64-decoded part after `whsec_`.
 */
import { createHmac, createSecretKey, timingSafeEqual, type Hmac, type KeyObject } from "node:crypto";
import { SECRET_PREFIX } from "./secret.ts";

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
