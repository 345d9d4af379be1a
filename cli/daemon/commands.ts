import { CLIENT, command, CONFIG, JSON_FLAG } from "../command.ts";

export const DAEMON = {
  serve: command(
    "serve",
    "Run the daemon",
    {
      listen: { type: "string", valueHint: "ADDRESS:PORT", description: "Where the API listens [127.0.0.1:8420]" },
      "data-dir": { type: "string", valueHint: "DIR", description: "Where everything is kept" },
      socket: { type: "string", valueHint: "PATH", description: "The unix socket" },
      config: CONFIG,
      dev: { type: "boolean", description: "Let endpoints be plain http on any port of this machine" },
      create: {
        type: "boolean",
        default: true,
        description: "Make the store if there is none",
        negativeDescription: "Refuse to start without a store",
      },
      migrate: {
        type: "boolean",
        default: true,
        description: "Take a store of an older version to this one's schema",
        negativeDescription: "Refuse a store of an older version",
      },
      paused: { type: "boolean", description: "Start with the brake on: no attempts until `webhookd resume`" },
      "log-level": { type: "string", valueHint: "LEVEL", description: "debug, info, warn or error" },
      "log-format": { type: "string", valueHint: "FORMAT", description: "auto, json or pretty" },
    },
    ["webhookd serve", "webhookd serve --dev", "webhookd serve --config /etc/webhookd/webhookd.toml --no-create"],
  ),
  status: command(
    "status",
    "Say how the daemon is, and how deliveries fare: 0 when it takes publishes, else 8",
    {
      wait: { type: "boolean", description: "Wait until it takes publishes, at most 30 s, also for one that starts" },
      brief: { type: "boolean", description: "The daemon alone, as probes need it; deliveries are not looked at" },
      watch: {
        type: "string",
        bare: "2s",
        valueHint: "DURATION",
        description: "Say it again and again, so far apart; without a duration every 2s",
      },
      "fail-on": {
        type: "string",
        valueHint: "A,B",
        description:
          "Exit 8 also for failing or damaged (an endpoint), backlog>N (deliveries that wait), oldest>DURATION (due since)",
      },
      ...CLIENT,
    },
    [
      "webhookd status",
      "webhookd status --wait --json",
      "webhookd status --watch",
      "webhookd status --fail-on failing,damaged,backlog>1000,oldest>10m",
    ],
  ),
  pause: command(
    "pause",
    "Stop all attempts, through any restart; publishes go on",
    {
      reason: { type: "positional", required: true, valueHint: "REASON", description: "What for, in a few words" },
      ...CLIENT,
    },
    ["webhookd pause maintenance"],
  ),
  resume: command("resume", "Let attempts go on", CLIENT, ["webhookd resume"]),
  version: command("version", "Say which version this is", { json: JSON_FLAG }, ["webhookd version --json"]),
} as const;
