/** Translates errors of sockets, TLS and DNS into an attempt's errors. */
import { evidenceOf, type AttemptError, type BodyError, type Evidence } from "../../domain/deliveries/attempt.ts";

/** Carries an attempt's error through sockets. Its message is a sentence for people, without outside text. */
export class Fault extends Error {
  readonly error: AttemptError;
  readonly evidence: Evidence;

  constructor(error: AttemptError, sentence: string, evidence: Evidence = evidenceOf(error)) {
    super(sentence);
    this.error = error;
    this.evidence = evidence;
  }
}

/**
 * The meaning of socket error codes. `interrupted` stands for our own faults, which use no rung of the ladder. A
 * distant router may report EHOSTUNREACH for a single dead host. ENETUNREACH comes from this host itself, except where
 * a router reports a network that nobody announces.
 */
const BY_CODE: Readonly<Record<string, readonly [AttemptError, string, Evidence?]>> = {
  ECONNREFUSED: ["connection_refused", "the receiver refused the connection"],
  ECONNRESET: ["connection_closed", "the receiver reset the connection"],
  ECONNABORTED: ["connection_closed", "the connection was aborted"],
  EPIPE: ["connection_closed", "the receiver closed the connection"],
  ETIMEDOUT: ["timeout", "the connection timed out"],
  EHOSTUNREACH: ["unreachable", "no route to the receiver's host"],
  EHOSTDOWN: ["unreachable", "the receiver's host is down"],
  ENETUNREACH: ["unreachable", "this host has no route to the receiver's network", "cut_off"],
  EACCES: ["unreachable", "the connection was forbidden on this host"],
  EPERM: ["unreachable", "the connection was forbidden on this host"],
  EAFNOSUPPORT: ["unreachable", "this host does not support the receiver's address family"],
  EPROTO: ["tls_error", "the TLS connection failed"],
  EMFILE: ["interrupted", "this process has no file descriptors left", "shortage"],
  ENFILE: ["interrupted", "this host has no file descriptors left", "shortage"],
  ENOMEM: ["interrupted", "this host has no memory left", "shortage"],
  ENOBUFS: ["interrupted", "this host has no socket buffers left", "shortage"],
  ENETDOWN: ["interrupted", "this host's network is down", "cut_off"],
  EADDRNOTAVAIL: ["interrupted", "this host has no local port or address left", "shortage"],
};

/** OpenSSL's and Node's codes for a handshake or certificate that failed. */
const TLS_CODE = /^(ERR_SSL_|ERR_TLS_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)|_CERT$|_CA$/;

/** Turns any error of a socket or of TLS into a fault. */
export function faultOf(error: Error): Fault {
  if (error instanceof Fault) return error;
  const code = codeOf(error);
  // A host without IPv6 reports these codes for every IPv6 address. That is neither a shortage of ours nor an outage.
  if ((code === "EADDRNOTAVAIL" || code === "ENETUNREACH") && isIPv6Error(error)) {
    return new Fault("unreachable", "this host has no route to the receiver's IPv6 address");
  }
  const known = BY_CODE[code];
  if (known !== undefined) return new Fault(...known);
  if (TLS_CODE.test(code)) return new Fault("tls_error", `the TLS connection failed (${code})`);
  return new Fault("connection_closed", `the exchange failed (${code === "" ? "no code" : code})`);
}

/** Does the same for an error after the final header block has decided the attempt. */
export function bodyErrorOf(error: Error): BodyError {
  switch (faultOf(error).error) {
    case "bad_response":
      return "bad_response";
    // Only trailers can be too large here, so the body would not end.
    case "response_headers_too_large":
    case "timeout":
      return "timeout";
    default:
      return "connection_closed";
  }
}

/** True if the connection ended, rather than failing to open or carrying invalid data. */
export function isReset(error: Error): boolean {
  return faultOf(error).error === "connection_closed";
}

/** Returns the error's code if it looks like one, and never text from outside. */
export function codeOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === "string" && /^[A-Z0-9_]{1,64}$/.test(code) ? code : "";
}

function isIPv6Error(error: Error): boolean {
  const { address } = error as { address?: unknown };
  return typeof address === "string" && address.includes(":");
}
