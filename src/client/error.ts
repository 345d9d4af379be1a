/** The kinds of failure, named after exit codes. */
export type ClientFailure = "refused" | "usage" | "not_found" | "not_allowed" | "unreachable" | "conflict";

/** A mistake in one field of the request. */
export interface Fault {
  /** A JSON pointer (RFC 6901). */
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** The parts of a response, other than 2xx, that callers need. */
export interface Answered {
  readonly status: number;
  /** The wait that the daemon, or a proxy in front of it, asks for. */
  readonly retryAfterMs?: number | undefined;
}

export class ClientError extends Error {
  override readonly name: string = "ClientError";
  readonly failure: ClientFailure;
  /** The `code` in the daemon's response, or `unreachable`. */
  readonly code: string;
  readonly hint: string | undefined;
  readonly faults: readonly Fault[];
  /** Null if there was no response. */
  readonly answered: Answered | null;
  /** The id in the request, if it was about one object. */
  readonly about: string | undefined;
  /** True if the same request may succeed later. If not, something must be changed first. */
  readonly retryable: boolean;

  constructor(
    failure: ClientFailure,
    code: string,
    message: string,
    hint?: string,
    { faults = [], answered = null, about, retryable = mayPass(code, answered) }: Details = {},
  ) {
    super(message);
    this.failure = failure;
    this.code = code;
    this.hint = hint;
    this.faults = faults;
    this.answered = answered;
    this.about = about;
    this.retryable = retryable;
  }
}

/**
 * Recognizes an error of any copy of this module. In the executable the dashboard is a script of its own, and the
 * client that it is given is in another.
 */
export function isClientError(error: unknown): error is ClientError {
  return error instanceof Error && error.name === "ClientError";
}

interface Details {
  readonly faults?: readonly Fault[];
  readonly answered?: Answered | null;
  readonly about?: string | undefined;
  /** By default, the status decides: a proxy in front of the daemon says no more than that. */
  readonly retryable?: boolean;
}

function mayPass(code: string, answered: Answered | null): boolean {
  if (answered === null) return code === "unreachable";
  return answered.status >= 500 || answered.status === 429 || answered.status === 408;
}

/** `name` is the daemon's name in messages. */
export function notReached(name: string, error: NodeJS.ErrnoException, timedOut: boolean): ClientError {
  if (error.code === "EACCES" || error.code === "EPERM") {
    const hint = "Run this as its user or a member of its group, or use --url URL --key-file FILE.";
    return new ClientError("not_allowed", "not_allowed", `you may not open ${name} (permission denied)`, hint);
  }
  const { code = "" } = error;
  if (CERTIFICATE.test(code)) {
    const hint = "If an authority of your own signed it, name that one's certificate: NODE_EXTRA_CA_CERTS=FILE.";
    const message = `the certificate of the daemon at ${name} is not trusted here (${code})`;
    return new ClientError("unreachable", "unreachable", message, hint, { retryable: false });
  }
  const reason = timedOut ? "no answer in time" : (REASONS[code] ?? error.code ?? error.message);
  const hint = "Is `webhookd serve` running there? Name another daemon: --socket PATH, or --url URL --key-file FILE.";
  return new ClientError("unreachable", "unreachable", `cannot reach the daemon at ${name} (${reason})`, hint);
}

/** The beginnings of Node's and OpenSSL's error codes about certificates. */
const CERTIFICATE = /^(?:UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_|ERR_TLS_CERT_)/;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ECONNREFUSED: "nothing is listening there",
  ECONNRESET: "it closed the connection; where it speaks TLS, use https://",
  EPROTO: "it does not speak TLS; use http://",
  ENOTFOUND: "no such host",
};

export function notWebhookd(name: string, answered: Answered): ClientError {
  const message = `what answers at ${name} is not webhookd (status ${answered.status})`;
  return new ClientError("unreachable", "unreachable", message, NOT_WEBHOOKD, { answered });
}

const NOT_WEBHOOKD = "Check --url or --socket, and the proxy in between.";

/** A server that is not ours can answer a publish with 2xx as well. */
export function notPublished(name: string): ClientError {
  const message = `what answers at ${name} is not webhookd: it does not say what it published`;
  return new ClientError("unreachable", "unreachable", message, NOT_WEBHOOKD, { retryable: false });
}

interface Asked {
  readonly keyFile?: string | undefined;
  /** The id in the path. */
  readonly about?: string | undefined;
}

/** Reads a problem body (RFC 9457), which all errors of the daemon have. */
export function refusal(answered: Answered, body: object, { keyFile, about }: Asked = {}): ClientError {
  const { status } = answered;
  const { code, detail, title, errors, retryable } = body as Record<string, unknown>;
  const faults = (Array.isArray(errors) ? errors : []).map((fault: Record<string, unknown>) => ({
    pointer: String(fault.pointer),
    code: String(fault.code),
    detail: String(fault.detail),
  }));
  const what = named(String(detail ?? title ?? `status ${status}`), faults[0]);
  // The detail of a single fault is already the whole message.
  const others = faults.filter((fault) => !what.includes(fault.detail));
  const message = [what, ...others.map((fault) => `${nameOf(fault)}: ${fault.detail}`)].join("; ");
  const failure = failureOf(status);
  const hint = failure === "not_allowed" && keyFile !== undefined ? `The key in ${keyFile} was used.` : undefined;
  return new ClientError(failure, String(code ?? "refused"), message, hint, {
    faults,
    answered,
    about,
    ...(typeof retryable === "boolean" && { retryable }),
  });
}

/** Rewrites, for people, a detail that begins with the pointer of the first fault. */
function named(detail: string, fault: Fault | undefined): string {
  if (fault === undefined || !/^[/?]./.test(fault.pointer) || !detail.startsWith(`${fault.pointer} `)) return detail;
  return `${nameOf(fault)}: ${detail.slice(fault.pointer.length + 1)}`;
}

/** Returns `events[0]` for `/events/0`, `filter.status` for `/filter/status`, and `since` for `?since`. */
function nameOf({ pointer }: Fault): string {
  const parts = pointer.slice(1).split("/");
  return parts
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((name, part) => (/^\d+$/.test(part) ? `${name}[${part}]` : `${name}.${part}`));
}

function failureOf(status: number): ClientFailure {
  if (status === 401 || status === 403) return "not_allowed";
  if (status === 404) return "not_found";
  if (status === 409 || status === 410 || status === 412) return "conflict";
  return status === 422 ? "usage" : "refused";
}
