/**
 * The headers that an endpoint adds to its attempts: which ones may be registered (`docs/interface.md` §3), and how
 * they merge.
 */
import * as v from "valibot";
import type { JsonObject } from "../pipeline/body.ts";
import { anObject } from "../pipeline/shapes.ts";

const MAX_HEADERS = 16;
const MAX_HEADER_BYTES = 4096;

/** A token, as defined in RFC 9110 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;
/** Visible ASCII with spaces inside. Anything else would be sent as Latin-1, or would end the header. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Headers that we set ourselves, that the HTTP client sets, or that concern the connection or framing. A receiver must
 * be able to trust them.
 */
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
  // This name would set the prototype of an object that collects headers.
  "__proto__",
]);
/** Metadata services answer requests with these headers, so a caller could make us read cloud credentials. */
const DENIED_PREFIXES = ["proxy-", "x-webhookd-", "x-aws-ec2-metadata-", "x-aliyun-ecs-metadata-"];

export interface HeaderFault {
  /** Undefined if the headers as a whole are at fault. */
  readonly name?: string;
  readonly detail: string;
}

/** `signatureHeaders` are the configured names of headers with signatures, which may not be registered either. */
export function headerFaults(
  headers: Readonly<Record<string, unknown>>,
  signatureHeaders: readonly string[],
): HeaderFault[] {
  const signing = signatureHeaders.map((name) => asCgiReads(name.toLowerCase()));
  const names = Object.keys(headers);
  const faults: HeaderFault[] = names.length > MAX_HEADERS ? [{ detail: `at most ${MAX_HEADERS} headers` }] : [];
  const seen = new Set<string>();
  for (const name of names) {
    const detail = headerFault(name.toLowerCase(), headers[name], signing);
    if (detail !== null) faults.push({ name, detail });
    if (seen.has(name.toLowerCase()))
      faults.push({ name, detail: "is given twice; header names are not case-sensitive" });
    seen.add(name.toLowerCase());
  }
  return faults;
}

function headerFault(name: string, value: unknown, signing: readonly string[]): string | null {
  if (!TOKEN.test(name)) return "is not a header name";
  const read = asCgiReads(name);
  const isDenied = [name, read].some((one) => DENIED_HEADERS.has(one)) || signing.includes(read);
  if (isDenied || DENIED_PREFIXES.some((prefix) => read.startsWith(prefix))) {
    return "is a header that webhookd sets itself or never sends";
  }
  if (typeof value !== "string" || !HEADER_VALUE.test(value)) return "must be a string of visible ASCII characters";
  return value.length > MAX_HEADER_BYTES ? `is longer than ${MAX_HEADER_BYTES} bytes` : null;
}

/** Receivers behind CGI read both spellings as the same header. */
function asCgiReads(name: string): string {
  return name.replaceAll("_", "-");
}

export function headers(signatureHeaders: readonly string[]) {
  return v.pipe(
    anObject(),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      for (const { name, detail } of headerFaults(dataset.value, signatureHeaders)) {
        const message = `invalid_header: ${detail}`;
        if (name === undefined) addIssue({ message });
        else addIssue({ message, path: [item(dataset.value, name)] });
      }
    }),
    v.metadata({
      title: "HeaderValues",
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

/** Compares names without regard to case, so a header in `patch` replaces one that differs only in case. */
export function mergeHeaders(before: Readonly<Record<string, string>>, patch: JsonObject): JsonObject {
  const named = new Set(Object.keys(patch).map((name) => name.toLowerCase()));
  const others = Object.entries(before).filter(([name]) => !named.has(name.toLowerCase()));
  const values = Object.entries(patch).filter(([, value]) => value !== null);
  return Object.fromEntries([...others, ...values]);
}
