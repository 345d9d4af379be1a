/** Writes the request that webhookd would make, as a script for any POSIX shell with openssl and curl. */
import type { Endpoint } from "../../src/client/operations.ts";
import { SHELL_KEYS } from "../../src/domain/endpoints/secret.ts";
import { shellQuoted, shellWord } from "../../src/domain/shell.ts";
import { Failure } from "../failure.ts";
import type { SentBody } from "./body.ts";

export interface Sent {
  readonly event: string;
  readonly endpoint: string;
  readonly url: string;
  readonly sent: SentBody;
  /** Names of the endpoint's own headers, whose values the daemon does not reveal. */
  readonly headers: readonly string[];
  /** The type of its auth, whose secrets the daemon does not reveal either. */
  readonly auth?: NonNullable<Endpoint["auth"]>["type"] | undefined;
}

const AUTH_NOTES = {
  basic: "this endpoint asks for a user and a password; add them with -u",
  bearer: "this endpoint asks for a token; add it with -H 'authorization: Bearer ...'",
  oauth2: "this endpoint asks for a token of its token server; add it with -H 'authorization: Bearer ...'",
  mtls: "this endpoint asks for a client certificate; add it with --cert and --key",
} as const;

/**
 * The script is pure ASCII, so that nothing in it can control the terminal that shows it, and everything that the
 * daemon said is quoted. It signs when it runs, with a secret from a variable, so that no text contains the secret.
 */
export function curlScript({ event, endpoint, url, sent, headers, auth }: Sent): string {
  requirePlain(event, endpoint, sent.contentType, ...sent.headers.flat(), ...headers);
  const { href } = URL.parse(url) ?? unfit("the URL of the endpoint", event);
  const own = headers.map((name) => `#   this endpoint also gets the header ${name}; add it with -H`);
  if (auth !== undefined) own.push(`#   ${AUTH_NOTES[auth]}`);
  return `${[
    `# ${event} to ${endpoint}, signed when this runs. First:`,
    `#   WEBHOOKD_SECRET=$(webhookd endpoints secret ${shellWord(endpoint)})`,
    ...own,
    `body=$(printf ${shellQuoted(formatOf(sent.body))})`,
    "now=$(date +%s)",
    "hex() { od -An -v -tx1 | tr -d ' \\n'; }",
    "case $WEBHOOKD_SECRET in",
    ...SHELL_KEYS.map((arm) => `  ${arm}`),
    "esac",
    'signed() { openssl dgst -sha256 -mac HMAC -macopt "hexkey:$1" -binary; }',
    'specified=$(printf %s "$body" | signed "$(printf %s "$WEBHOOKD_SECRET" | hex)" | hex)',
    `standard=$(printf '%s.%s.%s' ${shellWord(event)} "$now" "$body" | signed "$key" | openssl base64 -A)`,
    `printf %s "$body" | curl -sS -i ${shellQuoted(href)} \\`,
    `  -H ${shellQuoted(`content-type: ${sent.contentType}`)} \\`,
    ...sent.headers.map(([name, value]) => `  -H ${shellQuoted(`${name}: ${value}`)} \\`),
    '  -H "X-Service-Signature: $specified" \\',
    `  -H ${shellQuoted(`webhook-id: ${event}`)} -H "webhook-timestamp: $now" -H "webhook-signature: v1,$standard" \\`,
    "  --data-binary @-",
  ].join("\n")}\n`;
}

/** Throws for a text that has a line break, a terminal control, or anything else beyond printable ASCII. */
function requirePlain(event: string, ...texts: readonly string[]): void {
  const bad = [event, ...texts].find((text) => !/^[\x20-\x7e]*$/.test(text));
  if (bad !== undefined) unfit(JSON.stringify(bad), event);
}

function unfit(what: string, event: string): never {
  const look = `Look at it with: webhookd events show ${shellWord(event)} --json`;
  throw new Failure("refused", `${what} cannot stand in a script`, look);
}

/** Returns a printf format that produces these bytes. */
function formatOf(bytes: Buffer): string {
  return bytes
    .toString("latin1")
    .replaceAll(/[\\%]/g, (char) => char + char)
    .replaceAll(/[^\x20-\x7e]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
}
