/** Decides whether a signature of the body alone is valid. If not, it tries the usual mistakes to find the cause. */
import { base64, decodedSecret, hex, isHmacSecret, mac, plainHash } from "./signature.ts";

export interface Named {
  /** Completes a sentence: "with the current secret". */
  readonly name: string;
  /** A signing secret or a public key. */
  readonly key: string;
}

export type Verdict =
  | { readonly matches: true; readonly by: string }
  | { readonly matches: false; readonly reason: string; readonly todo: string };

export const no = (reason: string, todo: string): Verdict => ({ matches: false, reason, todo });

/** `header` is the name of the header with the signature. */
export async function judge(body: string, given: string, secrets: readonly Named[], header: string): Promise<Verdict> {
  const signature = withoutName(given.trim(), header);
  const formal = formOf(signature, header);
  if (formal !== null) return formal;
  if (!secrets.every(({ key }) => isHmacSecret(key)))
    return no("This page checks HMAC only, and this is a key of another kind.", "Use a library for Standard Webhooks.");
  const value = signature.toLowerCase().replace(/^sha256=/, "");
  for (const { name, key } of secrets) {
    const right = await mac(key, body);
    if (value === hex(right)) {
      if (signature.startsWith("sha256="))
        return no("There is “sha256=” before it.", "The header has only the 64 digits.");
      return { matches: true, by: name };
    }
    if (signature === base64(right))
      return no("It is right, but in base64.", "Write the HMAC in hexadecimal: 64 digits from 0 to f.");
  }
  return (
    (await byOtherKey(body, value, secrets, header)) ?? (await byOtherBody(body, value, secrets)) ?? unknown(value)
  );
}

export function withoutName(given: string, header: string): string {
  const name = `${header}:`;
  return given.toLowerCase().startsWith(name.toLowerCase()) ? given.slice(name.length).trimStart() : given;
}

/** Returns a verdict that needs no trying, or null. */
function formOf(signature: string, header: string): Verdict | null {
  if (signature === "") return no("There is no signature.", `Paste the value of ${header}.`);
  return null;
}

async function byOtherKey(
  body: string,
  value: string,
  secrets: readonly Named[],
  header: string,
): Promise<Verdict | null> {
  for (const { key: secret } of secrets) {
    const decoded = decodedSecret(secret);
    if (decoded !== null && value === hex(await mac(decoded, body)))
      return no(
        "The secret was decoded from base64 first.",
        `For ${header}, use the secret as it is shown, whsec_ included.`,
      );
    if (value === hex(await mac(secret.replace(/^whsec_/, ""), body)))
      return no("The secret was used without whsec_.", "Use it as it is shown, whsec_ included.");
    for (const space of ["\n", "\r\n", " "])
      if (value === hex(await mac(secret + space, body)))
        return no("There is white space after the secret.", "Trim it when you read it from a file or a variable.");
  }
  if (value === hex(await plainHash(body)))
    return no("This is a plain SHA-256.", "Use HMAC-SHA256 with the secret as the key.");
  return null;
}

/** Returns the forms into which frameworks change a body before a program sees it. */
export function formsOf(body: string): readonly (readonly [form: string, reason: string])[] {
  const forms: (readonly [string, string])[] = [
    [`${body}\n`, "There is a newline after the body."],
    [body.trimEnd(), "White space at the end of the body is missing."],
    [body.replaceAll("\n", "\r\n"), "The body's lines end with CR LF."],
  ];
  try {
    const parsed: unknown = JSON.parse(body);
    const again = "The body was parsed and serialized again.";
    const inData = (parsed as { data?: unknown }).data;
    forms.push(
      [JSON.stringify(parsed), again],
      [JSON.stringify(parsed, null, 2), again],
      [JSON.stringify(parsed, null, 4), again],
      [spaced(JSON.stringify(parsed)), again],
      [JSON.stringify(inData), "Only the data was signed, not the whole body."],
    );
  } catch {
    // The body is not JSON, so no program serialized it.
  }
  return forms.filter(([form]) => form !== body);
}

/** Returns JSON with spaces, as Python writes it. */
function spaced(json: string): string {
  return json.replaceAll(/"(?:[^"\\]|\\.)*"|[:,]/g, (token) => (token.length === 1 ? `${token} ` : token));
}

async function byOtherBody(body: string, value: string, secrets: readonly Named[]): Promise<Verdict | null> {
  const todo = "Verify the bytes as they arrived, before anything parses them.";
  for (const [form, reason] of formsOf(body))
    for (const { key } of secrets) if (value === hex(await mac(key, form))) return no(reason, todo);
  return null;
}

function unknown(value: string): Verdict {
  if (/^[0-9a-f]{40}$/.test(value)) return no("It is as long as an HMAC-SHA1.", "Use HMAC-SHA256.");
  if (/^[0-9a-f]{128}$/.test(value)) return no("It is as long as an HMAC-SHA512.", "Use HMAC-SHA256.");
  if (!/^[0-9a-f]{64}$/.test(value))
    return no(
      `It has ${value.length} characters; a signature has 64 hexadecimal digits.`,
      "Was it cut off, or is it a different header?",
    );
  return no(
    "It was made with a different secret, or from a different body.",
    "Check that the receiver has this endpoint's secret, and that it reads the raw body of this request.",
  );
}
