/** What the operator sees. [metrics], [alerts], [log], [ui]. */
import type { SettingShape } from "./setting.ts";

export const OPERATION = [
  {
    section: "metrics",
    key: "public",
    kind: "bool",
    default: false,
    sentence: "Whether /metrics needs no key; otherwise it needs one with the scope metrics and tenant *.",
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
    key: "secret_file",
    kind: "path",
    default: "",
    sentence: "File with the secret that signs alerts (whsec_…).",
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
      "Least important level to log: debug, info, warn or error. Each attempt is one line, delivery.attempted: info if it failed, debug if it succeeded.",
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
    key: "ascii",
    kind: "choice",
    default: "auto",
    options: ["auto", "always", "never"],
    sentence: '"auto": the dashboard uses ASCII only if the locale is not UTF-8.',
  },
] as const satisfies readonly SettingShape[];
