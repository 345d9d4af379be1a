/** Converts flags about an endpoint into the fields of a registration or change. */
import { AFTER_FAILURE, ORDERINGS } from "../../src/domain/deliveries/ordering.ts";
import { BODY_FORMATS } from "../../src/domain/endpoints/body-format.ts";
import type { ArgsOf } from "../command.ts";
import { usage } from "../failure.ts";
import { readInputText } from "../files.ts";
import type { Io } from "../io.ts";
import { readCount } from "../values.ts";

/** The flag for a filter, for the commands that take one. */
export const FILTER = {
  type: "string",
  valueHint: "JSON",
  description: "Which events of those types it receives: a JSON filter, @FILE, or none for all",
} as const;

/** Flags about what a receiver asks for. Secrets are read from files or stdin, never from a flag. */
const AUTH = {
  "auth-from": {
    type: "string",
    valueHint: "FILE",
    description: "File with what the receiver asks for, a JSON object with a type; - for stdin, or none",
  },
  "client-certificate": {
    type: "string",
    valueHint: "FILE",
    description: "PEM file with the client certificate to show, with --client-key",
  },
  "client-key": { type: "string", valueHint: "FILE", description: "PEM file with its private key; - for stdin" },
  "ca-from": {
    type: "string",
    valueHint: "FILE",
    description: "PEM file with the receiver's own authorities, or none for the public ones",
  },
} as const;

/** The settings of an endpoint besides its URL and types. `none` removes a limit or a name. */
export const SETTINGS = {
  description: { type: "string", valueHint: "TEXT", description: "One-line description" },
  filter: FILTER,
  uid: { type: "string", valueHint: "UID", description: "Your own name for it, unique in the tenant, or none" },
  rate: { type: "string", valueHint: "N", description: "Start at most N attempts per second, or none for no limit" },
  "max-in-flight": {
    type: "string",
    valueHint: "N",
    description: "At most N attempts at a time, or none for no limit",
  },
  "when-disabled": {
    type: "enum",
    options: ["hold", "skip", "shadow"],
    description: "What to do with its events while it is disabled",
  },
  ordering: {
    type: "enum",
    options: [...ORDERINGS],
    description: "Whether the events of an ordering key are sent one after another",
  },
  "after-failure": {
    type: "enum",
    options: [...AFTER_FAILURE],
    description: "Whether the next event of a key follows a failed one, or waits for a replay or a cancel",
  },
  format: {
    type: "enum",
    options: [...BODY_FORMATS],
    description: "The body that is sent: the envelope, a CloudEvent in structured or binary mode, or the data alone",
  },
  "trace-context": {
    type: "enum",
    options: ["on", "off"],
    description: "Whether its receiver gets the headers traceparent and tracestate",
  },
  signatures: {
    type: "string",
    valueHint: "hmac,ed25519",
    description: "The signatures in webhook-signature: hmac (v1), ed25519 (v1a), or both",
  },
  "headers-from": {
    type: "string",
    valueHint: "FILE",
    description: "File with headers to send, a JSON object; - for stdin",
  },
  ...AUTH,
  metadata: { type: "string", valueHint: "JSON", description: "Your own data, a JSON object" },
} as const;

const MAX_AUTH_BYTES = 64 * 1024;
const MAX_HEADERS_BYTES = 128 * 1024;
/** More than any daemon accepts. */
const MAX_FILTER_BYTES = 64 * 1024;
const NONE = "none";

/** Returns only the fields that were given. Throws a Failure with exit code 2 if a value is not valid. */
export async function readSettings(args: ArgsOf<typeof SETTINGS>, io: Io): Promise<Readonly<Record<string, unknown>>> {
  const {
    description,
    filter,
    uid,
    rate,
    "max-in-flight": most,
    "when-disabled": whenDisabled,
    "after-failure": afterFailure,
    ordering,
    format,
    "trace-context": traceContext,
    signatures,
    metadata,
  } = args;
  const file = args["headers-from"];
  return {
    ...(description !== undefined && { description }),
    ...(filter !== undefined && { filter: await readFilter(filter, io) }),
    ...(uid !== undefined && { uid: uid === NONE ? null : uid }),
    ...(rate !== undefined && { rate_per_second: rate === NONE ? null : readRate(rate) }),
    ...(most !== undefined && {
      max_in_flight: most === NONE ? null : readCount(most, "--max-in-flight", { min: 1, max: 10_000 }),
    }),
    ...(whenDisabled !== undefined && { when_disabled: whenDisabled }),
    ...(ordering !== undefined && { ordering }),
    ...(afterFailure !== undefined && { after_failure: afterFailure }),
    ...(format !== undefined && { format }),
    ...(traceContext !== undefined && { trace_context: traceContext === "on" }),
    ...(signatures !== undefined && { signatures: signatures.split(",").map((name) => name.trim()) }),
    ...(file !== undefined && {
      headers: readObject(await readInputText(file, "--headers-from", MAX_HEADERS_BYTES, io), "--headers-from"),
    }),
    ...(await readAuth(args, io)),
    ...(metadata !== undefined && { metadata: readObject(metadata, "--metadata") }),
  };
}

/** Returns only the fields that were given. No message repeats what a file says. */
async function readAuth(args: ArgsOf<typeof AUTH>, io: Io): Promise<Readonly<Record<string, unknown>>> {
  const { "auth-from": auth, "client-certificate": certificate, "client-key": key, "ca-from": ca } = args;
  if ((certificate === undefined) !== (key === undefined))
    throw usage("a client certificate needs its key", "Use both --client-certificate and --client-key.");
  if (auth !== undefined && certificate !== undefined)
    throw usage("an endpoint has one auth", "Use either --auth-from, or --client-certificate and --client-key.");
  const read = (file: string, flag: string) => readInputText(file, flag, MAX_AUTH_BYTES, io);
  return {
    ...(auth !== undefined && {
      auth: auth === NONE ? null : readObject(await read(auth, "--auth-from"), "--auth-from"),
    }),
    ...(certificate !== undefined && {
      auth: {
        type: "mtls",
        certificate: await read(certificate, "--client-certificate"),
        key: await read(key!, "--client-key"),
      },
    }),
    ...(ca !== undefined && { ca: ca === NONE ? null : await read(ca, "--ca-from") }),
  };
}

/** Reads a filter from a flag; null for `none`. */
export async function readFilter(typed: string, io: Io): Promise<object | null> {
  if (typed === NONE) return null;
  const text = typed.startsWith("@") ? await readInputText(typed.slice(1), "--filter", MAX_FILTER_BYTES, io) : typed;
  return readObject(text, "--filter");
}

function readRate(text: string): number {
  if (/^\d{1,6}(?:\.\d{1,3})?$/.test(text) && Number(text) > 0) return Number(text);
  throw usage(`--rate must be a number of attempts per second, or none, not "${text}"`);
}

/** Never repeats the text in an error, because header values may be secrets. */
function readObject(text: string, flag: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw usage(`${flag} is not JSON`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw usage(`${flag} is not a JSON object`);
}
