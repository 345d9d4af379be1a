/**
 * Asymmetric signatures of Standard Webhooks 1.0.0, version `v1a`: Ed25519 over `id.timestamp.body`. The private key is
 * `whsk_` and base64, the public key `whpk_` and base64. The source is "Signature scheme" in the specification at
 * github.com/standard-webhooks/standard-webhooks.
 */
import { createPrivateKey, createPublicKey, hash, sign, verify, type KeyObject } from "node:crypto";

const PRIVATE_PREFIX = "whsk_";
const PUBLIC_PREFIX = "whpk_";
/** PKCS #8 and SPKI put these bytes before the 32 of an Ed25519 key (RFC 8410). */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI = Buffer.from("302a300506032b6570032100", "hex");
/** Canonical base64 of 32 bytes: the last digit before the padding carries four bits. */
const KEY = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;
const SIGNATURE_BYTES = 64;

type Bytes = Uint8Array | string;

/** @param random returns bytes from a cryptographic source */
export function newPrivateKey(random: (bytes: number) => Uint8Array): string {
  const seed = random(32);
  if (seed.length !== 32) throw new RangeError("an Ed25519 key needs 32 random bytes");
  return PRIVATE_PREFIX + Buffer.from(seed).toString("base64");
}

/** Returns the key that receivers verify with, as `whpk_` and base64. */
export function publicKeyOf(privateKey: string): string {
  const spki = createPublicKey(readPrivate(privateKey)).export({ type: "spki", format: "der" });
  return PUBLIC_PREFIX + spki.subarray(SPKI.length).toString("base64");
}

/** A JSON Web Key (RFC 8037). Its id is the thumbprint of RFC 7638. */
export interface PublicJwk {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly use: "sig";
  readonly kid: string;
}

/** @param publicKey `whpk_` and base64 */
export function jwkOf(publicKey: string): PublicJwk {
  const x = Buffer.from(publicKey.slice(PUBLIC_PREFIX.length), "base64").toString("base64url");
  const kid = hash("sha256", JSON.stringify({ crv: "Ed25519", kty: "OKP", x }), "base64url");
  return { kty: "OKP", crv: "Ed25519", x, use: "sig", kid };
}

/** Text for people, to follow "a key is". */
export const PUBLIC_KEY_FORM = "whpk_ followed by the base64 of 32 bytes";

export function isPublicKey(text: string): boolean {
  return text.startsWith(PUBLIC_PREFIX) && KEY.test(text.slice(PUBLIC_PREFIX.length));
}

/** Signs with one private key. Keep it as long as the key, because reading the key costs more than a signature. */
export class AsymmetricSigningKey {
  readonly #key: KeyObject;

  constructor(privateKey: string) {
    this.#key = readPrivate(privateKey);
  }

  /** One entry of `webhook-signature`. */
  signStandard(id: string, timestampSeconds: number, body: Bytes): string {
    return `v1a,${sign(null, signedContent(id, timestampSeconds, body), this.#key).toString("base64")}`;
  }
}

/** Verifies with one public key. The caller checks freshness. */
export class AsymmetricVerifyingKey {
  readonly version = "v1a";
  readonly signs = null;
  readonly #key: KeyObject;

  constructor(publicKey: string) {
    if (!isPublicKey(publicKey)) throw new TypeError(`a public key is ${PUBLIC_KEY_FORM}`);
    const bytes = Buffer.from(publicKey.slice(PUBLIC_PREFIX.length), "base64");
    this.#key = createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: "der", type: "spki" });
  }

  /** `X-Service-Signature` is never made with a private key. */
  verifyBody(): boolean {
    return false;
  }

  /** True if an entry of the header matches. Entries of other versions are ignored. */
  verifyStandard(id: string, timestampSeconds: number, body: Bytes, header: string): boolean {
    const content = signedContent(id, timestampSeconds, body);
    return header.split(" ").some((entry) => {
      const given = entry.startsWith("v1a,") ? Buffer.from(entry.slice(4), "base64") : null;
      return given?.length === SIGNATURE_BYTES && verify(null, content, this.#key, given);
    });
  }
}

function readPrivate(text: string): KeyObject {
  const encoded = text.slice(PRIVATE_PREFIX.length);
  // The message must not repeat the text, which is secret.
  if (!text.startsWith(PRIVATE_PREFIX) || !KEY.test(encoded)) {
    throw new TypeError("a private key is whsk_ followed by the base64 of 32 bytes");
  }
  return createPrivateKey({
    key: Buffer.concat([PKCS8, Buffer.from(encoded, "base64")]),
    format: "der",
    type: "pkcs8",
  });
}

/** Ed25519 needs its message in one piece. */
function signedContent(id: string, timestampSeconds: number, body: Bytes): Buffer {
  return Buffer.concat([Buffer.from(`${id}.${timestampSeconds}.`), Buffer.from(body)]);
}
