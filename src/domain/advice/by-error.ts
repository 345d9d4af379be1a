/** Advice by the error of an attempt that got no usable answer, and the type of a row of advice. */
import type { AttemptError } from "../deliveries/attempt.ts";

/** The most likely place of the fault. */
export type Blame = "the receiver" | "the network between" | "this host" | "the settings here";

export interface Row {
  /** `passing` may go away by itself, so that retries help. `standing` stays until someone acts. */
  readonly kind: "passing" | "standing";
  readonly blame: Blame;
  readonly meaning: string;
  /** Instructions for the people who run the receiver. */
  readonly receiver: string;
  /** The commands to run here, the most useful first. */
  readonly type: readonly CommandKey[];
  /** A message for the customer. */
  readonly customer: string;
  readonly owner: OwnerAdvice;
}

/** Names the words that the portal has for it (`src/portal/language`), where the endpoint can be edited. */
export type OwnerAdvice =
  | "redirect_not_followed"
  | "dns_failure"
  | "connection_refused"
  | "connection_closed"
  | "bad_response"
  | "response_headers_too_large"
  | "too_many_informational"
  | "address_not_public"
  | "address_metadata"
  | "address_denied"
  | "address_self"
  | "unreachable"
  | "payload_corrupt"
  | "held_expired"
  | "interrupted"
  | "status_401"
  | "status_404"
  | "status_408"
  | "status_410"
  | "status_413"
  | "status_429"
  | "status_400"
  | "status_4xx"
  | "status_502"
  | "status_5xx"
  | "other_status"
  | "timeout_dns"
  | "timeout_connect"
  | "timeout_tls"
  | "timeout_answer"
  | "token_refused"
  | "token_malformed"
  | "token_missing"
  | "client_certificate_refused"
  | "client_certificate_unusable"
  | "tls_expired"
  | "tls_other_name"
  | "tls_untrusted"
  | "tls_chain"
  | "tls_error";

export interface Subject {
  readonly endpoint: string;
  /** Null if its id is unknown. */
  readonly attempt: string | null;
}

export type CommandKey = keyof typeof COMMANDS;

/** Each command with its purpose. */
export const COMMANDS = {
  answer: [
    "see what came back",
    ({ endpoint, attempt }: Subject) =>
      attempt === null
        ? `webhookd attempts list ${endpoint} --outcome failed --limit 1`
        : `webhookd attempts show ${attempt}`,
  ],
  check: ["check its DNS and TLS", ({ endpoint }: Subject) => `webhookd doctor --endpoint ${endpoint}`],
  test: ["once it is fixed", ({ endpoint }: Subject) => `webhookd endpoints test ${endpoint}`],
  secret: ["compare the secret", ({ endpoint }: Subject) => `webhookd endpoints secret ${endpoint}`],
  rate: ["send more slowly", ({ endpoint }: Subject) => `webhookd endpoints update ${endpoint} --rate 5`],
  fewer: ["send less at a time", ({ endpoint }: Subject) => `webhookd endpoints update ${endpoint} --max-in-flight 4`],
  move: ["set a new URL", ({ endpoint }: Subject) => `webhookd endpoints update ${endpoint} --to https://…`],
  hold: ["hold its events", ({ endpoint }: Subject) => `webhookd endpoints disable ${endpoint} --hold`],
  skip: ["stop sending to it", ({ endpoint }: Subject) => `webhookd endpoints disable ${endpoint} --skip`],
  enable: ["send what is held", ({ endpoint }: Subject) => `webhookd endpoints enable ${endpoint}`],
  settings: ["see the settings", () => "webhookd config show"],
  auth: ["see its auth", ({ endpoint }: Subject) => `webhookd endpoints show ${endpoint}`],
  host: ["check this host", () => "webhookd doctor"],
  store: ["check the store", () => "webhookd doctor --offline"],
  status: ["see how the daemon is", () => "webhookd status"],
} as const;

export const BY_ERROR: Readonly<
  Record<Exclude<AttemptError, "http_status" | "timeout" | "tls_error" | "token_error">, Row>
