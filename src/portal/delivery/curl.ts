/** Writes a request, exactly as it is sent, as a curl command. */
import { shellQuoted } from "../../domain/shell.ts";
import { now } from "../server/clock.ts";
import type { SentBody } from "./envelope.ts";
import { canSign, isHmacSecret, signBody, signStandard } from "../verify/signature.ts";

interface Sent {
  readonly url: string;
  readonly event: string;
  readonly sent: SentBody;
  /** Undefined if the key may not read it. Then the request is not signed. */
  readonly secret: string | undefined;
  /** The name of the header that has the signature. */
  readonly header: string;
  /** The names of the endpoint's own headers, whose values are never shown. */
  readonly own?: readonly string[];
}

export async function curlOf({ url, event, sent, secret, header, own = [] }: Sent): Promise<string> {
  const seconds = Math.floor(now() / 1000);
  const { body, contentType, headers: ofFormat } = sent;
  const headers = [`content-type: ${contentType}`];
  if (secret !== undefined && canSign() && isHmacSecret(secret)) {
    headers.push(
      `${header}: ${await signBody(secret, body)}`,
      `webhook-id: ${event}`,
      `webhook-timestamp: ${seconds}`,
      `webhook-signature: ${await signStandard(secret, event, seconds, body)}`,
    );
  }
  headers.push(...ofFormat.map(([name, value]) => `${name}: ${value}`));
  headers.push(...own.map((name) => `${name}: …`));
  const lines = [
    `curl -sS -i ${shellQuoted(url)}`,
    ...headers.map((line) => `-H ${shellQuoted(line)}`),
    `--data-binary ${shellQuoted(body)}`,
  ];
  return lines.join(" \\\n  ");
}
