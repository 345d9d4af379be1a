import type { Backup } from "../../src/client/operations.ts";
import type { Target } from "../../src/client/client.ts";
import { isLoopback } from "../../src/config.ts";
import { type ArgsOf, CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../output/print.ts";
import { connect, findTarget } from "../target.ts";
import { configOf, DATA_DIR } from "./data-directory.ts";
import { sealingPassphrase } from "./passphrase.ts";
import { count, size } from "../output/words.ts";

/** A backup may take hours, and the daemon finishes it however long the client waits. */
const TIMEOUT_MS = 86_400_000;

const ARGS = {
  "seal-with": {
    type: "string",
    valueHint: "FILE",
    description: "Include secret.key, sealed with the passphrase in this file; - reads it from stdin or asks for it",
  },
  offline: { type: "boolean", description: "Back up the data directory from here, while the daemon is stopped" },
  "data-dir": DATA_DIR,
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const backup = command({
  args: ARGS,
  examples: [
    "webhookd backup",
    "webhookd backup --seal-with /etc/webhookd/passphrase --json",
    "webhookd backup --offline --data-dir /var/lib/webhookd",
  ],
  /** Prints only the path on stdout, so that it can be piped. Everything else goes to stderr. */
  async run(args, io) {
    requireOnePlace(args);
    const backup = args.offline ? await offline(args, io) : await byDaemon(args, io);
    if (args.json) {
      sayJson(io, backup);
      return EXIT.ok;
    }
    const talk = { ...io, stdout: io.stderr };
    for (const line of linesOf(backup)) say(talk, line);
    say(io, backup.file);
    return EXIT.ok;
  },
});

async function byDaemon(args: Args, io: Io): Promise<Backup> {
  const seal = args["seal-with"];
  if (seal !== undefined) requirePrivate(findTarget(args, io));
  const body = seal === undefined ? {} : { passphrase: await sealingPassphrase(seal, io, { twice: true }) };
  return connect(args, io).call("createBackup", { body, timeoutMs: TIMEOUT_MS });
}

async function offline(args: Args, io: Io): Promise<Backup> {
  const config = configOf(args, io);
  const seal = args["seal-with"];
  const passphrase = seal === undefined ? undefined : await sealingPassphrase(seal, io, { twice: true });
  const { backUp } = await import("../../src/offline.ts");
  const { at, ...backup } = await backUp(config, passphrase);
  return { ...backup, at: new Date(at).toISOString() };
}

function linesOf({ events, endpoints, bytes, schema, sha256, sealed }: Backup): string[] {
  return [
    `${count(events, "event", "events")} and ${count(endpoints, "endpoint", "endpoints")}, ${size(bytes)}, schema ${schema}, checked.`,
    `sha256 ${sha256}`,
    sealed
      ? "It includes secret.key, sealed: to restore, you need only this file and the passphrase."
      : "It does not include secret.key: keep a copy of that, or include it with --seal-with FILE.",
    "Copy it off this host.",
  ];
}

function requireOnePlace(args: Args): void {
  const named = (["url", "socket", "key-file"] as const).find((flag) => args[flag] !== undefined);
  if (args.offline && named !== undefined) {
    throw usage(`--offline does not use a daemon, but --${named} names one`, "Use only one of them.");
  }
  if (args.offline || args["data-dir"] === undefined) return;
  throw usage("--data-dir needs --offline", "A running daemon knows its own data directory.");
}

/** The passphrase is sent to the daemon, so the connection must be private. The daemon never stores it. */
function requirePrivate(target: Target): void {
  if ("socket" in target || target.url.protocol === "https:") return;
  if (isLoopback(target.url.hostname.replace(/^\[|\]$/g, ""))) return;
  throw new Failure(
    "usage",
    `the passphrase would cross the network to ${target.url.host} in the clear`,
    "Use https, run the command on the daemon's host, or set [backup] seal_with_file there. Nothing was done.",
  );
}