> = {
  redirect_not_followed: {
    kind: "standing",
    blame: "the receiver",
    meaning: "The receiver redirects. Redirects are not followed, because the signed body would go to another address.",
    receiver: "Answer at this URL, or tell us the URL that the redirect leads to.",
    type: ["answer", "move", "test"],
    customer: "Your URL redirects, and we do not follow redirects. Please give us the final URL.",
    owner: "redirect_not_followed",
  },
  dns_failure: {
    kind: "passing",
    blame: "the receiver",
    meaning: "The host's name has no address in DNS: it is misspelt or expired, or its DNS is down.",
    receiver: "Restore the DNS record of the host, or tell us the new URL.",
    type: ["check", "move"],
    customer: "We cannot find your host's name in DNS. Is it spelt right, and is the domain paid for?",
    owner: "dns_failure",
  },
  connection_refused: {
    kind: "passing",
    blame: "the receiver",
    meaning: "The host is there, but nothing listens on its port.",
    receiver: "Start the web server, and open the port in the firewall.",
    type: ["check", "test"],
    customer: "Your host refuses connections: its web server is not running. We keep trying.",
    owner: "connection_refused",
  },
  connection_closed: {
    kind: "passing",
    blame: "the receiver",
    meaning: "The connection was closed before an answer came: a crash, a restart or a proxy's limit.",
    receiver: "Look for crashes and restarts at these times, and for time limits in the proxy.",
    type: ["answer", "test"],
    customer: "Your server closes the connection before it answers. We keep trying.",
    owner: "connection_closed",
  },
  bad_response: {
    kind: "standing",
    blame: "the receiver",
    meaning: "What came back is not valid HTTP/1.1.",
    receiver: "Serve HTTP/1.1 on this port, and answer each request once.",
    type: ["check", "test"],
    customer: "Your server's answer is not valid HTTP. Please check what listens on this port.",
    owner: "bad_response",
  },
  response_headers_too_large: {
    kind: "standing",
    blame: "the receiver",
    meaning: "The answer's headers are larger than 16 KiB.",
    receiver: "Send fewer or smaller headers; cookies are the usual suspects.",
    type: ["answer", "test"],
    customer: "Your server's answer has more headers than we accept. Please send fewer.",
    owner: "response_headers_too_large",
  },
  too_many_informational: {
    kind: "standing",
    blame: "the receiver",
    meaning: "The receiver keeps sending 1xx responses.",
    receiver: "Send the final status; 1xx responses are not needed.",
    type: ["answer", "test"],
    customer: "Your server never sends its final answer. Please check its 1xx responses.",
    owner: "too_many_informational",
  },
  address_not_public: {
    kind: "standing",
    blame: "the settings here",
    meaning: "The host's name leads to a private address, which [egress] does not allow.",
    receiver: "Use a host with a public address.",
    type: ["check", "settings"],
    customer: "Your host's name leads to a private address, and we do not send to those.",
    owner: "address_not_public",
  },
  address_metadata: {
    kind: "standing",
    blame: "the receiver",
    meaning: "The host's name leads to a cloud's metadata service: this may be an attack.",
    receiver: "Use the address of the web server itself.",
    type: ["check", "skip"],
    customer: "Your host's name leads to an internal service, and we never send to those.",
    owner: "address_metadata",
  },
  address_denied: {
    kind: "standing",
    blame: "the settings here",
    meaning: "The host's address is in [egress] deny_cidrs.",
    receiver: "Nothing, unless the block is meant for them.",
    type: ["settings", "check"],
    customer: "Our settings block the address of your host. We are looking into it.",
    owner: "address_denied",
  },
  address_self: {
    kind: "standing",
    blame: "the settings here",
    meaning: "The host's name leads to this daemon's own host.",
    receiver: "Use the host that runs the receiver.",
    type: ["check", "move"],
    customer: "Your host's name leads to our own server. Is the DNS record right?",
    owner: "address_self",
  },
  unreachable: {
    kind: "passing",
    blame: "the network between",
    meaning: "There is no route to the host: it is down, or the network in between is.",
    receiver: "Check that the host is up and reachable from outside.",
    type: ["check", "host"],
    customer: "We cannot reach your host's network. We keep trying.",
    owner: "unreachable",
  },
  payload_corrupt: {
    kind: "standing",
    blame: "this host",
    meaning: "The stored event does not match its checksum: the disk is damaged. It is never sent.",
    receiver: "Nothing: it is our fault.",
    type: ["store"],
    customer: "We lost this event to a damaged disk. We will tell you what it was.",
    owner: "payload_corrupt",
  },
  held_expired: {
    kind: "standing",
    blame: "the settings here",
    meaning: "The endpoint was disabled for longer than [retention] held.",
    receiver: "Nothing, once the endpoint is enabled.",
    type: ["enable", "settings"],
    customer: "Your endpoint was disabled for too long. Once it is enabled, we can send what was held.",
    owner: "held_expired",
  },
  interrupted: {
    kind: "passing",
    blame: "this host",
    meaning: "The daemon ended the attempt itself: it was stopped, or ran short of something.",
    receiver: "Nothing: it is our fault.",
    type: ["status", "host"],
    customer: "We interrupted the attempt ourselves. We will try again.",
    owner: "interrupted",
  },
};
