/**
 * Signing secrets: their forms, how to make them, how they sign, and what receivers verify with. All other code passes
 * secrets on as text, and the beginning of the text shows its kind. To sign in another way, add a row to `KINDS`. The
 * checks of secrets, the sender, the secrets that the API shows, its description of the headers, and the receiver's
 * commands are derived from the row. The store needs no column, because it seals the text.
 */
import { createHmac, createSecretKey, timingSafeEqual, type Hmac, type KeyObject } from "node:crypto";
import { AsymmetricVerifyingKey, isPublicKey, PUBLIC_KEY_FORM } from "./asymmetric.ts";

type Bytes = Uint8Array | string;

/** A secret, ready to sign. Keep it as long as the secret, because creating it costs more than a signature. */
export interface SigningKey {
  /** The value of `X-Service-Signature`, over the exact bytes of the body. */
  signBody(body: Bytes): string;
  /** One entry of `webhook-signature`, over `id.timestamp.body`. The timestamp is the attempt's, in seconds. */
  signStandard(id: string, timestampSeconds: number, body: Bytes): string;
}

/** A receiver's key, ready to verify. */
export interface VerifyingKey {
  /** The beginning of its entries in `webhook-signature`, before the comma. */
  readonly version: string;
  /** Null if a receiver can only verify. */
  readonly signs: SigningKey | null;
  /** Compares in constant time. */
  verifyBody(body: Bytes, signature: string): boolean;
  /**
   * Compares in constant time with each entry of the header. Entries of other versions are ignored. The caller checks
   * freshness.
   */
  verifyStandard(id: string, timestampSeconds: number, body: Bytes, header: string): boolean;
}

/** The form of a secret's text. */
interface Form {
  /** The prefix of the text. If two kinds match, the first one counts. */
  readonly prefix: string;
  /** Text for people, to follow "a secret is". */
  readonly words: string;
  /** Returns true if a text with this prefix is valid. */
  fits(text: string): boolean;
}

interface Kind {
  readonly secret: Form;
  /** Derives the key that receivers verify with from a secret. If absent, they verify with the secret itself. */
  readonly publicKey?: Form & { of(secret: string): string };
  /** Makes a secret from a cryptographic source of bytes. If absent, such secrets can only be imported. */
  make?(random: (bytes: number) => Uint8Array): string;
  /** The part of a secret that must be hard to guess. */
  bytes(secret: string): Uint8Array;
  signingKey(secret: string): SigningKey;
  /** Takes the text that receivers verify with. */
  verifyingKey(shown: string): VerifyingKey;
  /**
   * The arm of a shell's `case` that derives the hex `key` for HMAC by openssl from the shown text, or explains why it
   * cannot.
   */
  readonly shell: string;
  /** The headers in the description of the API, and the form of the first one's value, with `words` for people. */
  readonly headers?: {
    readonly body: string;
    readonly pattern: string;
    readonly words: string;
    readonly standard: string;
  };
}

/** The prefix of Standard Webhooks: `whsec_` and the base64 of the key. */
export const SECRET_PREFIX = "whsec_";
/** Canonical base64 with padding. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A key that verifies nothing. */
const NOTHING: VerifyingKey = {
  version: "v1",
  signs: null,
  verifyBody: () => false,
  verifyStandard: () => false,
};

const KINDS: readonly [Kind & Required<Pick<Kind, "make">>, ...Kind[]] = [
  {
    secret: {
      prefix: SECRET_PREFIX,
      words: "whsec_ followed by the base64 of 24 to 64 bytes",
      fits: (text) => {
        const encoded = text.slice(SECRET_PREFIX.length);
        const { length } = Buffer.from(encoded, "base64");
        return BASE64.test(encoded) && length >= 24 && length <= 64;
      },
    },
    make: (random) => {
      const bytes = random(32);
      if (bytes.length !== 32) throw new RangeError("a signing secret needs 32 random bytes");
      return SECRET_PREFIX + Buffer.from(bytes).toString("base64");
    },
    bytes: decoded,
    signingKey: decodedHmacKey,
    verifyingKey: decodedHmacKey,
    shell: 'whsec_*) key=$(printf %s "${WEBHOOKD_SECRET#whsec_}" | openssl base64 -d -A | hex) ;;',
    headers: {
      body: "Hex HMAC-SHA256 over the exact bytes of the body; the key is the UTF-8 bytes of `signing_secret` as shown.",
      pattern: "[0-9a-f]{64}",
      words: "64 hexadecimal digits",
      standard:
        "`v1,` and base64 HMAC-SHA256 over `id.timestamp.body`; the key is base64-decoded from what follows `whsec_`.",
    },
  },
  {
    // Secrets imported from another provider. This row is last because any text has its prefix. It excludes Ed25519
    // keys of Standard Webhooks: their owner does not expect an HMAC, and the public one is no secret.
    secret: {
      prefix: "",
      words: "16 to 256 visible ASCII characters (but not whsk_ or whpk_, which are keys of Ed25519)",
      fits: (text) => /^(?!wh[sp]k_)[\x20-\x7e]{16,256}$/.test(text) && text.trim() === text,
    },
    bytes: (secret) => Buffer.from(secret, "utf8"),
    signingKey: (secret) => hmacKey(Buffer.from(secret, "utf8")),
    // An Ed25519 key may be public, and then anybody who knows it could compute the HMAC.
    verifyingKey: (secret) => (/^\s*wh[sp]k_/.test(secret) ? NOTHING : hmacKey(Buffer.from(secret, "utf8"))),
    shell: '*) key=$(printf %s "$WEBHOOKD_SECRET" | hex) ;;',
  },
];

