/** What helps where no answer came that could be used, by the error. */
import type { AttemptError } from "../deliveries/attempt.ts";
import type { Row } from "./row.ts";

export const BY_ERROR: Readonly<Record<Exclude<AttemptError, "http_status" | "timeout" | "tls_error">, Row>> = {
  redirect_not_followed: {
    kind: "standing",
    blame: "the receiver",
    meaning: "The receiver redirects. Redirects are not followed, because the signed body would go to another address.",
    receiver: "Answer at this URL, or tell us the URL that the redirect leads to.",
    type: ["answer", "move", "test"],
    customer: "Your URL redirects, and we do not follow redirects. Please give us the final URL.",
  },
  dns_failure: {
    kind: "passing",
    blame: "the receiver",
    meaning: "The host's name has no address in DNS: it is misspelt or expired, or its DNS is down.",
    receiver: "Restore the DNS record of the host, or tell us the new URL.",
    type: ["check", "move"],
    customer: "We cannot find your host's name in DNS. Is it spelt right, and is the domain paid for?",
  },
  connection_refused: {
    kind: "passing",
    blame: "the receiver",
    meaning: "The host is there, but nothing listens on its port.",
    receiver: "Start the web server, and open the port in the firewall.",
    type: ["check", "test"],
    customer: "Your host refuses connections: its web server is not running. We keep trying.",
  },
  connection_closed: {
    kind: "passing",
    blame: "the receiver",
    meaning: "The connection was closed before an answer came: a crash, a restart or a proxy's limit.",
    receiver: "Look for crashes and restarts at these times, and for time limits in the proxy.",
    type: ["answer", "test"],
    customer: "Your server closes the connection before it answers. We keep trying.",
  },
  bad_response: {
    kind: "standing",
    blame: "the receiver",
    meaning: "What came back is not valid HTTP/1.1.",
    receiver: "Serve HTTP/1.1 on this port, and answer each request once.",
    type: ["check", "test"],
    customer: "Your server's answer is not valid HTTP. Please check what listens on this port.",
  },
  response_headers_too_large: {
    kind: "standing",
    blame: "the receiver",
    meaning: "The answer's headers are larger than 16 KiB.",
    receiver: "Send fewer or smaller headers; cookies are the usual suspects.",
    type: ["answer", "test"],
    customer: "Your server's answer has more headers than we accept. Please send fewer.",
  },
  too_many_informational: {
    kind: "standing",
    blame: "the receiver",
    meaning: "The receiver keeps sending 1xx responses.",
    receiver: "Send the final status; 1xx responses are not needed.",
    type: ["answer", "test"],
    customer: "Your server never sends its final answer. Please check its 1xx responses.",
  },
  address_not_public: {
    kind: "standing",
    blame: "the settings here",
    meaning: "The host's name leads to a private address, which [egress] does not allow.",
    receiver: "Use a host with a public address.",
    type: ["check", "settings"],
    customer: "Your host's name leads to a private address, and we do not send to those.",
  },
  address_metadata: {
    kind: "standing",
    blame: "the receiver",
    meaning: "The host's name leads to a cloud's metadata service: this may be an attack.",
    receiver: "Use the address of the web server itself.",
    type: ["check", "skip"],
    customer: "Your host's name leads to an internal service, and we never send to those.",
  },
  address_denied: {
    kind: "standing",
    blame: "the settings here",
    meaning: "The host's address is in [egress] deny_cidrs.",
    receiver: "Nothing, unless the block is meant for them.",
    type: ["settings", "check"],
    customer: "Our settings block the address of your host. We are looking into it.",
  },
  address_self: {
    kind: "standing",
    blame: "the settings here",
    meaning: "The host's name leads to this daemon's own host.",
    receiver: "Use the host that runs the receiver.",
    type: ["check", "move"],
    customer: "Your host's name leads to our own server. Is the DNS record right?",
  },
  unreachable: {
    kind: "passing",
    blame: "the network between",
    meaning: "There is no route to the host: it is down, or the network in between is.",
    receiver: "Check that the host is up and reachable from outside.",
    type: ["check", "host"],
    customer: "We cannot reach your host's network. We keep trying.",
  },
  payload_corrupt: {
    kind: "standing",
    blame: "this host",
    meaning: "The stored event does not match its checksum: the disk is damaged. It is never sent.",
    receiver: "Nothing: it is our fault.",
    type: ["store"],
    customer: "We lost this event to a damaged disk. We will tell you what it was.",
  },
  held_expired: {
    kind: "standing",
    blame: "the settings here",
    meaning: "The endpoint was disabled for longer than [retention] held.",
    receiver: "Nothing, once the endpoint is enabled.",
    type: ["enable", "settings"],
    customer: "Your endpoint was disabled for too long. Once it is enabled, we can send what was held.",
  },
  interrupted: {
    kind: "passing",
    blame: "this host",
    meaning: "The daemon ended the attempt itself: it was stopped, or ran short of something.",
    receiver: "Nothing: it is our fault.",
    type: ["status", "host"],
    customer: "We interrupted the attempt ourselves. We will try again.",
  },
};

/** By the step that was not done when time ran out. */
export const BY_MISSED_STEP: Readonly<Record<"dns" | "connect" | "tls" | "answer", Row>> = {
  dns: {
    kind: "passing",
    blame: "the receiver",
    meaning: "DNS did not answer for the host's name in time.",
    receiver: "Check the name servers of the domain.",
    type: ["check", "host"],
    customer: "The name servers of your domain do not answer. We keep trying.",
  },
  connect: {
    kind: "passing",
    blame: "the network between",
    meaning: "The host did not accept the connection in time: it is down, or a firewall drops our packets.",
    receiver: "Open the firewall for our address, and check that the host is up.",
    type: ["check", "host"],
    customer: "Your host does not respond to our connections. Is a firewall in the way?",
  },
  tls: {
    kind: "passing",
    blame: "the receiver",
    meaning: "The host accepted the connection, but not the TLS handshake in time: it is overloaded.",
    receiver: "Add capacity, and check what listens on the port.",
    type: ["check", "fewer"],
    customer: "Your server takes too long for the TLS handshake. We keep trying.",
  },
  answer: {
    kind: "passing",
    blame: "the receiver",
    meaning: "The receiver accepted the request but did not answer in time. It may have done the work anyway.",
    receiver: "Answer with 2xx at once and do the work afterwards; drop ids that were seen before.",
    type: ["fewer", "test"],
    customer:
      "Your handler takes longer than our time limit. Please answer first and do the work afterwards; the event may come again.",
  },
};

/** By the code that the attempt's sentence names. */
export const BY_TLS_CODE: readonly (readonly [RegExp, Row])[] = [
  [
    /CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/,
    {
      kind: "standing",
      blame: "the receiver",
      meaning: "The receiver's certificate has expired, or is not valid yet.",
      receiver: "Renew the certificate, and restart the server that uses it.",
      type: ["check", "test"],
      customer: "Your server's certificate has expired. Please renew it.",
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
    },
  ],
];
