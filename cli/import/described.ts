/** The tenants, endpoints and event types of another sender, in our terms. Each source is read into these. */
import { createHash } from "node:crypto";
import type { BodyFormat } from "../../src/domain/endpoints/body-format.ts";
import { isGuessable, isSigningSecret } from "../../src/domain/endpoints/secret.ts";
import type { TypeDraft } from "../../src/domain/events/type-import.ts";
import { withoutNulls } from "../../src/domain/json/merge-patch.ts";

/** Says why something cannot come over, as the end of a sentence about it. */
export class NotImportable extends Error {
  override readonly name = "NotImportable";
}

export interface Described {
  readonly types: readonly DescribedType[];
  readonly endpoints: readonly DescribedEndpoint[];
  /** Sentences about all of it, where something means something else here. */
  readonly notes: readonly string[];
  /** With these in the configuration, the receivers' code goes on verifying. */
  readonly signatures: readonly SignatureLines[];
}

/** The lines of a `[[signature.also]]`, but for whose it is. */
export interface SignatureLines {
  readonly lines: readonly string[];
  /** The ids of its endpoints at the other sender. Null for all. */
  readonly of: ReadonlySet<string> | null;
}

export interface DescribedType {
  readonly name: string;
  readonly draft: TypeDraft;
  /** Sentences without their subject, about parts that mean something else here, or cannot come over. */
  readonly notes: readonly string[];
}

export interface DescribedEndpoint {
  /** Its id at the other sender. */
  readonly id: string;
  readonly tenant: string;
  readonly url: string;
  /** Null if it cannot come over. */
  readonly draft: EndpointDraft | null;
  readonly reason: string | null;
  readonly notes: readonly string[];
}

/** The settings that an import makes, named as in the API. It leaves all others alone. */
export interface EndpointDraft {
  /** Null: one is made of its id. */
  readonly uid: string | null;
  readonly url: string;
  readonly events: readonly string[];
  readonly filter: Readonly<Record<string, unknown>> | null;
  readonly description: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers that somebody has to set here, because the other sender does not give out their values. */
  readonly byHand: readonly string[];
  readonly rate_per_second: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The body that its receiver reads now. */
  readonly format: BodyFormat;
  readonly secrets: Secrets;
  /** False if it is disabled at the other sender. */
  readonly enabled: boolean;
}

export interface Secrets {
  readonly current: string;
  /** Null unless the other sender is rotating it. The instant is in epoch milliseconds. */
  readonly next: { readonly secret: string; readonly switchesAt: number } | null;
  /** True if the header that its receiver verifies has room for the signatures of two secrets. */
  readonly fitsTwo: boolean;
}

/** False for a text that only stands where a URL should. */
export function isAddress(url: string): boolean {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? "");
}

export type Whose = Pick<DescribedEndpoint, "id" | "tenant" | "url">;

/** Returns what `describe` makes of an endpoint. It adds to the notes that it is given. */
export function describedEndpoint(whose: Whose, describe: (notes: string[]) => EndpointDraft): DescribedEndpoint {
  const notes: string[] = [];
  try {
    const draft = describe(notes);
    // A change would delete what is null, and the next import would find a difference for ever.
    return { ...whose, draft: { ...draft, metadata: withoutNulls(draft.metadata) }, reason: null, notes };
  } catch (error) {
    if (!(error instanceof NotImportable)) throw error;
    return { ...whose, draft: null, reason: error.message, notes: [] };
  }
}

const MAX_UID = 64;

/** The uid that it has there, or else one that is made of its id. */
export function uidOf(from: string, id: string, uid: string | null): string {
  if (uid !== null && uid !== "" && uid.length <= MAX_UID) return uid;
  const made = `${from}:${id}`;
  if (made.length <= MAX_UID) return made;
  const hash = createHash("sha256").update(id).digest("hex").slice(0, 16);
  return `${made.slice(0, MAX_UID - hash.length - 1)}~${hash}`;
}

/** Returns a secret that can sign here. No message repeats it. */
export function signingSecretOf(secret: string): string {
  if (/^\s*wh[sp]k_/.test(secret))
    throw new NotImportable(
      "signs with an Ed25519 key, which cannot be taken over; register it by hand with the signature ed25519, and give its receiver the new public key",
    );
  if (!isSigningSecret(secret))
    throw new NotImportable(
      "has a signing secret that cannot sign here: whsec_ and the base64 of 24 to 64 bytes, or 16 to 256 visible ASCII characters",
    );
  if (isGuessable(secret)) throw new NotImportable("has a signing secret that is easy to guess");
  return secret;
}
