/**
 * Signing secrets: what they look like, how one is made, and how it signs. All else passes a secret on as one text, whose
 * kind is told by how it begins.
 *
 * To sign in another way, add a row to `KINDS` with a `SigningKey` of its own. The checks of secrets, what they say about
 * a wrong one, the signer, the receiver's commands and the description of the headers follow from the row. The store needs
 * no column: it seals the text.
 */
import { createHmac, createSecretKey, timingSafeEqual, type Hmac, type KeyObject } from "node:crypto";

type Bytes = Uint8Array | string;

/** A secret, ready to sign and to verify. Keep it as long as the secret: making it costs more than a signature. */
export interface SigningKey {
  /** The value of `X-Service-Signature`, over the exact bytes of the body. */
  signBody(body: Bytes): string;
  /** One entry of `webhook-signature`, over `id.timestamp.body`. The timestamp is the attempt's, in seconds. */
  signStandard(id: string, timestampSeconds: number, body: Bytes): string;
  /** In constant time. */
  verifyBody(body: Bytes, signature: string): boolean;
  /** In constant time, against each entry of the header; entries of other versions are ignored. Freshness is the caller's. */
  verifyStandard(id: string, timestampSeconds: number, body: Bytes, header: string): boolean;
}

interface Kind {
  /** How its secrets begin; of two rows that fit, the first holds. */
  readonly prefix: string;
  /** For people, after "a secret is". */
  readonly form: string;
  /** Whether a text that begins like this is a secret. */
  isSecret(text: string): boolean;
  keyOf(secret: string): SigningKey;
  /** How receivers verify, in the description of the API. */
  readonly verified?: { readonly body: string; readonly standard: string };
}

/** Standard Webhooks' own: `whsec_` and the base64 of the key. */
export const SECRET_PREFIX = "whsec_";
/** Canonical base64 with padding. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const KINDS: readonly [Kind, ...Kind[]] = [
  {
    prefix: SECRET_PREFIX,
    form: "whsec_ followed by the base64 of 24 to 64 bytes",
    isSecret: (text) => {
      const encoded = text.slice(SECRET_PREFIX.length);
      const { length } = Buffer.from(encoded, "base64");
      return BASE64.test(encoded) && length >= 24 && length <= 64;
    },
    keyOf: (secret) => {
      return new HmacKey(asShown(secret), createSecretKey(secret.slice(SECRET_PREFIX.length), "base64"));
    },
    verified: {
      body: "Hex HMAC-SHA256 over the exact bytes of the body; the key is the UTF-8 bytes of `signing_secret` as shown.",
      standard:
        "`v1,` and base64 HMAC-SHA256 over `id.timestamp.body`; the key is base64-decoded from what follows `whsec_`.",
    },
  },
  {
    // Brought along from another provider.
    prefix: "",
    form: "16 to 256 visible ASCII characters",
    isSecret: (text) => /^[\x20-\x7e]{16,256}$/.test(text) && text.trim() === text,
    keyOf: (secret) => new HmacKey(asShown(secret), asShown(secret)),
  },
];

/** What a secret is, for people. */
export const SECRET_FORMS = KINDS.map(({ form }) => form).join(", or ");

/** How receivers verify the signatures of each kind. */
export const VERIFIED = KINDS.flatMap(({ verified }) => verified ?? []);

/** `random` gives bytes from a cryptographic source. */
export function newSigningSecret(random: (bytes: number) => Uint8Array): string {
  const bytes = random(32);
  if (bytes.length !== 32) throw new RangeError("a signing secret needs 32 random bytes");
  return SECRET_PREFIX + Buffer.from(bytes).toString("base64");
}

/** Whether a secret brought along can sign. */
export function isSigningSecret(text: string): boolean {
  return kindOf(text).isSecret(text);
}

export function signingKey(secret: string): SigningKey {
  return kindOf(secret).keyOf(secret);
}

function kindOf(secret: string): Kind {
  return KINDS.find(({ prefix }) => secret.startsWith(prefix))!;
}

function asShown(secret: string): KeyObject {
  return createSecretKey(secret, "utf8");
}

/** HMAC-SHA256: `X-Service-Signature` in hex, `webhook-signature` as version 1 of Standard Webhooks. */
class HmacKey implements SigningKey {
  readonly #body: KeyObject;
  readonly #standard: KeyObject;

  constructor(body: KeyObject, standard: KeyObject) {
    this.#body = body;
    this.#standard = standard;
  }

  signBody(body: Bytes): string {
    return this.#bodyMac(body).digest("hex");
  }

  signStandard(id: string, timestampSeconds: number, body: Bytes): string {
    return `v1,${this.#standardMac(id, timestampSeconds, body).digest("base64")}`;
  }

  /** Anything but 64 hex digits is false. */
  verifyBody(body: Bytes, signature: string): boolean {
    return (
      /^[0-9a-f]{64}$/i.test(signature) && timingSafeEqual(this.#bodyMac(body).digest(), Buffer.from(signature, "hex"))
    );
  }

  verifyStandard(id: string, timestampSeconds: number, body: Bytes, header: string): boolean {
    const expected = this.#standardMac(id, timestampSeconds, body).digest();
    return header.split(" ").some((entry) => {
      const given = entry.startsWith("v1,") ? Buffer.from(entry.slice(3), "base64") : null;
      return given?.length === expected.length && timingSafeEqual(expected, given);
    });
  }

  // Not digested here: a text straight from the digest costs a third less than one by way of a buffer.
  #bodyMac(body: Bytes): Hmac {
    return createHmac("sha256", this.#body).update(body);
  }

  #standardMac(id: string, timestampSeconds: number, body: Bytes): Hmac {
    return createHmac("sha256", this.#standard).update(`${id}.${timestampSeconds}.`).update(body);
  }
}
