import type { Fault, NearMiss } from "../../src/domain/near-miss.ts";

const PARSED = "verify the raw body, not what was parsed from it";
const again = (by: string) => `what was signed is the body parsed and written again ${by}: ${PARSED}`;

const REASONS: Readonly<Record<Fault, string>> = {
  without_last_newline: "body ends with a newline that was not signed",
  with_newline: "the body that was signed ended with a newline",
  crlf_as_lf: "body has CR LF where LF was signed",
  lf_as_crlf: "body has LF where CR LF was signed",
  without_bom: "body begins with a byte-order mark that was not signed",
  compact_json: `body has white space that was not signed: ${PARSED}`,
  javascript_json: again("by JSON.stringify"),
  python_json: again("by Python's json.dumps"),
  php_json: again("by PHP's json_encode"),
  go_json: again("by Go's json.Marshal"),
  indented_json: again("with indentation"),
  data_alone: "what was signed is `data` alone, not the whole body",
  empty: "what was signed is an empty body: something had read the raw body before",
  surrounded: "the signature has white space or quotes around it",
  prefixed: "the signature has a prefix, such as sha256=, that webhookd does not send",
  upper_case: "the signature is in upper case: compare its bytes, or make it lower case",
  cut: "characters of the signature are missing: it has 64",
  too_long: "the signature has more characters than its 64",
  base64: "the signature is base64 where webhookd sends hex",
  without_version: "the signature lacks its v1,",
  key_as_shown: "the key was the secret as shown: webhook-signature takes the base64-decoded part after whsec_",
  key_decoded: "the key was the decoded secret: X-Service-Signature takes it as shown, whsec_ included",
  key_without_prefix: "the key was the secret without its whsec_",
  key_with_newline: "the key was the secret with a newline at its end, as files have it",
};

/** Why a signature does not match, for people; each is the rest of a sentence. */
export function reasonsOf({ faults, whose }: NearMiss): string[] {
  return [...(whose === null ? [] : [`it was signed with ${whose}`]), ...faults.map((fault) => REASONS[fault])];
}
