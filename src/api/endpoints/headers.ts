/** The headers that an endpoint's attempts carry: which may be registered (`docs/interface.md` §3), and how they merge. */
import * as v from "valibot";
import type { JsonObject } from "../pipeline/body.ts";
import { anObject } from "../pipeline/shapes.ts";

const MAX_HEADERS = 16;
const MAX_HEADER_BYTES = 4096;

/** RFC 9110 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;
/** Visible ASCII with spaces inside: anything else goes out as Latin-1 or ends the header. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Ours, hop-by-hop, framing, or the client's own: a receiver must be able to trust them, and undici refuses some. */
const DENIED_HEADERS = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "cookie",
  "date",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "set-cookie",
  "te",
  "traceparent",
  "tracestate",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
  "via",
  "metadata",
  "metadata-flavor",
  "x-google-metadata-request",
  "webhook-id",
  "webhook-signature",
  "webhook-timestamp",
  "x-service-signature",
  // A name that would set the prototype of whatever object headers are gathered in.
  "__proto__",
]);
/** The names of metadata services: with these they answer a request that somebody else made us send. */
const DENIED_PREFIXES = ["proxy-", "x-webhookd-", "x-aws-ec2-metadata-", "x-aliyun-ecs-metadata-"];

export interface HeaderFault {
  /** Undefined: the whole set. */
  readonly name?: string;
  readonly detail: string;
}

/** `signatureHeader` is the configured name of the signature, which is ours too. */
export function headerFaults(headers: Readonly<Record<string, unknown>>, signatureHeader: string): HeaderFault[] {
  const names = Object.keys(headers);
  const faults: HeaderFault[] = names.length > MAX_HEADERS ? [{ detail: `at most ${MAX_HEADERS} headers` }] : [];
  const seen = new Set<string>();
  for (const name of names) {
    const detail = headerFault(name.toLowerCase(), headers[name], signatureHeader.toLowerCase());
    if (detail !== null) faults.push({ name, detail });
    if (seen.has(name.toLowerCase()))
      faults.push({ name, detail: "is given twice; header names are not case-sensitive" });
    seen.add(name.toLowerCase());
  }
  return faults;
}

function headerFault(name: string, value: unknown, signatureHeader: string): string | null {
  if (!TOKEN.test(name)) return "is not a header name";
  // Receivers behind CGI and its like read both as one.
  const read = name.replaceAll("_", "-");
  const isDenied = [name, read].some((one) => DENIED_HEADERS.has(one)) || read === signatureHeader.replaceAll("_", "-");
  if (isDenied || DENIED_PREFIXES.some((prefix) => read.startsWith(prefix))) {
    return "is a header that webhookd sets itself or never sends";
  }
  if (typeof value !== "string" || !HEADER_VALUE.test(value)) return "must be a string of visible ASCII characters";
  return value.length > MAX_HEADER_BYTES ? `is longer than ${MAX_HEADER_BYTES} bytes` : null;
}

export function headers(signatureHeader: string) {
  return v.pipe(
    anObject(),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      for (const { name, detail } of headerFaults(dataset.value, signatureHeader)) {
        const message = `invalid_header: ${detail}`;
        if (name === undefined) addIssue({ message });
        else addIssue({ message, path: [item(dataset.value, name)] });
      }
    }),
    v.metadata({
      additionalProperties: { type: "string", maxLength: MAX_HEADER_BYTES },
      maxProperties: MAX_HEADERS,
      description:
        "Sent with each attempt. Names must follow RFC 9110, and values must be visible ASCII; headers that webhookd sets itself are refused.",
    }),
    v.transform((checked) => checked as Record<string, string>),
  );
}

function item(input: Record<string, unknown>, key: string): v.ObjectPathItem {
  return { type: "object", origin: "value", input, key, value: input[key] };
}

/** Case does not tell headers apart: one that is named takes the place of the one that was there. */
export function mergeHeaders(before: Readonly<Record<string, string>>, patch: JsonObject): JsonObject {
  const named = new Set(Object.keys(patch).map((name) => name.toLowerCase()));
  const others = Object.entries(before).filter(([name]) => !named.has(name.toLowerCase()));
  const values = Object.entries(patch).filter(([, value]) => value !== null);
  return Object.fromEntries([...others, ...values]);
}
