import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type ArgsOf, command, CONFIG, JSON_FLAG } from "../command.ts";
import { quote } from "../daemon/banner.ts";
import type { FoundBackup, Restored } from "../../src/offline.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../output/print.ts";
import { sayTable } from "../output/table.ts";
import { configOf, DATA_DIR } from "./data-directory.ts";
import { sealingPassphrase } from "./passphrase.ts";
import { count } from "../output/words.ts";

const ARGS = {
  file: { type: "positional", required: true, valueHint: "FILE", description: "The backup file" },
  "data-dir": DATA_DIR,
  "seal-with": {
    type: "string",
    valueHint: "FILE",
    description: "File with the passphrase that seals secret.key in the backup; - reads it from stdin or asks for it",
  },
  "secret-key": { type: "string", valueHint: "FILE", description: "Your copy of secret.key" },
  "key-only": { type: "boolean", description: "Restore only secret.key, and leave the store as it is" },
  yes: { type: "boolean", description: "Do not ask before replacing a store" },
  json: JSON_FLAG,
  config: CONFIG,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const restore = command({
  args: ARGS,
  examples: [
    "webhookd restore webhookd-20261120T090000123Z.db --seal-with /etc/webhookd/passphrase",
    "webhookd restore --key-only webhookd-20261120T090000123Z.db --seal-with /etc/webhookd/passphrase",
    "webhookd restore webhookd-20261120T090000123Z.db --data-dir /var/lib/webhookd --secret-key secret.key --yes",
  ],
  async run(args, io) {
    if (args["seal-with"] !== undefined && args["secret-key"] !== undefined) {
      throw usage("--seal-with and --secret-key both name the key", "Use one of them.");
    }
    const config = configOf(args, io);
    const { dir } = config.data;
    const backup = resolve(args.file);
    if (!existsSync(backup))
      throw new Failure("not_found", `there is no file ${backup}`, "Backups are in [backup] dir.");
    if (args["key-only"]) return onlyKey(args, backup, io);
    if (!args.yes && !io.stdin.isTTY && existsSync(join(dir, "webhookd.db"))) {
      throw usage(`--yes is missing: the store in ${dir} would be replaced`);
    }
    const { restore } = await import("../../src/offline.ts");
    const restored = await restore(config, {
      backup,
      givenKeyFile: args["secret-key"],
      ...sealOf(args, io),
      confirm: async (found) => args.yes || !found.replaces || isAgreed(found, dir, io),
    });
    if (restored === null) throw new Failure("refused", "the store was not replaced", "Nothing was changed.");
    if (args.json) sayJson(io, jsonOf(restored));
    else tell(io, { restored, dir, args });
    return EXIT.ok;
  },
});

async function onlyKey(args: Args, backup: string, io: Io): Promise<number> {
  if (args["secret-key"] !== undefined) throw usage("--key-only takes the key from the backup", "Drop --secret-key.");
  const { passphrase } = sealOf(args, io);
  const { restoreOnlyKey } = await import("../../src/offline.ts");
  const { keyFile, kept } = await restoreOnlyKey(configOf(args, io), { backup, passphrase });
  if (args.json) sayJson(io, { secret_key: { file: keyFile, from: "sealed" }, kept: kept === null ? [] : [kept] });
  else {
    say(io, `secret.key was sealed in the backup; it is now ${keyFile}. The store is unchanged.`);
    if (kept !== null) say(io, `The file that was there is kept: ${kept}`);
    say(io, "Copy it off this host. Next: webhookd serve");
  }
  return EXIT.ok;
}

/** Asks a person for the passphrase only if the backup turns out to need it. */
function sealOf(args: Args, io: Io) {
  const from = args["seal-with"] ?? (io.stdin.isTTY ? "-" : undefined);
  const passphrase = from === undefined ? null : () => sealingPassphrase(from, io, { twice: false });
  return { passphrase, mustUnseal: args["seal-with"] !== undefined };
}

async function isAgreed(found: FoundBackup, dir: string, io: Io): Promise<boolean> {
  const talk = { ...io, stdout: io.stderr };
  say(talk, `${nameOf(found)} would replace the store in ${dir}; the old store is kept beside the new one.`);
  return (await io.stdin.ask("Type yes to continue: ")) === "yes";
}

interface RestoreReport {
  readonly restored: Restored;
  readonly dir: string;
  readonly args: Args;
}

function tell(io: Io, { restored, dir, args }: RestoreReport): void {
  const { due, kept, schema, migratedTo } = restored;
  say(io, `Restored ${nameOf(restored)} into ${dir}.`);
  if (schema !== migratedTo) say(io, `Its schema was migrated from ${schema} to ${migratedTo}.`);
  if (kept.length > 0) say(io, `The old files are kept: ${kept.map((name) => join(dir, name)).join(", ")}`);
  say(io, `${keyText(restored)} ${adminKeyText(restored)}`);
  if (due.oldestDueAt === null) say(io, "Nothing is pending.");
  else {
    const rest = count(due.pending - due.due, "falls", "fall");
    const since = instant(due.oldestDueAt);
    const later = due.pending === due.due ? "" : `, ${rest} due later`;
    if (due.due === 0) say(io, `No delivery is due yet; ${rest} due later, from ${since}:`);
    else say(io, `${count(due.due, "delivery is", "deliveries are")} due${later}; the oldest since ${since}:`);
    sayTable(io, [
      ["ENDPOINT", "DUE", "PENDING", "FIRST DUE", "URL"],
      ...due.endpoints.map((one) => [
        one.enabled ? one.id : `${one.id} (disabled)`,
        String(one.due),
        String(one.pending),
        instant(one.oldestDueAt),
        one.url,
      ]),
    ]);
  }
  const named = args["data-dir"] === undefined ? "" : ` --data-dir ${quote(args["data-dir"])}`;
  const socket = args["data-dir"] === undefined ? "" : ` --socket ${quote(join(dir, "webhookd.sock"))}`;
  say(io, "Sending is PAUSED. Deliveries made after the backup would be repeated,");
  say(io, "events published after it are missing, and API keys revoked after it are valid again.");
  say(io, "Next:");
  say(io, `  webhookd serve${named}`);
  say(io, `  webhookd status${socket}`);
  say(io, `  webhookd resume${socket}`);
  const keptFile = (old: string) =>
    kept.find((name) => name.startsWith(`${old}.before-restore-`) && name.endsWith("Z"));
  const [database, key] = [keptFile("webhookd.db"), keptFile("secret.key")];
  if (database === undefined) return;
  const withKey = key === undefined ? "" : ` --secret-key ${quote(join(dir, key))}`;
  say(io, `To undo: webhookd restore ${quote(join(dir, database))}${named}${withKey}`);
}

function nameOf({ at, events, endpoints }: FoundBackup): string {
  const made = at === null ? "a database that is not a backup" : `the backup of ${instant(at)}`;
  return `${made} (${count(events, "event", "events")}, ${count(endpoints, "endpoint", "endpoints")})`;
}

function keyText({ key, keyFile }: Restored): string {
  const how = { sealed: "was sealed in it", given: "is your copy", there: "was already there" }[key];
  return `secret.key ${how}: ${keyFile}.`;
}

function adminKeyText({ newAdminKey, adminKeyFile }: Restored): string {
  return newAdminKey ? `A new admin key is in ${adminKeyFile}.` : `The admin key in ${adminKeyFile} is still valid.`;
}

function jsonOf({ at, due, ...restored }: Restored) {
  const { pending, oldestDueAt, endpoints } = due;
  return {
    backup_at: at === null ? null : instant(at),
    schema: restored.migratedTo,
    migrated_from: restored.schema === restored.migratedTo ? null : restored.schema,
    events: restored.events,
    endpoints: restored.endpoints,
    secret_key: { file: restored.keyFile, from: restored.key },
    admin_key: { file: restored.adminKeyFile, new: restored.newAdminKey },
    kept: restored.kept,
    paused: true,
    pending,
    due: due.due,
    oldest_due_at: oldestDueAt === null ? null : instant(oldestDueAt),
    due_by_endpoint: endpoints.map(({ oldestDueAt: oldest, ...one }) => ({ ...one, oldest_due_at: instant(oldest) })),
  };
}

function instant(at: number): string {
  return new Date(at).toISOString();
}
