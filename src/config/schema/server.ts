/** Settings for how the API is reached, who may call it, and what customers see in a browser: [server], [portal]. */
import type { SettingShape } from "../kinds.ts";

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
      "Address of the API; port 0 picks a free one. An address that is not loopback needs tls_cert and tls_key, or behind_proxy.",
  },
  {
    section: "server",
    key: "socket",
    kind: "path",
    default: "",
    sentence:
      "Path of the unix socket; anyone who can open it needs no key. Empty: $RUNTIME_DIRECTORY/webhookd.sock, else webhookd.sock in the data directory.",
  },
  { section: "server", key: "socket_mode", kind: "mode", default: "0600", sentence: "File mode of the socket." },
  {
    section: "server",
    key: "socket_group",
    kind: "text",
    default: "",
    sentence: "Group of the socket. Empty: the daemon's own.",
  },
  {
    section: "server",
    key: "tls_cert",
    kind: "path",
    default: "",
    sentence: "PEM file with the certificate of the API, followed by its chain. Empty: the API is plain HTTP.",
    live: true,
  },
  {
    section: "server",
    key: "tls_key",
    kind: "path",
    default: "",
    sentence: "PEM file with the key of that certificate.",
    live: true,
  },
  {
    section: "server",
    key: "behind_proxy",
    kind: "bool",
    default: false,
    sentence:
      "Set this if a proxy in front of the daemon speaks TLS; without TLS, keys would cross the network in the clear.",
  },
  {
    section: "server",
    key: "allowed_hosts",
    kind: "hosts",
    default: [],
    sentence: "Host names that clients may use for a loopback address, besides localhost.",
  },
  {
    section: "server",
    key: "allowed_origins",
    kind: "origins",
    default: [],
    sentence:
      "Web pages that may call the API from a browser (CORS), such as https://console.example.com; with a key, never with cookies. Any other page is refused.",
  },
  {
    section: "server",
    key: "trusted_proxies",
    kind: "cidrs",
    default: [],
    sentence:
      "Networks of proxies whose X-Forwarded-For and X-Forwarded-Host are trusted. Empty: these headers are ignored.",
  },
  {
    section: "server",
    key: "max_event_bytes",
    kind: "size",
    default: "256KiB",
    min: KIB,
    max: 16 * MIB,
    sentence: "Largest body of one event.",
  },
  {
    section: "server",
    key: "idempotency",
    kind: "duration",
    default: "24h",
    min: 1,
    max: 30 * DAY,
    sentence: "How long an idempotency key is remembered; a request repeated later is carried out again.",
  },
  {
    section: "server",
    key: "rate_limit",
    kind: "int",
    default: 0,
    min: 0,
    max: 1_000_000,
    sentence:
      "Requests per second for each key with its portal links, counting each event of a batch; more get 429, and the RateLimit header says how many are left. 0: no limit.",
  },
  {
    section: "server",
    key: "docs",
    kind: "choice",
    options: ["open", "key"],
    default: "open",
    sentence:
      "Who may read the description of the API at /docs and /openapi.json. open: anyone; key: anyone with an API key.",
  },
  {
    section: "portal",
    key: "url",
    kind: "url",
    default: "",
    sentence:
      "Where browsers reach this daemon, such as https://hooks.example.com; portal links begin with it. Empty: the address that the request for the link was sent to.",
    live: true,
  },
  {
    section: "portal",
    key: "name",
    kind: "text",
    default: "",
    sentence: "Name at the top of the portal, such as your product's.",
    live: true,
  },
  {
    section: "portal",
    key: "logo_url",
    kind: "url",
    default: "",
    sentence: "Image next to the name; the portal loads only this and font_url from other hosts.",
    live: true,
  },
  {
    section: "portal",
    key: "accent",
    kind: "color",
    default: "",
    sentence: 'Colour of buttons and links in the portal, such as "#2563eb".',
    live: true,
  },
  {
    section: "portal",
    key: "header_color",
    kind: "color",
    default: "",
    sentence: "Colour of the bar at the top of the portal; its text is black or white, whichever is easier to read.",
    live: true,
  },
  {
    section: "portal",
    key: "radius",
    kind: "int",
    default: 10,
    min: 0,
    max: 24,
    sentence: "Radius of the corners of cards in the portal, in pixels; those of buttons are a little smaller.",
    live: true,
  },
  {
    section: "portal",
    key: "font",
    kind: "text",
    default: "",
    sentence: 'Fonts of the portal in the order of preference, such as "Inter, Arial". Empty: the font of the system.',
    live: true,
  },
  {
    section: "portal",
    key: "font_url",
    kind: "url",
    default: "",
    sentence:
      "File with the first of these fonts, for readers who do not have it; its host must allow other origins (CORS).",
    live: true,
  },
  {
    section: "portal",
    key: "footer",
    kind: "text",
    default: "",
    sentence: "Text at the bottom of the portal, such as the name of your company.",
    live: true,
  },
  {
    section: "portal",
    key: "terms_url",
    kind: "url",
    default: "",
    sentence: "Your terms, to which the bottom of the portal links.",
    live: true,
  },
  {
    section: "portal",
    key: "help_url",
    kind: "url",
    default: "",
    sentence: "Your help or support, to which the bottom of the portal links.",
    live: true,
  },
  {
    section: "portal",
    key: "frame_ancestors",
    kind: "origins",
    default: [],
    sentence: "Sites that may show the portal in a frame, such as https://app.example.com. Empty: none.",
    live: true,
  },
] as const satisfies readonly SettingShape[];
