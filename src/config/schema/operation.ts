/** What the operator sees. [metrics], [alerts], [log], [ui]. */
import type { SettingShape } from "./setting.ts";

export const OPERATION = [
  {
    section: "metrics",
    key: "public",
    kind: "bool",
    default: false,
    sentence: "Whether /metrics is answered without a key; otherwise it needs one of scope metrics and tenant *.",
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
