/**
 * Every setting there is, as data: parsing, defaults, variable names, messages and config.example.toml come from here.
 * Only settings that some code reads.
 */
import { KINDS, type Bounds, type KindName, type Values } from "./kinds.ts";

interface SettingShape extends Bounds {
  readonly section: string;
  readonly key: string;
  readonly kind: KindName;
  /** As the file would have it. */
  readonly default: string | boolean | number | readonly string[];
  /** The comment in config.example.toml. */
  readonly sentence: string;
  /** Whether a running daemon takes up a change of it at SIGHUP. */
  readonly live?: true;
  /** Who knows the whole value may do something with it. */
  readonly holdsSecret?: true;
}

const DAY = 86_400_000;
const KIB = 1024;
const MIB = 1024 * KIB;

export const SETTINGS = [
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
    sentence: "Web pages that may call the API, such as https://console.example.com.",
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
    sentence: "Requests that each key may make a second; what is over gets 429. 0 sets no limit.",
  },
  {
    section: "data",
    key: "dir",
    kind: "path",
    default: "",
    sentence:
      "Where everything is kept. Empty: ./data in a checkout, else $STATE_DIRECTORY, /var/lib/webhookd for root, $XDG_DATA_HOME/webhookd for others.",
  },
  {
    section: "data",
    key: "secret_key_file",
    kind: "path",
    default: "",
    sentence:
      "The key that seals signing secrets. Empty: $CREDENTIALS_DIRECTORY/secret.key if there is one, else secret.key in the data directory.",
  },
  {
    section: "data",
    key: "disk_floor",
    kind: "size",
    default: "512MiB",
    sentence: "With less free space than this, publishes are refused (507) and deliveries go on.",
  },
  {
    section: "events",
    key: "validate",
    kind: "bool",
    default: false,
    sentence: "Refuses a publish whose data does not fit the schema of its type: see GET /v1/webhooks/event-types.",
    live: true,
  },
  {
    section: "limits",
    key: "in_flight_bytes",
    kind: "size",
    default: "64MiB",
    min: 64 * KIB,
    sentence: "Request bodies held in memory at once; beyond it callers get 503.",
  },
  {
    section: "limits",
    key: "commit_queue",
    kind: "int",
    default: 2000,
    min: 1,
    max: 100_000,
    sentence: "Publishes waiting for their commit; beyond it callers get 503.",
  },
  {
    section: "limits",
    key: "max_pending_per_tenant",
    kind: "int",
    default: 0,
    min: 0,
    max: 1_000_000_000,
    sentence:
      "Deliveries that one tenant may have pending or held; publishes that would make more get 503. 0 sets no limit.",
  },
  {
    section: "backup",
    key: "every",
    kind: "duration",
    default: "0s",
    max: 365 * DAY,
    sentence: "How often a backup is made, to the minute. 0s: only on demand.",
    live: true,
  },
  {
    section: "backup",
    key: "dir",
    kind: "path",
    default: "",
    sentence:
      "Where backups are kept; it has to be there, and better on another disk. Empty: backups in the data directory, which is made.",
    live: true,
  },
  {
    section: "backup",
    key: "keep",
    kind: "int",
    default: 7,
    min: 0,
    max: 100_000,
    sentence: "How many backups are kept; older ones are removed once a new one is whole and checked. 0 keeps all.",
    live: true,
  },
  {
    section: "backup",
    key: "seal_with_file",
    kind: "path",
    default: "",
    sentence:
      "File with a passphrase of 12 characters or more that seals secret.key into each backup; keep a copy of it elsewhere. Empty: secret.key is in none of them, so keep a copy of that.",
    live: true,
  },
  {
    section: "retry",
    key: "delays",
    kind: "durations",
    default: ["30s", "2m", "10m", "1h", "6h", "24h"],
    max: 30 * DAY,
    sentence:
      "The ladder: how long after each failed attempt the next one starts. These delays are the specified ones.",
  },
  {
    section: "retry",
    key: "timeout",
    kind: "duration",
    default: "10s",
    min: 1,
    max: DAY,
    sentence: "How long a receiver may take to answer. Ten seconds are specified.",
  },
  {
    section: "retry",
    key: "max_retry_after",
    kind: "duration",
    default: "0s",
    max: 30 * DAY,
    sentence:
      "How far a receiver's Retry-After (on 429 and 503) may put off the next attempt. It never brings one forward; 0s keeps exactly to the ladder.",
  },
  {
    section: "delivery",
    key: "threads",
    kind: "int",
    default: 1,
    min: 0,
    max: 64,
    sentence: "Threads that send, each for its share of the endpoints; 0 sends on the main thread.",
  },
  {
    section: "delivery",
    key: "max_in_flight",
    kind: "int",
    default: 4096,
    min: 1,
    max: 65_536,
    sentence: "Attempts at once, in all.",
  },
  {
    section: "delivery",
    key: "endpoint_max_in_flight",
    kind: "int",
    default: 256,
    min: 1,
    max: 65_536,
    sentence: "Attempts at once to one endpoint: the ceiling of a cap that adapts to the receiver.",
  },
  {
    section: "egress",
    key: "allow_http",
    kind: "bool",
    default: false,
    sentence: "Lets endpoints be plain http. For development.",
    live: true,
  },
  {
    section: "egress",
    key: "allow_cidrs",
    kind: "cidrs",
    default: [],
    sentence:
      'Networks that are not public and may be called all the same, such as "10.0.0.0/8". Metadata services and this machine\'s own addresses need an exact /32 or /128.',
    live: true,
  },
  {
    section: "egress",
    key: "deny_cidrs",
    kind: "cidrs",
    default: [],
    sentence: "Networks that may never be called.",
    live: true,
  },
  {
    section: "egress",
    key: "ports",
    kind: "ports",
    default: ["443", "8443"],
    sentence: 'Ports that endpoints may have, or ["any"].',
    live: true,
  },
  {
    section: "egress",
    key: "allow_ip_hosts",
    kind: "bool",
    default: true,
    sentence: "Lets an endpoint's URL have an IP address in place of a name.",
    live: true,
  },
  {
    section: "egress",
    key: "resolver",
    kind: "choice",
    default: "c-ares",
    options: ["c-ares", "system"],
    sentence: 'How names are looked up: "c-ares" asks the DNS servers, "system" also reads /etc/hosts and is slower.',
  },
  {
    section: "egress",
    key: "ca_file",
    kind: "path",
    default: "",
    sentence: "PEM file with more certificate authorities that receivers' certificates may come from.",
  },
  {
    section: "signature",
    key: "header",
    kind: "header",
    default: "X-Service-Signature",
    sentence: "The header with the hex HMAC-SHA256 of the body. This name is the specified one.",
  },
  {
    section: "signature",
    key: "standard_webhooks",
    kind: "bool",
    default: true,
    sentence: "Adds the headers of standardwebhooks.com.",
  },
  {
    section: "endpoints",
    key: "max_per_tenant",
    kind: "int",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    sentence: "Endpoints that one tenant may have.",
  },
  {
    section: "endpoints",
    key: "disable_on_gone",
    kind: "bool",
    default: false,
    sentence:
      "Disables an endpoint whose receiver answers 410 Gone; what it is owed is held. Off, because the specification retries every failure.",
  },
  {
    section: "endpoints",
    key: "disable_after",
    kind: "duration",
    default: "0s",
    max: 365 * DAY,
    sentence:
      "Disables an endpoint whose attempts have failed for so long without a success; what it is owed is held. 0s: never.",
  },
  {
    section: "retention",
    key: "delivered",
    kind: "duration",
    default: "30d",
    max: 3650 * DAY,
    sentence:
      "How long an event is kept after its last attempt, once nothing is owed any more. 0s here and below: for ever.",
    live: true,
  },
  {
    section: "retention",
    key: "failed",
    kind: "duration",
    default: "90d",
    max: 3650 * DAY,
    sentence: "The same for an event of which a delivery failed, and for a job that is over.",
    live: true,
  },
  {
    section: "retention",
    key: "held",
    kind: "duration",
    default: "7d",
    max: 3650 * DAY,
    sentence:
      "How long deliveries wait for a disabled endpoint before they fail (held_expired); they can be replayed then.",
    live: true,
  },
  {
    section: "retention",
    key: "response_bodies",
    kind: "duration",
    default: "7d",
    max: 3650 * DAY,
    sentence: "How long the bodies of receivers' answers are kept.",
    live: true,
  },
  {
    section: "retention",
    key: "audit",
    kind: "duration",
    default: "365d",
    max: 3650 * DAY,
    sentence: "How long the audit log is kept, and keys that were revoked or have expired.",
    live: true,
  },
  {
    section: "retention",
    key: "statistics",
    kind: "duration",
    default: "8d",
    max: 3650 * DAY,
    sentence: "How long the counters of each minute are kept, which /v1/webhooks/stats answers from.",
    live: true,
  },
  {
    section: "metrics",
    key: "public",
    kind: "bool",
    default: false,
    sentence: "Whether /metrics is answered without a key; otherwise it needs one of scope metrics.",
  },
  {
    section: "alerts",
    key: "url",
    kind: "text",
    default: "",
    sentence:
      "Where the daemon posts events of its own (webhookd.endpoint_failing and the like), signed like any other. Empty: nowhere.",
    live: true,
    holdsSecret: true,
  },
  {
    section: "alerts",
    key: "secret_file",
    kind: "path",
    default: "",
    sentence: "The file with the secret that signs them (whsec_…).",
    live: true,
  },
  {
    section: "log",
    key: "format",
    kind: "choice",
    default: "auto",
    options: ["auto", "json", "pretty"],
    sentence: '"auto": short lines on a terminal, JSON lines otherwise.',
  },
  {
    section: "log",
    key: "level",
    kind: "choice",
    default: "info",
    options: ["debug", "info", "warn", "error"],
    sentence:
      "The least important lines to show: debug, info, warn or error. Each attempt is a line delivery.attempted: info where it failed, debug where it succeeded.",
    live: true,
  },
  {
    section: "ui",
    key: "label",
    kind: "text",
    default: "",
    sentence: 'Shown in red at the top of the dashboard, such as "PROD". Empty: nothing.',
  },
  {
    section: "ui",
    key: "read_only",
    kind: "bool",
    default: false,
    sentence: "In the dashboard every key that changes something is off.",
  },
  {
    section: "ui",
    key: "refresh",
    kind: "duration",
    default: "250ms",
    min: 100,
    max: 60_000,
    sentence: "How often the dashboard draws what happened.",
  },
  {
    section: "ui",
    key: "ascii",
    kind: "choice",
    default: "auto",
    options: ["auto", "always", "never"],
    sentence: '"auto": the dashboard draws in ASCII alone where the locale is not UTF-8.',
  },
] as const satisfies readonly SettingShape[];

