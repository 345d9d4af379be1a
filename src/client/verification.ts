/** Verifies, in a receiver, that a request came from webhookd, and names the most likely mistake if it fails. */
import { SIGNED_HEADERS, verifyingKey } from "../domain/endpoints/secret.ts";

export type Reason =
  | "no_secret"
  | "no_signature"
  | "other_header"
  | "malformed_signature"
  | "secret_has_spaces"
  | "body_changed"
  | "mismatch";

/** `detail` is for your log; do not send it in a response. */
export type Verdict = { readonly ok: true } | { readonly ok: false; readonly reason: Reason; readonly detail: string };

const DETAILS: Readonly<Record<Reason, string>> = {
  no_secret: "there is no secret to verify with",
  no_signature: "the request has no header X-Service-Signature",
  other_header: "this is the header webhook-signature: pass X-Service-Signature",
  malformed_signature: `the signature is not ${SIGNED_HEADERS.map(({ words }) => words).join(" or ")}`,
  secret_has_spaces: "it matches without the white space around the secret",
  body_changed:
    "the body was changed on its way to verify: pass the bytes as they arrived, before anything parses them",
  mismatch: "the body was changed, or the secret is wrong",
};

const WELL_FORMED = new RegExp(SIGNED_HEADERS.map(({ pattern }) => `^${pattern}$`).join("|"), "i");

/**
 * Verifies a signature in constant time. `body` is the raw body, `header` the value of X-Service-Signature. During a
 * rotation give both secrets.
 */
export function verify(
  body: Uint8Array | string,
  header: string | readonly string[] | null | undefined,
  secret: string | readonly string[],
): Verdict {
  const secrets = (typeof secret === "string" ? [secret] : secret).filter((one) => one.trim() !== "");
  const signature = (typeof header === "string" ? header : (header?.[0] ?? "")).trim();
  const matches = (bytes: Uint8Array | string, by: readonly string[]) =>
    by.some((one) => verifyingKey(one).verifyBody(bytes, signature));

  if (secrets.length === 0) return fault("no_secret");
  if (signature === "") return fault("no_signature");
  if (/^v\d\w?,/.test(signature)) return fault("other_header");
  if (!WELL_FORMED.test(signature)) return fault("malformed_signature");
  if (matches(body, secrets)) return { ok: true };

  const trimmed = secrets.map((one) => one.trim());
  if (matches(body, trimmed)) return fault("secret_has_spaces");
  return fault(formsOf(body).some((form) => matches(form, trimmed)) ? "body_changed" : "mismatch");
}

function fault(reason: Reason): Verdict {
  return { ok: false, reason, detail: DETAILS[reason] };
}

/** Returns the bodies that a framework may have received: without a newline at the end, with LF, as compact JSON. */
function formsOf(body: Uint8Array | string): string[] {
  const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8");
  const forms = [text.trimEnd(), text.replaceAll("\r\n", "\n")];
  try {
    forms.push(JSON.stringify(JSON.parse(text)));
  } catch {
    // The body is not JSON.
  }
  return forms;
}
