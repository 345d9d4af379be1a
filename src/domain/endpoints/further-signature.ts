/**
 * Signatures in the formats of other senders. A team that comes from one of them configures its format, and the
 * customers' code, which verifies the header that it knows, goes on unchanged. To add a format, add a row to `FORMATS`.
 */
import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from "node:crypto";
import { SECRET_PREFIX } from "./secret.ts";

export const HASHES = ["sha1", "sha256", "sha512"] as const;
export const ENCODINGS = ["hex", "base64"] as const;
/** `text` takes the characters of the secret as the key; `base64` decodes what follows `whsec_`. */
export const KEYS = ["text", "base64"] as const;

/** A way to sign, with the headers to send. In the templates, `{name}` stands for a part of the request. */
export interface SignatureFormat {
  /** Values are templates of `VALUE_PARTS`. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** A template of `SIGNED_PARTS`: the text that is signed. */
  readonly signed: string;
  /** A template for each signature. */
  readonly entry: string;
  /** Separates the entries of both secrets during a rotation. Null if a receiver takes one, made with the current. */
  readonly separator: string | null;
  readonly hash: (typeof HASHES)[number];
  readonly encoding: (typeof ENCODINGS)[number];
  readonly key: (typeof KEYS)[number];
}

/** `timestamp` is the attempt's, in seconds since the epoch. */
export const SIGNED_PARTS = ["id", "timestamp", "body", "url"] as const;
export const VALUE_PARTS = ["id", "timestamp", "signature"] as const;

const HEX = { entry: "{signature}", separator: null, hash: "sha256", encoding: "hex", key: "text" } as const;

/** The formats by their names in the configuration. Each row is a fact of the sender's published documentation. */
export const FORMATS = {
  svix: {
    ...HEX,
    headers: [
      ["svix-id", "{id}"],
      ["svix-timestamp", "{timestamp}"],
      ["svix-signature", "{signature}"],
    ],
    signed: "{id}.{timestamp}.{body}",
    entry: "v1,{signature}",
    separator: " ",
    encoding: "base64",
    key: "base64",
  },
  stripe: {
    ...HEX,
    headers: [["Stripe-Signature", "t={timestamp},{signature}"]],
    signed: "{timestamp}.{body}",
    entry: "v1={signature}",
    separator: ",",
  },
  github: {
    ...HEX,
    headers: [["X-Hub-Signature-256", "{signature}"]],
    signed: "{body}",
    entry: "sha256={signature}",
  },
  shopify: { ...HEX, headers: [["X-Shopify-Hmac-Sha256", "{signature}"]], signed: "{body}", encoding: "base64" },
  convoy: { ...HEX, headers: [["X-Convoy-Signature", "{signature}"]], signed: "{body}" },
  "convoy-advanced": {
    ...HEX,
    headers: [["X-Convoy-Signature", "t={timestamp},{signature}"]],
    signed: "{timestamp},{body}",
    entry: "v1={signature}",
    separator: ",",
  },
} as const satisfies Readonly<Record<string, SignatureFormat>>;

/** A format, and the endpoints that get it. */
export interface FurtherSignature {
  /** The name of a row in `FORMATS`, or `custom`. */
  readonly name: string;
  readonly format: SignatureFormat;
  /** Null for all tenants. */
  readonly tenants: readonly string[] | null;
  /** Null for all endpoints of these tenants. */
  readonly endpoints: readonly string[] | null;
}

/** Its name for people: that of its format, or the header of a custom one. */
export function shownName({ name, format }: Pick<FurtherSignature, "name" | "format">): string {
  return Object.hasOwn(FORMATS, name) ? name : format.headers.at(-1)![0];
}

/** The names of its headers, in lower case. */
export function headerNames({ format }: FurtherSignature): readonly string[] {
  return format.headers.map(([name]) => name.toLowerCase());
}

/** True if the endpoint's requests have the signature. */
export function isFor(
  { tenants, endpoints }: FurtherSignature,
  target: { readonly tenant: string; readonly endpoint: string },
): boolean {
  return tenants?.includes(target.tenant) !== false && endpoints?.includes(target.endpoint) !== false;
}

/** True if no endpoint gets both. */
export function areApart(one: FurtherSignature, other: FurtherSignature): boolean {
  const share = (a: readonly string[] | null, b: readonly string[] | null) =>
    a === null || b === null || a.some((name) => b.includes(name));
  return !share(one.tenants, other.tenants) || !share(one.endpoints, other.endpoints);
}

/** The parts of a request that may be signed. `url` is the endpoint's. */
export interface Signed {
  readonly id: string;
  readonly timestamp: number;
  readonly body: Uint8Array;
  readonly url: string;
}

/**
 * Signs in one format for one endpoint. Keep it as long as the secrets, because creating keys costs more than signing.
 */