export type Setting = (typeof SETTINGS)[number];
export type SettingName = NameOf<Setting>;
type NameOf<S extends Setting> = S extends Setting ? `${S["section"]}.${S["key"]}` : never;

/** A value for every setting. */
export type Settings = { readonly [S in Setting as NameOf<S>]: ValueOf<S> };
type ValueOf<S extends Setting> = S extends { options: readonly (infer O)[] } ? O : Values[S["kind"]];

export function isLive(setting: SettingShape): boolean {
  return setting.live === true;
}

export function holdsSecret(setting: SettingShape): boolean {
  return setting.holdsSecret === true;
}

export function nameOf(setting: Setting): SettingName {
  return `${setting.section}.${setting.key}` as SettingName;
}

export function variableOf(setting: Setting): string {
  return `WEBHOOKD_${setting.section}_${setting.key}`.toUpperCase();
}

/** The value of a setting given as a file would have it; throws a `ValueFault`. */
export function readSetting(setting: Setting, raw: unknown, folder: string): Settings[SettingName] {
  return KINDS[setting.kind].read(raw, setting as Bounds, folder) as Settings[SettingName];
}

export function writeSetting(setting: Setting, value: Settings[SettingName]): string {
  const write = KINDS[setting.kind].write as (value: unknown) => string;
  return write(value);
}

export const DEFAULTS = Object.fromEntries(
  SETTINGS.map((setting) => [nameOf(setting), readSetting(setting, setting.default, "/")]),
) as unknown as Settings;
