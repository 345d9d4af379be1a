import { CLIENT, command } from "../command.ts";

export const UPKEEP = {
  backup: command(
    "backup",
    "Make a backup on the daemon's host, in its [backup] dir",
    {
      "seal-with": {
        type: "string",
        valueHint: "FILE",
        description: "Put secret.key in, sealed with this file's passphrase; - reads or asks for it",
      },
      ...CLIENT,
    },
    ["webhookd backup", "webhookd backup --seal-with /etc/webhookd/passphrase --json"],
  ),
} as const;
