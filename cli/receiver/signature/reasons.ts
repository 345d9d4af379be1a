import type { Fault, NearMiss } from "./near-miss.ts";

const PARSED = "verify the raw body, not a parsed copy";
const again = (by: string) => `the body was parsed and serialized again ${by} before it was signed: ${PARSED}`;

const REASONS: Readonly<Record<Fault, string>> = {
  without_last_newline: "the body ends with a newline that was not signed",
  with_newline: "the signed body ended with a newline",
  crlf_as_lf: "the body has CR LF where LF was signed",
  lf_as_crlf: "the body has LF where CR LF was signed",
  without_bom: "the body begins with a byte-order mark that was not signed",
  compact_json: `the body has white space that was not signed: ${PARSED}`,
  javascript_json: again("by JSON.stringify"),
  python_json: again("by Python's json.dumps"),
  php_json: again("by PHP's json_encode"),
  go_json: again("by Go's json.Marshal"),
  indented_json: again("with indentation"),
  data_alone: "only `data` was signed, not the whole body",
  empty: "an empty body was signed: something consumed the raw body first",
  surrounded: "the signature has white space or quotes around it",
  prefixed: "the signature has a prefix, such as sha256=, that webhookd does not send",
  upper_case: "the signature is in upper case: compare bytes, or convert it to lower case",
  cut: "the signature is too short: it should have 64 characters",
  too_long: "the signature is too long: it should have 64 characters",
  base64: "the signature is base64 where webhookd sends hex",
  without_version: "the signature lacks its version, such as v1,",
  key_as_shown: "the key was the secret as shown: webhook-signature needs the part after whsec_, base64-decoded",
  key_decoded: "the key was the decoded secret: X-Service-Signature needs it as shown, with whsec_",
  key_without_prefix: "the key was the secret without its whsec_",
  key_with_newline: "the key was the secret with a newline at its end, as read from a file",
};

/** Explains in words why a signature does not match. Each reason is the end of a sentence. */
export function reasonsOf({ faults, whose }: NearMiss): string[] {
  return [...(whose === null ? [] : [`it was signed with ${whose}`]), ...faults.map((fault) => REASONS[fault])];
}
