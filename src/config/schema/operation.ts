/**
 * Settings for the daemon's own chores and for what the operator sees: [endpoints], [retention], [metrics],
 * [telemetry], [alerts], [log], [ui].
 */
import type { SettingShape } from "../kinds.ts";

const DAY = 86_400_000;

export const UPKEEP = [
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
      "Disables an endpoint whose receiver answers 410 Gone; its deliveries are held. Off by default, because the specification retries every failure.",
  },
  {
    section: "endpoints",
    key: "disable_after",
    kind: "duration",
    default: "0s",
    max: 365 * DAY,
    sentence:
      "Disables an endpoint after its attempts have failed for this long without a success; its deliveries are held. 0s: never.",
  },
  {
    section: "retention",
    key: "delivered",
    kind: "duration",
    default: "30d",
    max: 3650 * DAY,
    sentence:
      "How long to keep an event after its last attempt, once nothing is left to deliver. 0s here and below: forever.",
    live: true,
  },
  {
    section: "retention",
    key: "failed",
    kind: "duration",
    default: "90d",
    max: 3650 * DAY,
    sentence: "The same for an event with a failed delivery, and for a finished job.",
    live: true,
  },
  {
    section: "retention",
    key: "held",
    kind: "duration",
    default: "7d",
    max: 3650 * DAY,
    sentence:
      "How long deliveries are held for a disabled endpoint before they fail (held_expired); they can still be replayed.",
    live: true,
  },
  {
    section: "retention",
    key: "response_bodies",
    kind: "duration",
    default: "7d",
    max: 3650 * DAY,
    sentence: "How long to keep the bodies of receivers' answers.",
    live: true,
  },
  {
    section: "retention",
    key: "audit",
    kind: "duration",
    default: "365d",
    max: 3650 * DAY,
    sentence: "How long to keep the audit log, and keys that were revoked or have expired.",
    live: true,
  },
  {
    section: "retention",
    key: "statistics",
    kind: "duration",
    default: "8d",
    max: 3650 * DAY,
    sentence:
      "How long to keep the per-minute counters behind /v1/webhooks/stats, and an endpoint that was deleted. It stays longer if its deliveries do.",
    live: true,
  },
] as const satisfies readonly SettingShape[];

export const OPERATION = [
  {
    section: "metrics",
    key: "public",
    kind: "bool",
    default: false,
    sentence:
      "Lets anyone read /metrics without a key; otherwise a key with the scope metrics and the tenant * is needed.",
  },
  {
    section: "telemetry",
    key: "otlp",
    kind: "url",
    default: "",
    sentence:
      'Where traces are sent: the base URL of an OpenTelemetry collector that takes OTLP over HTTP, such as "http://127.0.0.1:4318"; /v1/traces is added to it. Empty: no traces.',
  },
  {
    section: "telemetry",
    key: "protocol",
    kind: "choice",
    default: "http/protobuf",
    options: ["http/protobuf", "http/json"],
    sentence: "How they are encoded.",
  },
  {
    section: "telemetry",
    key: "headers",
    kind: "pairs",
    default: "",
    sentence:
      "Headers for the collector, as in OTEL_EXPORTER_OTLP_HEADERS: authorization=Bearer%20…,x-team=a. A key is best given as WEBHOOKD_TELEMETRY_HEADERS.",
    holdsSecret: true,
  },
  {
    section: "telemetry",
    key: "sample_ratio",
    kind: "ratio",
    default: 1,
    sentence:
      "How many of the events without a trace of their publisher's are traced, from 0 to 1. Otherwise the publisher's decision counts (parentbased_traceidratio).",
  },
  {
    section: "telemetry",
    key: "always_failed",
    kind: "bool",
    default: true,
    sentence: "Records each attempt that failed, even if its event is not traced.",
  },
  {
    section: "telemetry",
    key: "service_name",
    kind: "text",
    default: "webhookd",
    sentence: "The service.name of the spans.",
  },
  {
    section: "telemetry",
    key: "resource_attributes",
    kind: "pairs",
    default: "",
    sentence:
      "More about this daemon, as in OTEL_RESOURCE_ATTRIBUTES: deployment.environment.name=prod,service.namespace=shop. They are in all spans, and in the metric target_info.",
  },
  {
    section: "alerts",
    key: "url",
    kind: "text",
    default: "",
    sentence:
      "Where the daemon posts its own alerts (such as webhookd.endpoint_failing), signed like any event. Empty: no alerts.",
    live: true,
    holdsSecret: true,
  },
  {
    section: "alerts",
    key: "secret",
    kind: "text",
    default: "",
    sentence: "The secret that signs alerts (whsec_…). Needed with url.",
    live: true,
    holdsSecret: true,
  },
  {
    section: "alerts",
    key: "smtp_url",
    kind: "text",
    default: "",
    sentence:
      "Mail server that sends the same alerts: smtps://user:password@host, or smtp://host for STARTTLS on port 587. A password goes only over TLS. Empty: no mail.",
    live: true,
    holdsSecret: true,
  },
  {
    section: "alerts",
    key: "mail_to",
    kind: "text",
    default: "",
    sentence: "Who gets the mail: an address, or several with commas between them. Needed with smtp_url.",
    live: true,
  },
  {
    section: "alerts",
    key: "mail_from",
    kind: "text",
    default: "",
    sentence: "Who it comes from: an address that the mail server accepts as a sender. Needed with smtp_url.",
    live: true,
  },
  {
    section: "alerts",
    key: "slack_url",
    kind: "text",
    default: "",
    sentence:
      "Incoming webhook of a chat (Slack, Mattermost, Rocket.Chat) that gets the same alerts as text. Anyone who knows it can post there. Empty: none.",
    live: true,
    holdsSecret: true,
  },
  {
    section: "alerts",
    key: "key_held_after",
    kind: "duration",
    default: "15m",
    sentence: "How long an ordering key may be held after a failure before there is an alert.",
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
      "Lowest level to log: debug, info, warn or error. Each attempt is one line, delivery.attempted: info if it failed, debug if it succeeded.",
    live: true,
  },
  {
    section: "ui",
    key: "label",
    kind: "text",
    default: "",
    sentence: 'Text in red at the top of the dashboard, such as "PROD". Empty: none.',
  },
  {
    section: "ui",
    key: "read_only",
    kind: "bool",
    default: false,
    sentence: "Turns off every key in the dashboard that changes something.",
  },
  {
    section: "ui",
    key: "refresh",
    kind: "duration",
    default: "250ms",
    min: 100,
    max: 60_000,
    sentence: "How often the dashboard redraws.",
  },
  {
    section: "ui",
    key: "mouse",
    kind: "bool",
    default: true,
    sentence:
      "Whether the dashboard uses the mouse: clicks and the wheel. The m key turns this on and off; to select text, hold Shift.",
  },
  {
    section: "ui",
    key: "ascii",
    kind: "choice",
    default: "auto",
    options: ["auto", "always", "never"],
    sentence: '"auto": the dashboard uses ASCII only if the locale is not UTF-8.',
  },
] as const satisfies readonly SettingShape[];