export class FurtherSigner {
  readonly #format: SignatureFormat;
  readonly #keys: readonly KeyObject[];
  readonly #signed: readonly Piece<SignedPart>[];
  readonly #headers: readonly (readonly [name: string, value: readonly Piece<ValuePart>[]])[];

  constructor(format: SignatureFormat, secrets: readonly string[]) {
    this.#format = format;
    this.#keys = secrets.map((secret) => createSecretKey(keyBytes(secret, format.key)));
    this.#signed = piecesOf(format.signed, SIGNED_PARTS);
    this.#headers = format.headers.map(([name, value]) => [name, piecesOf(value, VALUE_PARTS)]);
  }

  /** Appends names and values of headers. */
  sign(headers: string[], request: Signed): void {
    const signature = this.entries(request).join(this.#format.separator ?? "");
    const values = { id: request.id, timestamp: String(request.timestamp), signature };
    for (const [name, value] of this.#headers) {
      headers.push(name, value.map(({ part, text }) => (part === undefined ? text : values[part])).join(""));
    }
  }

  /** Returns an entry for each secret. */
  entries(request: Signed): readonly string[] {
    const { entry, encoding } = this.#format;
    return this.#keys.map((key) => {
      const mac = createHmac(this.#format.hash, key);
      for (const { part, text } of this.#signed) mac.update(part === undefined ? text : bytesOf(request, part));
      return entry.replace("{signature}", () => mac.digest(encoding));
    });
  }
}

type SignedPart = (typeof SIGNED_PARTS)[number];
type ValuePart = (typeof VALUE_PARTS)[number];
type Piece<Part> =
  | { readonly part: Part; readonly text?: undefined }
  | { readonly part?: undefined; readonly text: string };

function bytesOf(request: Signed, part: SignedPart): string | Uint8Array {
  return part === "timestamp" ? String(request.timestamp) : request[part];
}

function keyBytes(secret: string, key: SignatureFormat["key"]): Uint8Array {
  return key === "text" ? Buffer.from(secret, "utf8") : Buffer.from(encodedIn(secret), "base64");
}

function encodedIn(secret: string): string {
  return secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
}

/** Canonical base64 with padding. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Returns why the secret makes no key that a receiver could have, to follow the name of the format, or null. */
export function secretFault({ key }: Pick<SignatureFormat, "key">, secret: string): string | null {
  if (key === "text" || BASE64.test(encodedIn(secret))) return null;
  return `takes its key from base64, such as ${SECRET_PREFIX}…, and the signing secret is other text`;
}

/** Splits a template into its texts and parts. Unknown names stay text; `templateFault` refuses them. */
function piecesOf<Part extends string>(template: string, parts: readonly Part[]): Piece<Part>[] {
  const pieces = template.split(/(\{\w*\})/).filter((piece) => piece !== "");
  return pieces.map((text) => {
    const part = parts.find((name) => text === `{${name}}`);
    return part === undefined ? { text } : { part };
  });
}

/**
 * Returns what is wrong with a template, to follow its name, or null. It must have the part `needed`. A verifier could
 * not take a value apart in which a part stands twice, so no template has one twice.
 */
export function templateFault(template: string, parts: readonly string[], needed: string): string | null {
  if (/[^\x20-\x7e]/.test(template)) return "may only have visible ASCII characters and spaces";
  const names = [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name!);
  const unknown = names.find((name) => !parts.includes(name));
  if (unknown !== undefined) return `has {${unknown}}, which is unknown`;
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) return `has {${twice}} twice`;
  if (!template.includes(`{${needed}}`)) return `must have {${needed}}`;
  return null;
}

/**
 * True if a receiver that has the secrets takes the value of the format's last header. Compares in constant time. The
 * caller checks freshness.
 */
export function verifies(format: SignatureFormat, secrets: readonly string[], request: Signed, value: string): boolean {
  const [, template] = format.headers.at(-1)!;
  const given = partsOf(template, value);
  if (given === null) return false;
  const timestamp = given.timestamp === undefined ? request.timestamp : Number(given.timestamp);
  const entries = format.separator === null ? [given.signature!] : given.signature!.split(format.separator);
  const wanted = new FurtherSigner(format, secrets).entries({ ...request, timestamp });
  return wanted.some((one) => entries.some((entry) => isSame(one, entry.trim())));
}

/** Returns the timestamp in a value of the format's last header, or null if it has none. */
export function timestampIn(format: SignatureFormat, value: string): number | null {
  const found = partsOf(format.headers.at(-1)![1], value)?.timestamp;
  return found === undefined ? null : Number(found);
}

function partsOf(template: string, value: string): Partial<Record<string, string>> | null {
  const source = piecesOf(template, VALUE_PARTS).map(({ part, text }) =>
    part === undefined
      ? text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")
      : part === "timestamp"
        ? "(?<timestamp>\\d{1,15})"
        : `(?<${part}>.+)`,
  );
  return new RegExp(`^${source.join("")}$`).exec(value.trim())?.groups ?? null;
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
