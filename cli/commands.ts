/** Every command and flag there is, as data: the front parses by it, and help is made from it. */
import { defineCommand, type ArgsDef } from "citty";

const HELP = { type: "boolean", alias: "h", description: "Show this" } as const;
const JSON_FLAG = { type: "boolean", description: "Machine-readable output" } as const;
const CONFIG = {
  type: "string",
  valueHint: "FILE",
  description: "Configuration file; else ./webhookd.toml, else /etc/webhookd/webhookd.toml",
} as const;

/** Which daemon a client command speaks to. */
const TARGET = {
  url: { type: "string", valueHint: "URL", description: "The daemon's address; needs a key" },
  socket: { type: "string", valueHint: "PATH", description: "The daemon's unix socket; needs no key" },
  "key-file": { type: "string", valueHint: "FILE", description: "File with an API key" },
  config: CONFIG,
} as const;

export const COMMANDS = {
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
      paused: { type: "boolean", description: "Start with the brake on: no attempts until `webhookd resume`" },
      "log-level": { type: "string", valueHint: "LEVEL", description: "debug, info, warn or error" },
      "log-format": { type: "string", valueHint: "FORMAT", description: "auto, json or pretty" },
    },
    ["webhookd serve", "webhookd serve --dev", "webhookd serve --config /etc/webhookd/webhookd.toml --no-create"],
  ),
  replay: command(
    "replay",
    "Send an event that failed once more, and say what came back",
    {
      event: { type: "positional", required: true, valueHint: "evt_…", description: "The event" },
      endpoint: { type: "string", valueHint: "ep_…", description: "Only to this endpoint" },
      force: { type: "boolean", description: "Also where it was delivered already" },
      wait: {
        type: "boolean",
        default: true,
        description: "Wait for the first attempt, at most 15 s",
        negativeDescription: "Return as soon as the event is queued",
      },
      json: JSON_FLAG,
      ...TARGET,
    },
    [
      "webhookd replay evt_01m7w8bx02jeyjr53r14y5rmma",
      "webhookd replay evt_01m7w8bx02jeyjr53r14y5rmma --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --force --json",
    ],
  ),
  status: command(
    "status",
    "Say how the daemon is: 0 when it takes publishes, else 8",
    {
      wait: { type: "boolean", description: "Wait until it takes publishes, at most 30 s, also for one that starts" },
      json: JSON_FLAG,
      ...TARGET,
    },
    ["webhookd status", "webhookd status --wait --json"],
  ),
  pause: command(
    "pause",
    "Stop all attempts, through any restart; publishes go on",
    {
      reason: { type: "positional", required: true, valueHint: "REASON", description: "What for, in a few words" },
      json: JSON_FLAG,
      ...TARGET,
    },
    ["webhookd pause maintenance"],
  ),
  resume: command("resume", "Let attempts go on", { json: JSON_FLAG, ...TARGET }, ["webhookd resume"]),
  backup: command("backup", "Make a backup on the daemon's host, in its [backup] dir", { json: JSON_FLAG, ...TARGET }, [
    "webhookd backup",
  ]),
  "keys create": command(
    "create",
    "Make an API key; it is shown once",
    {
      name: { type: "string", required: true, valueHint: "NAME", description: "What it is for" },
      scope: {
        type: "string",
        required: true,
        valueHint: "SCOPE,…",
        description: "publish, read, manage, secrets, metrics, admin",
      },
      tenant: { type: "string", default: "default", valueHint: "TENANT", description: "One tenant, or *" },
      expires: { type: "string", valueHint: "DURATION", description: "How long it works, such as 30d" },
      json: JSON_FLAG,
      ...TARGET,
    },
    [
      "webhookd keys create --name billing --scope publish,read",
      "webhookd keys create --name portal --scope read --tenant acme --expires 2h --json",
    ],
  ),
  "keys list": command("list", "List API keys", { json: JSON_FLAG, ...TARGET }, ["webhookd keys list"]),
  "keys revoke": command(
    "revoke",
    "End an API key at once",
    {
      key: { type: "positional", required: true, valueHint: "key_…", description: "The key's id" },
      json: JSON_FLAG,
      ...TARGET,
    },
    ["webhookd keys revoke key_01m7w8bx02jeyjr53r14y5rmma"],
  ),
  version: command("version", "Say which version this is", { json: JSON_FLAG }, ["webhookd version --json"]),
} as const;

export type CommandName = keyof typeof COMMANDS;

/** Words that begin the names of several commands. */
export const GROUPS: Readonly<Record<string, string>> = { keys: "API keys" };

export interface Command<A extends ArgsDef = ArgsDef> {
  readonly args: A;
  readonly examples: readonly string[];
  readonly definition: ReturnType<typeof defineCommand>;
}

/** What the front makes of a command line: flags and positional arguments by name. */
export type Args<N extends CommandName> = {
  readonly [K in keyof (typeof COMMANDS)[N]["args"]]: ArgOf<(typeof COMMANDS)[N]["args"][K]>;
};
type ArgOf<D> = D extends { type: "boolean" }
  ? boolean
  : D extends { required: true } | { default: string }
    ? string
    : string | undefined;

function command<const A extends ArgsDef>(name: string, description: string, args: A, examples: string[]) {
  const all = { ...args, help: HELP };
  return { args, examples, definition: defineCommand({ meta: { name, description }, args: all as ArgsDef }) };
}