/** Descriptions, for people, of valid secrets and of the keys that receivers may verify with. */
export const SECRET_FORMS = KINDS.map(({ secret }) => secret.words).join(", or ");
export const VERIFYING_FORMS = KINDS.flatMap(({ secret, publicKey }) => [secret, publicKey ?? []].flat())
  .map(({ words }) => words)
  .concat(`${PUBLIC_KEY_FORM}, which verifies a webhook-signature only`)
  .join(", or ");

/** The headers with which receivers verify the signatures of each kind. */
export const SIGNED_HEADERS = KINDS.flatMap(({ headers }) => headers ?? []);

/** The arms of a shell's `case`. */
export const SHELL_KEYS = KINDS.map(({ shell }) => shell);

/** `random` returns bytes from a cryptographic source. */
export function newSigningSecret(random: (bytes: number) => Uint8Array): string {
  return KINDS[0].make(random);
}

/** True if the text is a valid secret, perhaps an imported one. */
export function isSigningSecret(text: string): boolean {
  const { secret } = kindOf(text);
  return text.startsWith(secret.prefix) && secret.fits(text);
}

/** Text for people, to follow the name of the input. */
export const GUESSABLE = "is easy to guess: make one with `openssl rand -base64 32`";

/**
 * True if an imported secret is too simple: few different bytes, the same ones repeated, or a sequence such as 0123….
 * For 16 random bytes, in hex or base64, the chance of that is below 1 in 10^18.
 */
export function isGuessable(secret: string): boolean {
  const bytes = kindOf(secret).bytes(secret);
  const steps = new Set(bytes.subarray(1).map((byte, at) => byte - bytes[at]!));
  return new Set(bytes).size < FEWEST_DIFFERENT || steps.size < FEWEST_STEPS || isRepeated(bytes);
}

const FEWEST_DIFFERENT = 4;
/** A sequence of letters or digits has steps of one, with a leap between 9 and 0 or between 9 and a. */
const FEWEST_STEPS = 3;

function isRepeated(bytes: Uint8Array): boolean {
  for (let period = 1; period <= bytes.length / 2; period++) {
    if (bytes.subarray(period).every((byte, at) => byte === bytes[at])) return true;
  }
  return false;
}

/** True if a receiver can verify with the text, which is the shown key or the secret itself. */
export function canVerify(text: string): boolean {
  const { publicKey } = kindOf(text);
  return (
    isPublicKey(text) ||
    isSigningSecret(text) ||
    (publicKey !== undefined && text.startsWith(publicKey.prefix) && publicKey.fits(text))
  );
}

/** Returns the only part of a secret that may be shown to anyone: the key that receivers verify with. */
export function shownOf(secret: string): string {
  return kindOf(secret).publicKey?.of(secret) ?? secret;
}

export function signingKey(secret: string): SigningKey {
  return kindOf(secret).signingKey(secret);
}

/** Takes the shown key, the secret itself, or a tenant's public key. */
export function verifyingKey(text: string): VerifyingKey {
  if (isPublicKey(text)) return new AsymmetricVerifyingKey(text);
  const kind = kindOf(text);
  return kind.verifyingKey(text.startsWith(kind.secret.prefix) ? shownOf(text) : text);
}

function kindOf(text: string): Kind {
  // White space before a public key, which anyone may know, must not turn it into a plain secret.
  const begins = (form: Form | undefined) => form !== undefined && text.trimStart().startsWith(form.prefix);
  return KINDS.find(({ secret, publicKey }) => begins(secret) || begins(publicKey))!;
}

/** Uses the same bytes for both headers. */
export function hmacKey(bytes: Uint8Array): SigningKey & VerifyingKey {
  const key = createSecretKey(bytes);
  return new HmacKey(key, key);
}

function decodedHmacKey(secret: string): HmacKey {
  return new HmacKey(createSecretKey(secret, "utf8"), createSecretKey(decoded(secret)));
}

function decoded(secret: string): Uint8Array {
  return Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
}

/** HMAC-SHA256: `X-Service-Signature` in hex, `webhook-signature` as version 1 of Standard Webhooks. */
class HmacKey implements SigningKey, VerifyingKey {
  readonly version = "v1";
  readonly #body: KeyObject;
  readonly #standard: KeyObject;

  constructor(body: KeyObject, standard: KeyObject) {
    this.#body = body;
    this.#standard = standard;
  }

  get signs(): SigningKey {
    return this;
  }

  signBody(body: Bytes): string {
    return this.#bodyMac(body).digest("hex");
  }

  signStandard(id: string, timestampSeconds: number, body: Bytes): string {
    return `v1,${this.#standardMac(id, timestampSeconds, body).digest("base64")}`;
  }

  /** Returns false for anything except 64 hex digits. */
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

  // Returns the HMAC before its digest, because text straight from the digest costs a third less than text from a
  // buffer.
  #bodyMac(body: Bytes): Hmac {
    return createHmac("sha256", this.#body).update(body);
  }

  #standardMac(id: string, timestampSeconds: number, body: Bytes): Hmac {
    return createHmac("sha256", this.#standard).update(`${id}.${timestampSeconds}.`).update(body);
  }
}
