/** Decides whether a signature of the body alone is valid. If not, it tries the usual mistakes to find the cause. */
import { base64, decodedSecret, hex, isHmacSecret, mac, plainHash } from "./signature.ts";
import { t } from "../language/text.ts";

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
    return no(t("judge.thisPageChecksHmacOnly"), t("judge.useALibraryForStandard"));
  const value = signature.toLowerCase().replace(/^sha256=/, "");
  for (const { name, key } of secrets) {
    const right = await mac(key, body);
    if (value === hex(right)) {
      if (signature.startsWith("sha256=")) return no(t("judge.thereIsSha256BeforeIt"), t("judge.theHeaderHasOnlyThe"));
      return { matches: true, by: name };
    }
    if (signature === base64(right)) return no(t("judge.itIsRightButIn"), t("judge.writeTheHmacInHexadecimal"));
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
  if (signature === "") return no(t("judge.thereIsNoSignature"), t("judge.pasteValue", { header }));
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
      return no(t("judge.theSecretWasDecodedFrom"), t("judge.forHeader", { header }));
    if (value === hex(await mac(secret.replace(/^whsec_/, ""), body)))
      return no(t("judge.theSecretWasUsedWithout"), t("judge.useItAsItIs"));
    for (const space of ["\n", "\r\n", " "])
      if (value === hex(await mac(secret + space, body)))
        return no(t("judge.thereIsWhiteSpaceAfter"), t("judge.trimItWhenYouRead"));
  }
  if (value === hex(await plainHash(body))) return no(t("judge.thisIsAPlainSha"), t("judge.useHmacSha256WithThe"));
  return null;
}

/** Returns the forms into which frameworks change a body before a program sees it. */
export function formsOf(body: string): readonly (readonly [form: string, reason: string])[] {
  const forms: (readonly [string, string])[] = [
    [`${body}\n`, t("judge.newline")],
    [body.trimEnd(), t("judge.trimmed")],
    [body.replaceAll("\n", "\r\n"), t("judge.crlf")],
  ];
  try {
    const parsed: unknown = JSON.parse(body);
    const again = t("judge.serialized");
    const inData = (parsed as { data?: unknown }).data;
    forms.push(
      [JSON.stringify(parsed), again],
      [JSON.stringify(parsed, null, 2), again],
      [JSON.stringify(parsed, null, 4), again],
      [spaced(JSON.stringify(parsed)), again],
      [JSON.stringify(inData), t("judge.onlyData")],
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
  const todo = t("judge.verifyBytes");
  for (const [form, reason] of formsOf(body))
    for (const { key } of secrets) if (value === hex(await mac(key, form))) return no(reason, todo);
  return null;
}

function unknown(value: string): Verdict {
  if (/^[0-9a-f]{40}$/.test(value)) return no(t("judge.sha1"), t("judge.useHmacSha256"));
  if (/^[0-9a-f]{128}$/.test(value)) return no(t("judge.sha512"), t("judge.useHmacSha256"));
  if (!/^[0-9a-f]{64}$/.test(value)) return no(t("judge.length", { length: value.length }), t("judge.wasItCutOffOr"));
  return no(t("judge.itWasMadeWithA"), t("judge.checkThatTheReceiverHas"));
}
