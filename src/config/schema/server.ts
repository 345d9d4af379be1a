/** Who may come in, and by which door. [server]. */
import type { SettingShape } from "./setting.ts";

const DAY = 86_400_000;
const KIB = 1024;
const MIB = 1024 * KIB;

export const SERVER = [
  {
    section: "server",
    key: "listen",
    kind: "address",
    default: "127.0.0.1:8420",
    sentence:
      "Where the API listens; port 0 takes any free one. An address that is not loopback needs tls_cert and tls_key, or behind_proxy = true.",
  },
  {
    section: "server",
    key: "socket",
    kind: "path",
    default: "",
    sentence:
      "The unix socket: whoever can open it needs no key. Empty: $RUNTIME_DIRECTORY/webhookd.sock, else webhookd.sock in the data directory.",
  },
  { section: "server", key: "socket_mode", kind: "mode", default: "0600", sentence: "Its file mode." },
  {
    section: "server",
    key: "socket_group",
    kind: "text",
    default: "",
    sentence: "Its group. Empty: the daemon's own.",
  },
  {
    section: "server",
    key: "tls_cert",
    kind: "path",
    default: "",
    sentence: "PEM file with the API's certificate, and its chain after it. Empty: the API is plain HTTP.",
    live: true,
  },
  {
    section: "server",
    key: "tls_key",
    kind: "path",
    default: "",
    sentence: "PEM file with the certificate's key.",
    live: true,
  },
  {
    section: "server",
    key: "behind_proxy",
    kind: "bool",
    default: false,
    sentence:
      "Says that a proxy in front of the daemon speaks TLS, because keys must not cross a network in the clear.",
  },
  {
    section: "server",
    key: "allowed_hosts",
    kind: "hosts",
    default: [],
    sentence: "More names by which clients may call a loopback address, besides localhost.",
  },
  {
    section: "server",
    key: "allowed_origins",
    kind: "origins",
    default: [],
    sentence:
      "Web pages that may call the API from a browser, such as https://console.example.com: with a key, never with cookies (CORS). Any other page is refused.",
  },
  {
    section: "server",
    key: "trusted_proxies",
    kind: "cidrs",
    default: [],
    sentence:
      "Networks of proxies whose X-Forwarded-For and X-Forwarded-Host are believed. Empty: these headers are ignored.",
  },
  {
    section: "server",
    key: "max_event_bytes",
    kind: "size",
    default: "256KiB",
    min: KIB,
    max: 16 * MIB,
    sentence: "The largest body of one event.",
  },
  {
    section: "server",
    key: "idempotency",
    kind: "duration",
    default: "24h",
    min: 1,
    max: 30 * DAY,
    sentence: "How long an idempotency key is known: a request repeated later is done again.",
  },
  {
    section: "server",
    key: "rate_limit",
    kind: "int",
    default: 0,
    min: 0,
    max: 1_000_000,
    sentence:
      "Requests that each key may make a second; what is over gets 429, and answers say in RateLimit what is left. 0 sets no limit.",
  },
] as const satisfies readonly SettingShape[];
