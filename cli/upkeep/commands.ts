import { CLIENT, command, CONFIG, JSON_FLAG } from "../command.ts";

const DATA_DIR = {
  type: "string",
  valueHint: "DIR",
  description: "The data directory; else as `serve` finds it",
} as const;

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
      offline: { type: "boolean", description: "Make it here, of the data directory, while no daemon runs" },
      "data-dir": DATA_DIR,
      ...CLIENT,
    },
    [
      "webhookd backup",
      "webhookd backup --seal-with /etc/webhookd/passphrase --json",
      "webhookd backup --offline --data-dir /var/lib/webhookd",
    ],
  ),
  restore: command(
    "restore",
    "Put a backup in the store's place, while no daemon runs; it starts paused",
    {
      file: { type: "positional", required: true, valueHint: "FILE", description: "The backup" },
      "data-dir": DATA_DIR,
      "seal-with": {
        type: "string",
        valueHint: "FILE",
        description: "The passphrase that secret.key is sealed with in it; - reads or asks for it",
      },
      "secret-key": { type: "string", valueHint: "FILE", description: "Your copy of secret.key" },
      "key-only": { type: "boolean", description: "Take only secret.key out of it, and leave the store as it is" },
      yes: { type: "boolean", description: "Do not ask before a store is replaced" },
      json: JSON_FLAG,
      config: CONFIG,
    },
    [
      "webhookd restore webhookd-20261120T090000123Z.db --seal-with /etc/webhookd/passphrase",
      "webhookd restore --key-only webhookd-20261120T090000123Z.db --seal-with /etc/webhookd/passphrase",
      "webhookd restore webhookd-20261120T090000123Z.db --data-dir /var/lib/webhookd --secret-key secret.key --yes",
    ],
  ),
  migrate: command(
    "migrate",
    "Take the store to this version's schema, while no daemon runs; a copy is made before",
    {
      status: { type: "boolean", description: "Only say whether it is needed: 0 when not, 8 when it is" },
      "dry-run": { type: "boolean", description: "Make the steps on the data and undo them" },
      "data-dir": DATA_DIR,
      json: JSON_FLAG,
      config: CONFIG,
    },
    ["webhookd migrate --status", "webhookd migrate --dry-run", "webhookd migrate --data-dir /var/lib/webhookd"],
  ),
  "secrets reissue": command(
    "reissue",
    "Where secret.key is lost and no copy is left: give every endpoint a new signing secret, while no daemon runs",
    {
      "data-dir": DATA_DIR,
      yes: { type: "boolean", description: "Do not ask before the secrets are replaced" },
      json: JSON_FLAG,
      config: CONFIG,
    },
    ["webhookd secrets reissue", "webhookd secrets reissue --data-dir /var/lib/webhookd --yes --json"],
  ),
  "secrets rekey": command(
    "rekey",
    "Seal everything with a new secret.key, whether a daemon runs or not; no endpoint's secret changes",
    { "data-dir": DATA_DIR, ...CLIENT },
    ["webhookd secrets rekey", "webhookd secrets rekey --data-dir /var/lib/webhookd --json"],
  ),
} as const;
