/** Explains a mismatched signature by the smallest mistakes that produce it. */
import { bodyForms, type BodyForm } from "./body-forms.ts";
import { hmacKey, SECRET_PREFIX, verifyingKey, type VerifyingKey } from "../../../src/domain/endpoints/secret.ts";

export type SignatureFault =
  | "surrounded"
  | "prefixed"
  | "upper_case"
  | "cut"
  | "too_long"
  | "base64"
  | "without_version";
export type KeyFault = "key_as_shown" | "key_without_prefix" | "key_decoded" | "key_with_newline";
export type Fault = SignatureFault | KeyFault | BodyForm;

export interface Presented {
  /** The value of the header. */
  readonly signature: string;
  readonly body: Uint8Array;
  /** Secrets that may have signed. */
  readonly secrets: readonly string[];
  /** Secrets that should not have signed. */
  readonly others?: readonly { readonly whose: string; readonly secret: string }[];
  /** Given for `webhook-signature`. If absent, the signature is from `X-Service-Signature`. */
  readonly standard?: Stamp | undefined;
}

export interface Stamp {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly timestamp: number;
}

export interface NearMiss {
  readonly faults: readonly Fault[];
  /** The owner of the secret among `others` that signed, or null. */
  readonly whose: string | null;
}

/**
 * Returns null if no mistake explains it, so the body or the secret was a different one. The running time grows with
 * the body and with the number of secrets.
 */
export function nearMiss({ signature, body, secrets, others = [], standard }: Presented): NearMiss | null {
  const readings = standard === undefined ? hexReadings(signature) : standardReadings(signature);
  const bodies = [{ form: null, bytes: body }, ...bodyForms(body)];
  const keys = [
    ...secrets.flatMap((secret) => keysOf(secret, standard !== undefined)),
    ...others.map(({ whose, secret }) => ({ ...keysOf(secret, standard !== undefined)[0]!, whose })),
  ];
  let best: NearMiss | null = null;
  for (const { key, fault, whose } of keys) {
    for (const { form, bytes } of bodies) {
      const right = rightFor(key, bytes, standard);
      const reading = readings.find(({ fits }) => fits(right));
      if (reading === undefined) continue;
      const faults = [...reading.faults, fault, form].filter((one) => one !== null);
      const found = { faults, whose };
      if (best === null || weightOf(found) < weightOf(best)) best = found;
    }
  }
  return best;
}

function weightOf({ faults, whose }: NearMiss): number {
  return faults.length + (whose === null ? 0 : 1);
}

/** Returns the signature of this key, or null for a key that can only verify. */
export function computedBy({ signs }: VerifyingKey, body: Uint8Array, standard?: Stamp): string | null {
  if (signs === null) return null;
  return standard === undefined ? signs.signBody(body) : signs.signStandard(standard.id, standard.timestamp, body);
}

/** The expected signature of a body. `computed` is null for a key that can only verify. */
interface Right {
  readonly version: string;
  readonly computed: string | null;
  is(signature: string): boolean;
}

function rightFor(key: VerifyingKey, body: Uint8Array, standard: Stamp | undefined): Right {
  const computed = computedBy(key, body, standard);
  const verifies = (signature: string) =>
    standard === undefined
      ? key.verifyBody(body, signature)
      : key.verifyStandard(standard.id, standard.timestamp, body, signature);
  // Compare if possible: that costs nothing, and there are many variants and bodies.
  const is = computed === null ? verifies : (signature: string) => signature === computed;
  return { version: key.version, computed, is };
}

interface Key {
  readonly key: VerifyingKey;
  readonly fault: KeyFault | null;
  readonly whose: string | null;
}

/** Returns the right key first. If the secret can sign, the wrong keys follow that receivers may derive from it. */
function keysOf(secret: string, isStandard: boolean): Key[] {
  const key = verifyingKey(secret);
  const right = { key, fault: null, whose: null };
  if (key.signs === null) return [right];
  const mistaken = (fault: KeyFault, text: string, encoding: "utf8" | "base64" = "utf8"): Key => {
    return { key: hmacKey(Buffer.from(text, encoding)), fault, whose: null };
  };
  const newline = mistaken("key_with_newline", `${secret}\n`);
  if (!secret.startsWith(SECRET_PREFIX)) return [right, newline];
  const encoded = secret.slice(SECRET_PREFIX.length);
  const otherwise = isStandard ? mistaken("key_as_shown", secret) : mistaken("key_decoded", encoded, "base64");
  return [right, otherwise, mistaken("key_without_prefix", encoded), newline];
}

interface Reading {
  readonly faults: readonly SignatureFault[];
  readonly fits: (right: Right) => boolean;
}

/** Characters that surround a value copied from a header, a shell or a JSON file. */
const SURROUNDINGS = /^[\s"'`]+|[\s"'`,;]+$/g;
const PREFIX = /^(?:x-service-signature\s*:\s*|[A-Za-z0-9-]{2,16}=)(?=.{32})/i;
/** A shorter match may be a coincidence. */
const LEAST = 32;

/** Returns the readings that change the least first. */
function hexReadings(signature: string): Reading[] {
  const faults: SignatureFault[] = [];
  let text = signature.replaceAll(SURROUNDINGS, "");
  if (text !== signature) faults.push("surrounded");
  const bare = text.replace(PREFIX, "").replaceAll(SURROUNDINGS, "");
  if (bare !== text) faults.push("prefixed");
  const asHex = Buffer.from(bare, "base64").toString("hex");
  const base64: Reading = { faults: [...faults, "base64"], fits: (right) => right.is(asHex) };
  text = bare.toLowerCase();
  if (text !== bare) faults.push("upper_case");
  return [
    { faults, fits: (right) => right.is(text) },
    base64,
    { faults: [...faults, "cut"], fits: ({ computed }) => computed !== null && isCut(text, computed) },
    { faults: [...faults, "too_long"], fits: ({ computed }) => computed !== null && isTooLong(text, computed) },
  ];
}

function isCut(text: string, whole: string): boolean {
  if (text.length < LEAST || text.length >= whole.length) return false;
  // Accept a beginning, an end, or both with the middle missing.
  let start = 0;
  while (text[start] === whole[start]) start++;
  return whole.endsWith(text.slice(start));
}

function isTooLong(text: string, whole: string): boolean {
  return text.length > whole.length && text.includes(whole);
}

/** Reads the entries of `webhook-signature`: `v1,<base64>`, separated by spaces. */
function standardReadings(signature: string): Reading[] {
  const text = signature.replaceAll(SURROUNDINGS, "");
  const faults: SignatureFault[] = text === signature ? [] : ["surrounded"];
  return text.split(/\s+/).flatMap((entry): Reading[] => {
    const [, given = "", encoded = ""] = /^(v\d\w?[,=])?(.*)$/s.exec(entry) ?? [];
    const canonical = Buffer.from(encoded, "base64").toString("base64");
    return [
      { faults, fits: ({ is }) => given.endsWith(",") && is(given + canonical) },
      { faults: [...faults, "without_version"], fits: ({ version, is }) => is(`${version},${canonical}`) },
    ];
  });
}
