/**
 * Advises what to do about a delivery that does not arrive, by the result of its latest attempt and by how long it has
 * failed.
 */
import type { AttemptError, Phases } from "../deliveries/attempt.ts";
import {
  type Blame,
  BY_ERROR,
  type CommandKey,
  COMMANDS,
  type OwnerAdvice,
  type Row,
  type Subject,
} from "./by-error.ts";
import { BY_STATUS, OTHER_STATUS } from "./by-status.ts";

/** The facts about a failure that advice depends on. */
export interface Trouble {
  readonly error: AttemptError | null;
  readonly status: number | null;
  /** The time for which attempts have been failing in this way, in milliseconds. */
  readonly lastsMs: number;
  /** True if all of its deliveries have failed for good. */
  readonly isOver?: boolean;
  /** The latest attempt, if it was read. Its detail names the code of a TLS fault. */
  readonly sample?: {
    readonly url: string;
    readonly detail: string;
    readonly remoteAddress: string | null;
    readonly phases: Phases;
  };
}

export interface Advice {
  readonly meaning: string;
  readonly blame: Blame;
  /** The effect of waiting. */
  readonly outlook: string;
  /** Instructions for the people who run the receiver. */
  readonly receiver: string;
  readonly commands: readonly { readonly purpose: string; readonly line: string }[];
  /** A message for the customer. */
  readonly customer: string;
  readonly owner: OwnerAdvice;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function adviceOn(trouble: Trouble, subject: Subject): Advice {
  const { kind, type, ...row } = rowOf(trouble);
  const holds = trouble.lastsMs >= DAY_MS && row.blame !== "this host" && !type.includes("skip");
  const keys: readonly CommandKey[] = holds ? [...type, "hold"] : type;
  const commands = keys.map((key) => ({ purpose: COMMANDS[key][0], line: COMMANDS[key][1](subject) }));
  const advice = { ...row, outlook: outlookOf(kind, trouble), commands };
  return trouble.isOver
    ? { ...advice, customer: row.customer.replace(WE_TRY, "Once it works, we can send it again.") }
    : advice;
}

/** A promise to keep trying, which is removed once all deliveries have failed for good. */
const WE_TRY = /We (?:keep trying(?:, and nothing is lost in the meantime)?|will try again)\./;

function outlookOf(kind: Row["kind"], { lastsMs, isOver }: Trouble): string {
  if (kind === "standing") return "Waiting does not help.";
  if (lastsMs < HOUR_MS) {
    return isOver
      ? "It may pass, but no attempts are left: replay once it has passed."
      : "It may pass: retries continue.";
  }
  return lastsMs < DAY_MS ? "It has lasted for hours: tell them." : "It has lasted for more than a day: tell them.";
}

function rowOf({ error, status, sample }: Trouble): Row {
  switch (error) {
    case null:
    case "http_status":
      return BY_STATUS.find(([matches]) => matches(status ?? 0))?.[1] ?? OTHER_STATUS;
    case "timeout":
      return BY_MISSED_STEP[sample === undefined ? "answer" : missedStep(sample)];
    case "tls_error":
      return BY_TLS_CODE.find(([code]) => code.test(sample?.detail ?? ""))![1];
    case "connection_closed":
      return sample?.detail.includes("client certificate") ? REFUSED_CERTIFICATE : BY_ERROR[error];
    case "token_error":
      return BY_TOKEN_DETAIL.find(([detail]) => detail.test(sample?.detail ?? ""))![1];
    default:
      return BY_ERROR[error];
  }
}

/** An attempt on a kept connection has an address, but no step before the answer. */
function missedStep({ url, remoteAddress, phases }: NonNullable<Trouble["sample"]>): keyof typeof BY_MISSED_STEP {
  const { dnsMs, connectMs, tlsMs } = phases;
  if (connectMs !== null) return tlsMs === null && url.startsWith("https:") ? "tls" : "answer";
  if (dnsMs !== null) return "connect";
  return remoteAddress === null ? "dns" : "answer";
}

/** Advice for a timeout, by the step that was not finished. */
const BY_MISSED_STEP: Readonly<Record<"dns" | "connect" | "tls" | "answer", Row>> = {
  dns: {
    kind: "passing",
    blame: "the receiver",
    meaning: "DNS did not answer for the host's name in time.",
    receiver: "Check the name servers of the domain.",
    type: ["check", "host"],
    customer: "The name servers of your domain do not answer. We keep trying.",
    owner: "timeout_dns",
  },
  connect: {
    kind: "passing",
    blame: "the network between",
    meaning: "The host did not accept the connection in time: it is down, or a firewall drops our packets.",
    receiver: "Open the firewall for our address, and check that the host is up.",
    type: ["check", "host"],
    customer: "Your host does not respond to our connections. Is a firewall in the way?",
    owner: "timeout_connect",
  },
  tls: {
    kind: "passing",
    blame: "the receiver",
    meaning: "The host accepted the connection, but did not complete the TLS handshake in time: it is overloaded.",
    receiver: "Add capacity, and check what listens on the port.",
    type: ["check", "fewer"],
    customer: "Your server takes too long for the TLS handshake. We keep trying.",
    owner: "timeout_tls",
  },
  answer: {
    kind: "passing",
    blame: "the receiver",
    meaning: "The receiver accepted the request but did not answer in time. It may have done the work anyway.",
    receiver: "Answer with 2xx at once and do the work afterwards; drop ids that were seen before.",
    type: ["fewer", "test"],
    customer:
      "Your handler takes longer than our time limit. Please answer first and do the work afterwards; the event may come again.",
    owner: "timeout_answer",
  },
};

/** Advice for a missing token, by the attempt's detail. */
const BY_TOKEN_DETAIL: readonly (readonly [RegExp, Row])[] = [
  [
    /answered 4(?!29|08)/,
    {
      kind: "standing",
      blame: "the settings here",
      meaning: "The token server refuses the client: its id, secret, scope or audience is wrong. No request was sent.",
      receiver: "Check the client at the token server, and tell us its id, secret and scope.",
      type: ["auth", "test"],
      customer: "The token server of your endpoint refuses our client. Please check its id, secret and scope.",
      owner: "token_refused",
    },
  ],
  [
    /is larger|is not a JSON|no access_token|another type|cannot be sent|answered 3/,
    {
      kind: "standing",
      blame: "the settings here",
      meaning: "What token_url answers is not a token: it may be the wrong URL. No request was sent.",
      receiver: "Tell us the URL at which the token server answers client credentials.",
      type: ["auth", "test"],
      customer: "The token URL of your endpoint does not answer with a token. Is it the right URL?",
      owner: "token_malformed",
    },
  ],
  [
    /(?:)/,
    {
      kind: "passing",
      blame: "the receiver",
      meaning: "The token server gave no token: it is down, too slow, or cannot be reached. No request was sent.",
      receiver: "Check the token server. It must answer within half of our time limit.",
      type: ["answer", "test"],
      customer: "We get no token from the token server of your endpoint. We keep trying.",
      owner: "token_missing",
    },
  ],
];

const REFUSED_CERTIFICATE: Row = {
  kind: "standing",
  blame: "the settings here",
  meaning:
    "The receiver refuses our client certificate, or wants one: none is set, or it has expired or is not trusted.",
  receiver: "Tell us which client certificate the server accepts, and check that it trusts its issuer.",
  type: ["auth", "test"],
  customer: "Your server refuses our client certificate. Please check its expiry, and which issuers the server trusts.",
  owner: "client_certificate_refused",
};

/** Advice for a TLS fault, by the code that the attempt's detail names. */
const BY_TLS_CODE: readonly (readonly [RegExp, Row])[] = [
  [
    /OWN_TLS/,
    {
      kind: "standing",
      blame: "the settings here",
      meaning: "The client certificate, its key or the authorities of this endpoint cannot be used here.",
      receiver: "Nothing, unless they gave us the certificate.",
      type: ["auth", "test"],
      customer: "We cannot use the client certificate or the authorities of your endpoint. Please give us new ones.",
      owner: "client_certificate_unusable",
    },
  ],
  [/ALERT_\w*(?:CERTIFICATE|UNKNOWN_CA)/, REFUSED_CERTIFICATE],
  [
    /CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/,
    {
      kind: "standing",
      blame: "the receiver",
      meaning: "The receiver's certificate has expired, or is not valid yet.",
      receiver: "Renew the certificate, and restart the server that uses it.",
      type: ["check", "test"],
      customer: "Your server's certificate has expired. Please renew it.",
      owner: "tls_expired",
    },
  ],
  [
    /ALTNAME/,
    {
      kind: "standing",
      blame: "the receiver",
      meaning: "The receiver's certificate is for a different name.",
      receiver: "Serve a certificate that names this host.",
      type: ["check", "move"],
      customer: "Your server's certificate is for a different name than the one in your URL.",
      owner: "tls_other_name",
    },
  ],
  [
    /SELF_SIGNED|DEPTH_ZERO/,
    {
      kind: "standing",
      blame: "the receiver",
      meaning: "The receiver's certificate is not signed by an authority that this host trusts.",
      receiver: "Serve a certificate from a public authority.",
      type: ["check", "test"],
      customer: "Your server's certificate is self-signed, which we do not accept.",
      owner: "tls_untrusted",
    },
  ],
  [
    /UNABLE_TO_|ISSUER|CHAIN/,
    {
      kind: "standing",
      blame: "the receiver",
      meaning: "The receiver leaves out an intermediate certificate.",
      receiver: "Serve the full chain (fullchain.pem, not cert.pem).",
      type: ["check", "test"],
      customer: "Your server does not send its whole certificate chain. Browsers forgive that; programs do not.",
      owner: "tls_chain",
    },
  ],
  [
    /(?:)/,
    {
      kind: "standing",
      blame: "the receiver",
      meaning: "The TLS connection failed.",
      receiver: "Offer TLS 1.2 or 1.3 with a valid certificate on this port.",
      type: ["check", "test"],
      customer: "We cannot establish a secure connection to your server. Please check its TLS settings.",
      owner: "tls_error",
    },
  ],
];
