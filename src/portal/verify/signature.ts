/** Computes and verifies signatures in the browser: of the raw body, and `webhook-signature` of Standard Webhooks. */

/** Browsers offer `crypto.subtle` only on https and localhost. */
export function canSign(): boolean {
  return globalThis.crypto?.subtle !== undefined;
}

/**
 * Returns true if the secret is for HMAC, the only kind that this page knows. Any text can be its key, except whpk_ and
 * whsk_, which Standard Webhooks uses for other keys. Anyone may know a whpk_ key, so it must never be used for HMAC.
 */
export function isHmacSecret(secret: string): boolean {
  return !/^wh[ps]k_/.test(secret.trim());
}

const utf8 = new TextEncoder();

export async function mac(key: Uint8Array | string, text: string, hash = "SHA-256"): Promise<Uint8Array> {
  const bytes = typeof key === "string" ? utf8.encode(key) : key;
  const usable = await crypto.subtle.importKey("raw", bytes as BufferSource, { name: "HMAC", hash }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", usable, utf8.encode(text)));
}

export async function plainHash(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", utf8.encode(text)));
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** Returns null if the text is not base64. */
export function unbase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

/**
 * Returns the key that Standard Webhooks uses: decoded, without the prefix. Returns null for a secret without the
 * prefix.
 */
export function decodedSecret(secret: string): Uint8Array | null {
  return secret.startsWith("whsec_") ? unbase64(secret.slice(6)) : null;
}

export async function signBody(secret: string, body: string): Promise<string> {
  return hex(await mac(secret, body));
}

export async function signStandard(secret: string, id: string, seconds: number, body: string): Promise<string> {
  return `v1,${base64(await mac(decodedSecret(secret) ?? secret, `${id}.${seconds}.${body}`))}`;
}

export type Verifies = (signature: Uint8Array, text: string) => Promise<boolean>;

/**
 * Makes a verifier from a public key, `whpk_` and base64. Returns null if the text is no such key, or if the browser
 * does not support Ed25519, as some from 2024 do not.
 */
export async function verifierOf(publicKey: string): Promise<Verifies | null> {
  const bytes = publicKey.startsWith("whpk_") ? unbase64(publicKey.slice(5)) : null;
  if (bytes === null) return null;
  try {
    const key = await crypto.subtle.importKey("raw", bytes as BufferSource, "Ed25519", false, ["verify"]);
    return (signature, text) => crypto.subtle.verify("Ed25519", key, signature as BufferSource, utf8.encode(text));
  } catch {
    return null;
  }
}
