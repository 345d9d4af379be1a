import { existsSync, realpathSync } from "node:fs";
import type { Rekeyed } from "../../src/client/operations.ts";
import { ClientError, type Client } from "../../src/client/client.ts";
import { loadSettings } from "../../src/config/settings.ts";
import { type ArgsOf, CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { count } from "../output/words.ts";
import { configOf, DATA_DIR, directorySettings } from "./data-directory.ts";

/** Ten thousand endpoints take some seconds. */
const TIMEOUT_MS = 600_000;

/** Errors which mean that there is no daemon here, or one that accepts none of the keys in this directory. */
const ELSEWHERE = ["unreachable", "unauthorized"];

const ARGS = { "data-dir": DATA_DIR, ...CLIENT } as const;
type Args = ArgsOf<typeof ARGS>;

export const secretsRekey = command({
  args: ARGS,
  examples: ["webhookd secrets rekey", "webhookd secrets rekey --data-dir /var/lib/webhookd --json"],
  async run(args, io) {
    const daemon = await daemonOf(args, io);
    const rekeyed = daemon === null ? await offline(args, io) : await daemon.call("rekey", { timeoutMs: TIMEOUT_MS });
    if (args.json) sayJson(io, rekeyed);
    else for (const line of linesOf(rekeyed)) say(io, line);
    return EXIT.ok;
  },
});

/** Returns the daemon that seems to run on this store, or null. Only the lock knows for certain. */
async function daemonOf(args: Args, io: Io): Promise<Client | null> {
  const flag = (["url", "socket", "key-file"] as const).find((name) => args[name] !== undefined);
  if (flag !== undefined && args["data-dir"] !== undefined) {
    throw usage(`--data-dir names a directory, but --${flag} names a daemon`, "Use only one of them.");
  }
  const isNamed = flag !== undefined || Boolean(io.env.WEBHOOKD_URL || io.env.WEBHOOKD_SOCKET);
  if (isNamed && args["data-dir"] === undefined) return connect(args, io);
  const inputs = io.configInputs({ config: args.config, settings: directorySettings(args["data-dir"]) });
  const dir = loadSettings(inputs).settings["data.dir"];
  try {
    const client = connect(args, io);
    const { data } = await client.call("getStatus");
    // A daemon of another store must not be mistaken for this one.
    return dir === "" || isSame(dir, data.dir) ? client : null;
  } catch (error) {
    if (error instanceof Failure || (error instanceof ClientError && ELSEWHERE.includes(error.code))) return null;
    throw error;
  }
}

function isSame(dir: string, other: string): boolean {
  const real = (path: string) => (existsSync(path) ? realpathSync(path) : path);
  return real(dir) === real(other);
}

async function offline(args: Args, io: Io): Promise<Rekeyed> {
  const config = configOf(args, io);
  const { rekey } = await import("../../src/offline.ts");
  const { keyFile, keyId, ...rest } = await rekey(config);
  return { secret_key_file: keyFile, key_id: keyId, ...rest };
}

function linesOf({ resealed, secret_key_file, key_id, kept, damaged }: Rekeyed): string[] {
  return [
    `${count(resealed, "endpoint is", "endpoints are")} now sealed with the new key ${key_id} in ${secret_key_file}. No signing secret changed.`,
    "Copy that file off this host, and make a backup: webhookd backup --seal-with FILE",
    ...(kept === null ? [] : [`Older backups without a key need the old one: ${kept}. Remove it once they are gone.`]),
    ...(damaged.length === 0 ? [] : [`These could not be read before, and stay damaged: ${damaged.join(", ")}`]),
  ];
}
