/**
 * Settings for how deliveries are made: when, how many at a time, where to, and how they are signed: [retry],
 * [delivery], [egress], [signature].
 */
import type { SettingShape } from "../kinds.ts";

const DAY = 86_400_000;

export const SENDING = [
  {
    section: "retry",
    key: "delays",
    kind: "durations",
    default: ["30s", "2m", "10m", "1h", "6h", "24h"],
    max: 30 * DAY,
    sentence:
      "The ladder: how long after each failed attempt the next one is made. The default is what the specification says.",
  },
  {
    section: "retry",
    key: "timeout",
    kind: "duration",
    default: "10s",
    min: 1,
    max: DAY,
    sentence: "How long a receiver may take to answer. The specification says 10s.",
  },
  {
    section: "retry",
    key: "max_retry_after",
    kind: "duration",
    default: "0s",
    max: 30 * DAY,
    sentence:
      "How far a receiver's Retry-After (on 429 and 503) may delay the next attempt. It never makes one earlier; 0s keeps exactly to the ladder.",
  },
  {
    section: "delivery",
    key: "threads",
    kind: "int",
    default: 1,
    min: 0,
    max: 64,
    sentence:
      "How many threads send while there is a lot to send, each for its share of the endpoints. They start once 20000 attempts have come at more than 1000 a second, and end after a quiet minute. At all other times, and always with 0, the main thread sends.",
  },
  {
    section: "delivery",
    key: "max_in_flight",
    kind: "int",
    default: 4096,
    min: 1,
    max: 65_536,
    sentence:
      "How many attempts may be in flight at once, in total; fewer if the limit on open files is too low for them.",
  },
  {
    section: "delivery",
    key: "endpoint_max_in_flight",
    kind: "int",
    default: 256,
    min: 1,
    max: 65_536,
    sentence:
      "How many attempts to one endpoint may be in flight at once: the ceiling of a limit that adapts to the receiver.",
  },
  {
    section: "delivery",
    key: "destination_max_in_flight",
    kind: "int",
    default: 512,
    min: 1,
    max: 65_536,
    sentence:
      "How many attempts to one public destination may be in flight at once, for all of its endpoints together. A destination is an address, or a registered domain until its address is known. No more connections than this are kept open to it.",
  },
  {
    section: "egress",
    key: "allow_http",
    kind: "bool",
    default: false,
    sentence: "Allows endpoints with plain http. For development.",
    live: true,
  },
  {
    section: "egress",
    key: "allow_cidrs",
    kind: "cidrs",
    default: [],
    sentence:
      'Networks that are not public but may be called for every tenant, such as "10.0.0.0/8"; for individual tenants see [[egress.tenant]] below. Metadata services and the addresses of this machine need an exact /32 or /128. For an IPv4 address in NAT64, 6to4 or Teredo form, allow the IPv4 address itself.',
    live: true,
  },
  {
    section: "egress",
    key: "allow_hosts",
    kind: "hostPatterns",
    default: [],
    sentence:
      'Host names of private networks that endpoints may have, such as "hook", "app.internal" or "*.svc.cluster.local" (any name below it). They may contain underscores. The addresses that they lead to still need allow_cidrs.',
    live: true,
  },
  {
    section: "egress",
    key: "deny_cidrs",
    kind: "cidrs",
    default: [],
    sentence: "Networks that are never called.",
    live: true,
  },
  {
    section: "egress",
    key: "ports",
    kind: "ports",
    default: ["443", "8443"],
    sentence: 'Ports that endpoints may use, or ["any"].',
    live: true,
  },
  {
    section: "egress",
    key: "allow_ip_hosts",
    kind: "bool",
    default: true,
    sentence: "Allows endpoint URLs with an IP address instead of a host name.",
    live: true,
  },
  {
    section: "egress",
    key: "resolver",
    kind: "choice",
    default: "c-ares",
    options: ["c-ares", "system"],
    sentence:
      'How host names are looked up: "c-ares" asks the DNS servers; "system" also reads /etc/hosts, and is slower.',
  },
  {
    section: "egress",
    key: "ca_file",
    kind: "path",
    default: "",
    sentence:
      "PEM file with additional certificate authorities for receivers. The executable ignores NODE_EXTRA_CA_CERTS.",
  },
  {
    section: "signature",
    key: "header",
    kind: "header",
    default: "X-Service-Signature",
    sentence: "The header with the hex HMAC-SHA256 of the body. The default is what the specification says.",
  },
  {
    section: "signature",
    key: "standard_webhooks",
    kind: "bool",
    default: true,
    sentence:
      "Adds the headers of standardwebhooks.com. Endpoints whose signatures include ed25519 get them in any case.",
  },
] as const satisfies readonly SettingShape[];
