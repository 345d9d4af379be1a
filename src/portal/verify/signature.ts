/** Signatures, made in the browser: that of the raw body, and `webhook-signature` of Standard Webhooks. */

/** Browsers have it on https and on this machine only. */
export function canSign(): boolean {
  return globalThis.crypto?.subtle !== undefined;
}

/**
 * The one place that tells the kinds apart: this page knows HMAC alone, whose key any text can be. Standard Webhooks calls
 * the keys of another kind whpk_ and whsk_; anyone may know the former, so it must never be taken for an HMAC's.
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

/** What Standard Webhooks takes for the key: decoded, after the prefix. Null for a secret without it. */
export function decodedSecret(secret: string): Uint8Array | null {
  if (!secret.startsWith("whsec_")) return null;
  try {
    return Uint8Array.from(atob(secret.slice(6)), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

export async function signBody(secret: string, body: string): Promise<string> {
  return hex(await mac(secret, body));
}

export async function signStandard(secret: string, id: string, seconds: number, body: string): Promise<string> {
  return `v1,${base64(await mac(decodedSecret(secret) ?? secret, `${id}.${seconds}.${body}`))}`;
}
