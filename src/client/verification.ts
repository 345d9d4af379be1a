/** Verifies in a receiver that a request came from webhookd. If it did not, names the most likely mistake. */
import { systemClock } from "../clock.ts";
import { canVerify, SIGNED_HEADERS, verifyingKey } from "../domain/endpoints/secret.ts";

export type Reason =
  | "no_secret"
  | "no_signature"
  | "other_header"
  | "malformed_signature"
  | "secret_has_spaces"
  | "body_changed"
  | "not_fresh"
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
  not_fresh: "webhook-timestamp is missing, or more than five minutes off",
  mismatch: "the body was changed, or the secret is wrong",
};

const WELL_FORMED = new RegExp(SIGNED_HEADERS.map(({ pattern }) => `^${pattern}$`).join("|"), "i");

/**
 * Verifies a signature in constant time. `body` is the raw body, `header` the value of X-Service-Signature. During a
 * rotation pass both secrets.
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

const TOLERANCE_SECONDS = 300;

/** The headers as Node or fetch returns them. Names may be in any case. */
export type GivenHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies `webhook-signature` of Standard Webhooks, and that the request is fresh. `keys` are signing secrets, which
 * verify `v1`, and public keys (`whpk_`), which verify `v1a`; one match is enough. `now` is epoch milliseconds.
 */
export function verifyStandard(
  body: Uint8Array | string,
  headers: GivenHeaders,
  keys: string | readonly string[],
  now: number = systemClock.now(),
): Verdict {
  const usable = (typeof keys === "string" ? [keys] : keys).map((key) => key.trim()).filter(canVerify);
  if (usable.length === 0) return fault("no_secret");
  const signature = headerOf(headers, "webhook-signature");
  const id = headerOf(headers, "webhook-id");
  if (signature === "" || id === "") return { ...fault("no_signature"), detail: NO_STANDARD };
  const timestamp = headerOf(headers, "webhook-timestamp");
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  // Negated, so that a timestamp that is not a number is refused.
  if (!(Math.abs(now / 1000 - seconds) <= TOLERANCE_SECONDS)) return fault("not_fresh");
  const matches = usable.some((key) => verifyingKey(key).verifyStandard(id, seconds, body, signature));
  return matches ? { ok: true } : fault("mismatch");
}

const NO_STANDARD = "the request has no webhook-signature and webhook-id";

function headerOf(headers: GivenHeaders, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? "";
  const found = Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  return (typeof found === "string" ? found : (found?.[0] ?? "")).trim();
}

function fault(reason: Reason): Verdict & { readonly ok: false } {
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
