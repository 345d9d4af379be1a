import { CLIENT, command, LIST } from "../command.ts";

export const KEYS = {
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
      out: {
        type: "string",
        valueHint: "FILE",
        description: "Write it into this new file, for you alone, and print none",
      },
      expires: { type: "string", valueHint: "DURATION", description: "How long it works, such as 30d" },
      ...CLIENT,
    },
    [
      "webhookd keys create --name billing --scope publish,read",
      "webhookd keys create --name ci --scope publish --expires 30d --out ci.key",
      "webhookd keys create --name portal --scope read --tenant acme --expires 2h --json",
    ],
  ),
  "keys list": command("list", "List API keys", LIST, ["webhookd keys list"]),
  "keys revoke": command(
    "revoke",
    "End an API key at once",
    {
      key: { type: "positional", required: true, valueHint: "key_…", description: "The key's id" },
      ...CLIENT,
    },
    ["webhookd keys revoke key_01m7w8bx02jeyjr53r14y5rmma"],
  ),
} as const;
