import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient, type Client, type Target } from "../src/client/client.ts";
import { isLoopback, loadConfig, type Config } from "../src/config.ts";
import { withoutSecrets } from "../src/config/inputs.ts";
import { printAddress } from "../src/config/kinds.ts";
import { NotUtf8, utf8Of } from "../src/domain/utf8.ts";
import { loadSettings, type LoadedSettings } from "../src/config/settings.ts";
import { version } from "../src/build.ts";
import { Failure, usage } from "./failure.ts";
import type { Io } from "./io.ts";
import { directorySettings } from "./upkeep/data-directory.ts";

/** The flags that every client command has. */
export interface TargetArgs {
  readonly url: string | undefined;
  readonly socket: string | undefined;
  readonly "key-file": string | undefined;
  readonly config: string | undefined;
  /** For a command that calls the daemon of this directory, even if variables name another. */
  readonly "data-dir"?: string | undefined;
}

const SYSTEM_SOCKET = "/run/webhookd/webhookd.sock";

export function connect(args: TargetArgs, io: Io): Client {
  return createClient(findTarget(args, io), { version });
}

/**
 * Tries flags, variables, the socket of the configuration file, the system's socket, the socket of the data directory,
 * and last the listen address with the key in the data directory. Uses a target that is named, or a socket that exists,
 * even if nothing answers there: silently calling another daemon would be worse than an error.
 */
export function findTarget(args: TargetArgs, io: Io): Target {
  const named = fromFlags(args) ?? (args["data-dir"] === undefined ? fromVariables(io.env) : null);
  if (named !== null && "socket" in named) return { socket: named.socket };

  const inputs = withoutSecrets(
    io.configInputs({ config: args.config, settings: directorySettings(args["data-dir"]) }),
  );
  const keyFile = args["key-file"] ?? io.env.WEBHOOKD_KEY_FILE;
  if (named !== null) {
    const url = readUrl(named.url, named.where);
    const ownKey = () => (staysHere(url) ? adminKeyFile(loadConfig(inputs)) : undefined);
    return withKey(url, keyFile ?? ownKey());
  }

  const config = loadConfig(inputs);
  if (keyFile !== undefined) return withKey(listenUrl(config), keyFile);
  const loaded = loadSettings(inputs);
  const { file, settings } = loaded;
  const configured = file !== null || settings["server.socket"] !== "" || settings["data.dir"] !== "";
  const sockets = new Set([...(configured ? [config.server.socket] : []), SYSTEM_SOCKET, config.server.socket]);
  sockets.delete("");
  for (const socket of sockets) if (inputs.exists(socket)) return { socket };
  if (inputs.exists(adminKeyFile(config))) return withKey(ownUrl(config), adminKeyFile(config));
  // The directory belongs to a daemon that runs as another user. Use its socket, so that the error says so rather than
  // that there is no daemon.
  const hidden = [...sockets].find((socket) => inputs.isHidden(socket));
  if (hidden !== undefined) return { socket: hidden };
  throw new Failure(
    "unreachable",
    `cannot find the daemon; tried ${[...sockets, adminKeyFile(config)].join(", ")}`,
    whereFrom(config, loaded),
  );
}

/** Describes which settings decided where to look, and how to name another place. */
function whereFrom({ data }: Config, { settings, origins }: LoadedSettings): string {
  const [dir, socket] = [origins.get("data.dir"), origins.get("server.socket")];
  const by = dir === undefined || settings["data.dir"] === "" ? "the default here" : `set by ${dir()}`;
  const its = socket === undefined ? "" : `; the socket is set by ${socket()}`;
  const todo =
    "Start it with `webhookd serve`, or say where it is: WEBHOOKD_DATA_DIR=DIR, --socket PATH, or --url URL --key-file FILE.";
  return `The data directory is ${data.dir} (${by})${its}. ${todo}`;
}

type Named = { readonly socket: string } | { readonly url: string; readonly where: string };

function fromFlags({ url, socket }: TargetArgs): Named | null {
  return one({ url, socket, where: "--url", both: "--url and --socket" });
}

function fromVariables(env: Io["env"]): Named | null {
  const both = "WEBHOOKD_URL and WEBHOOKD_SOCKET";
  return one({ url: env.WEBHOOKD_URL, socket: env.WEBHOOKD_SOCKET, where: "WEBHOOKD_URL", both });
}

interface Both {
  readonly url: string | undefined;
  readonly socket: string | undefined;
  readonly where: string;
  readonly both: string;
}

function one({ url, socket, where, both }: Both): Named | null {
  if (url && socket) throw usage(`${both} name two daemons`, "Use only one of them.");
  if (socket) return { socket };
  return url ? { url, where } : null;
}

function readUrl(text: string, where: string): URL {
  const url = URL.parse(text);
  const fits = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  if (fits) return url;
  throw new Failure("usage", `${where} is not an address such as http://127.0.0.1:8420`, "Pass keys with --key-file.");
}

function listenUrl({ server: { listen, tls } }: Config): URL {
  const anywhere = { "0.0.0.0": "127.0.0.1", "::": "::1" }[listen.host];
  return new URL(`${tls === null ? "http" : "https"}://${printAddress({ ...listen, host: anywhere ?? listen.host })}`);
}

/**
 * True for a loopback address. A key from this host must not be sent anywhere else, even to an address that the
 * configuration names.
 */
function staysHere(url: URL): boolean {
  return isLoopback(url.hostname.replace(/^\[|\]$/g, ""));
}

function ownUrl(config: Config): URL {
  const url = listenUrl(config);
  if (staysHere(url)) return url;
  const what = `[server] listen is ${url.host}, and ${adminKeyFile(config)} is only sent to loopback addresses`;
  throw new Failure("not_allowed", what, `To send it there, name both: --url ${url.origin} --key-file FILE.`);
}

function adminKeyFile({ data }: Config): string {
  return join(data.dir, "admin.key");
}

function withKey(url: URL, keyFile: string | undefined): Target {
  const needsKey = `${url.href} needs a key`;
  const todo = "Pass a file that contains one: --key-file FILE.";
  if (keyFile === undefined) throw new Failure("not_allowed", needsKey, todo);
  let text: string;
  try {
    text = utf8Of(readFileSync(keyFile)).trim();
  } catch (error) {
    if (error instanceof NotUtf8) throw noKeyIn(keyFile);
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? `there is no ${keyFile}` : `${keyFile} cannot be read (${code})`;
    throw new Failure("not_allowed", `${needsKey}; ${why}`, todo);
  }
  if (!/^[\x21-\x7e]{1,500}$/.test(text)) throw noKeyIn(keyFile);
  return { url, key: text, keyFile };
}

function noKeyIn(keyFile: string): Failure {
  return new Failure("not_allowed", `${keyFile} does not contain an API key`);
}
