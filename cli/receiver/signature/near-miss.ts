/** Why a signature does not match: the least that must have gone wrong for it to be ours after all. */
import { createHmac } from "node:crypto";
import { bodyForms, type BodyForm } from "./body-forms.ts";
import { SECRET_PREFIX } from "../../../src/domain/endpoints/secret.ts";

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
  /** As the header holds it. */
  readonly signature: string;
  readonly body: Uint8Array;
  /** Each of which may have signed. */
  readonly secrets: readonly string[];
  /** Which should not have signed. */
  readonly others?: readonly { readonly whose: string; readonly secret: string }[];
  /** Given for `webhook-signature`; without it the signature is one of `X-Service-Signature`. */
  readonly standard?: Stamp | undefined;
}

export interface Stamp {
  readonly id: string;
  /** In seconds. */
  readonly timestamp: number;
}

export interface NearMiss {
  readonly faults: readonly Fault[];
  /** Which of the `others` signed. */
  readonly whose: string | null;
}

/** Null when nothing explains it: another body, or another secret. Its time goes with the body and the secrets. */
export function nearMiss({ signature, body, secrets, others = [], standard }: Presented): NearMiss | null {
  const readings = standard === undefined ? hexReadings(signature) : standardReadings(signature);
  const head = standard === undefined ? "" : `${standard.id}.${standard.timestamp}.`;
  const bodies = [{ form: null, bytes: body }, ...bodyForms(body)];
  const keys = [
    ...secrets.flatMap((secret) => keysOf(secret, standard !== undefined)),
    ...others.map(({ whose, secret }) => ({ ...keysOf(secret, standard !== undefined)[0]!, whose })),
  ];
  let best: NearMiss | null = null;
  for (const { key, fault, whose } of keys) {
    for (const { form, bytes } of bodies) {
      const mac = createHmac("sha256", key).update(head).update(bytes).digest();
      const reading = readings.find(({ fits }) => fits(mac));
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

interface Key {
  readonly key: Buffer;
  readonly fault: KeyFault | null;
  readonly whose: string | null;
}

/** The right one first. */
function keysOf(secret: string, isStandard: boolean): Key[] {
  const shown = Buffer.from(secret, "utf8");
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : null;
  const own = (key: Buffer, fault: KeyFault | null): Key => ({ key, fault, whose: null });
  const newline = own(Buffer.from(`${secret}\n`, "utf8"), "key_with_newline");
  if (encoded === null) return [own(shown, null), newline];
  const decoded = Buffer.from(encoded, "base64");
  return [
    isStandard ? own(decoded, null) : own(shown, null),
    isStandard ? own(shown, "key_as_shown") : own(decoded, "key_decoded"),
    own(Buffer.from(encoded, "utf8"), "key_without_prefix"),
    newline,
  ];
}

interface Reading {
  readonly faults: readonly SignatureFault[];
  readonly fits: (mac: Buffer) => boolean;
}

/** Around a value that was copied from a header, a shell or a JSON file. */
const SURROUNDINGS = /^[\s"'`]+|[\s"'`,;]+$/g;
const PREFIX = /^(?:x-service-signature\s*:\s*|[A-Za-z0-9-]{2,16}=)(?=.{32})/i;
/** Shorter than that, being the same is chance. */
const LEAST = 32;

/** The more faithful ones first. */
function hexReadings(signature: string): Reading[] {
  const faults: SignatureFault[] = [];
  let text = signature.replaceAll(SURROUNDINGS, "");
  if (text !== signature) faults.push("surrounded");
  const bare = text.replace(PREFIX, "").replaceAll(SURROUNDINGS, "");
  if (bare !== text) faults.push("prefixed");
  const isBase64 = /^[\w+/-]{43}=?$/.test(bare);
  if (isBase64) {
    return [{ faults: [...faults, "base64"], fits: (mac) => mac.equals(Buffer.from(bare, "base64")) }];
  }
  text = bare.toLowerCase();
  if (text !== bare) faults.push("upper_case");
  return [
    { faults, fits: (mac) => mac.toString("hex") === text },
    { faults: [...faults, "cut"], fits: (mac) => isCut(text, mac.toString("hex")) },
    { faults: [...faults, "too_long"], fits: (mac) => text.length > 64 && text.includes(mac.toString("hex")) },
  ];
}

function isCut(text: string, whole: string): boolean {
  if (text.length < LEAST || text.length >= whole.length) return false;
  // What is left over at both ends, and all of it together.
  let start = 0;
  while (text[start] === whole[start]) start++;
  return whole.endsWith(text.slice(start));
}

/** Entries of `webhook-signature`, `v1,<base64>` with spaces between. */
function standardReadings(signature: string): Reading[] {
  const text = signature.replaceAll(SURROUNDINGS, "");
  const faults: SignatureFault[] = text === signature ? [] : ["surrounded"];
  return text.split(/\s+/).map((entry) => {
    const encoded = entry.replace(/^v1[,=]/, "");
    const isVersioned = entry.startsWith("v1,");
    return {
      faults: isVersioned ? faults : [...faults, "without_version"],
      fits: (mac) => mac.equals(Buffer.from(encoded, "base64")),
    };
  });
}
