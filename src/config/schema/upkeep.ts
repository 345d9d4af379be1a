/** What the daemon does with endpoints and events on its own. [endpoints], [retention]. */
import type { SettingShape } from "./setting.ts";

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
      "How long to keep an event after its last attempt, once nothing is left to deliver. 0s here and below: for ever.",
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
    sentence: "How long to keep the per-minute counters behind /v1/webhooks/stats.",
    live: true,
  },
] as const satisfies readonly SettingShape[];
