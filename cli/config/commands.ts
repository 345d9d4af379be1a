import { command, CONFIG, JSON_FLAG } from "../command.ts";

export const CONFIGURATION = {
  "config init": command(
    "init",
    "Write a configuration file that shows every setting at its default, or a systemd unit",
    {
      path: { type: "string", valueHint: "FILE", description: "Where to [./webhookd.toml; a unit is printed]" },
      force: { type: "boolean", description: "Replace the file if it is there" },
      systemd: { type: "boolean", description: "The unit webhookd.service in place of the file" },
      "systemd-socket": {
        type: "boolean",
        description: "The unit webhookd.socket: systemd listens, so that a restart refuses nobody",
      },
      json: JSON_FLAG,
    },
    ["webhookd config init", "webhookd config init --systemd --path /etc/systemd/system/webhookd.service"],
  ),
  "config check": command(
    "check",
    "Say everything that is wrong with the configuration: 0 when nothing is, else 8",
    {
      file: { type: "positional", valueHint: "FILE", description: "In place of the file that serve would read" },
      json: JSON_FLAG,
    },
    ["webhookd config check", "webhookd config check /etc/webhookd/webhookd.toml --json"],
  ),
  "config show": command(
    "show",
    "Show every setting as it holds",
    {
      origin: { type: "boolean", description: "Say where each was given" },
      config: CONFIG,
      json: JSON_FLAG,
    },
    ["webhookd config show", "webhookd config show --origin"],
  ),
} as const;
