import { createHash } from "node:crypto";
import { isAbsolute, join } from "node:path";
import type { ConfigInputs } from "./inputs.ts";

/** Where the daemon keeps everything unless it is told: beside the sources in a checkout, else where the system says. */
export function defaultDataDir({ checkout, env, home, root }: ConfigInputs): string {
  if (checkout !== null) return join(checkout, "data");
  const state = firstOf(env.STATE_DIRECTORY);
  if (state !== null) return state;
  if (root) return "/var/lib/webhookd";
  return join(firstOf(env.XDG_DATA_HOME) ?? join(home, ".local", "share"), "webhookd");
}

export function defaultSecretKeyFile(dataDir: string, { env, exists }: ConfigInputs): string {
  const credentials = firstOf(env.CREDENTIALS_DIRECTORY);
  const given = credentials && join(credentials, "secret.key");
  return given !== null && exists(given) ? given : join(dataDir, "secret.key");
}

/** Empty when no path is short enough: the daemon then has no socket. */
export function defaultSocket(dataDir: string, inputs: ConfigInputs): string {
  const runtime = firstOf(inputs.env.RUNTIME_DIRECTORY);
  const path = join(runtime ?? dataDir, "webhookd.sock");
  if (fitsSocket(path, inputs.platform)) return path;
  const user = firstOf(inputs.env.XDG_RUNTIME_DIR);
  // The folder is shared by all daemons of the user, so the name says which data directory this one serves.
  const name = `webhookd-${createHash("sha256").update(dataDir).digest("hex").slice(0, 12)}.sock`;
  return user !== null && fitsSocket(join(user, name), inputs.platform) ? join(user, name) : "";
}

/** The kernel keeps a socket's path in a field of fixed size (sun_path), and cuts longer ones short. */
export function fitsSocket(path: string, platform: NodeJS.Platform): boolean {
  return Buffer.byteLength(path) <= (platform === "linux" ? 107 : 103);
}

/** systemd gives lists with colons; a relative path there is to be ignored (XDG base directory specification). */
function firstOf(paths: string | undefined): string | null {
  const [first = ""] = (paths ?? "").split(":");
  return isAbsolute(first) ? first : null;
}
