/** Writes the request that webhookd would make, as a script for any POSIX shell with openssl and curl. */
import type { SentBody } from "./body.ts";
import { SHELL_KEYS } from "../../src/domain/endpoints/secret.ts";

export interface Sent {
  readonly event: string;
  readonly endpoint: string;
  readonly url: string;
  readonly sent: SentBody;
  /** Names of the endpoint's own headers, whose values the daemon does not reveal. */
  readonly headers: readonly string[];
}

/**
 * The script is pure ASCII, so that nothing in the body can control the terminal that shows it. It signs when it runs,
 * with a secret from a variable, so that no text contains the secret.
 */
export function curlScript({ event, endpoint, url, sent, headers }: Sent): string {
  const own = headers.map((name) => `#   this endpoint also gets the header ${name}; add it with -H`);
  return `${[
    `# ${event} to ${endpoint}, signed when this runs. First:`,
    `#   WEBHOOKD_SECRET=$(webhookd endpoints secret ${endpoint})`,
    ...own,
    `body=$(printf ${quoted(formatOf(sent.body))})`,
    "now=$(date +%s)",
    "hex() { od -An -v -tx1 | tr -d ' \\n'; }",
    "case $WEBHOOKD_SECRET in",
    ...SHELL_KEYS.map((arm) => `  ${arm}`),
    "esac",
    'signed() { openssl dgst -sha256 -mac HMAC -macopt "hexkey:$1" -binary; }',
    'specified=$(printf %s "$body" | signed "$(printf %s "$WEBHOOKD_SECRET" | hex)" | hex)',
    `standard=$(printf '%s.%s.%s' ${event} "$now" "$body" | signed "$key" | openssl base64 -A)`,
    `printf %s "$body" | curl -sS -i ${quoted(new URL(url).href)} \\`,
    `  -H 'content-type: ${sent.contentType}' \\`,
    ...sent.headers.map(([name, value]) => `  -H '${name}: ${value}' \\`),
    '  -H "X-Service-Signature: $specified" \\',
    `  -H 'webhook-id: ${event}' -H "webhook-timestamp: $now" -H "webhook-signature: v1,$standard" \\`,
    "  --data-binary @-",
  ].join("\n")}\n`;
}

/** Returns a printf format that produces these bytes. */
function formatOf(bytes: Buffer): string {
  return bytes
    .toString("latin1")
    .replaceAll(/[\\%]/g, (char) => char + char)
    .replaceAll(/[^\x20-\x7e]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
