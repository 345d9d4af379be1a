import { join, resolve } from "node:path";
import type { Config } from "../../src/config.ts";
import type { ConfigInputs } from "../../src/config/inputs.ts";
import { printDuration } from "../../src/config/units.ts";
import type { Daemon } from "../../src/daemon.ts";
import { printable } from "../../src/domain/printable.ts";
import { version } from "../../src/build.ts";

/** The directory in which the daemon was started, and its checkout if it runs from one. */
export type Place = Pick<ConfigInputs, "cwd" | "checkout">;
/** Flags of `serve` that other commands must repeat to find this daemon. */
interface Named {
  readonly socket: string | undefined;
  readonly "data-dir": string | undefined;
  readonly config: string | undefined;
}
type Served = Pick<Daemon, "url" | "socket" | "created" | "adminKeyFile">;

/** Describes what losing secret.key costs, as the end of a sentence. */
export const WITHOUT_KEY = "without it, or a backup made with --seal-with, no signing secret can be read";

/** Returns what `serve` prints on a terminal: where everything is, and the next three commands to type. */
export function banner(config: Config, daemon: Served, args: Named, place: Place): string {
  const { delays, timeout } = config.retry;
  const socket = daemon.socket?.replace(/^unix:/, "") ?? null;
  const lines = [
    `webhookd ${version}${config.dev ? "   DEV: endpoints may use plain http on this machine" : ""}`,
    `  data    ${config.data.dir}${daemon.created ? "   (new)" : ""}`,
    `  api     ${daemon.url}`,
    `  socket  ${socket ?? "none: commands need --url and --key-file"}`,
    ...(daemon.adminKeyFile === null
      ? []
      : [`  key     ${daemon.adminKeyFile}   (the admin key; the socket needs no key)`]),
    `  retry   ${delays.map(printDuration).join(" ")}, timeout ${printDuration(timeout)}`,
    ...(daemon.created ? [`Copy ${config.data.secretKeyFile} off this host: ${WITHOUT_KEY}.`] : []),
    `Next, in another terminal${programAt(place).startsWith("scripts/") ? " and in this folder" : ""}:`,
    ...nextSteps(config, daemon, args, place).map((step) => `  ${step}`),
    "Ctrl-C stops it once the attempts in flight are done.",
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}

/** Returns the commands to type next in order to see an event delivered. */
export function nextSteps(config: Config, { url, socket: address }: Served, args: Named, place: Place): string[] {
  const socket = address?.replace(/^unix:/, "") ?? null;
  const named = Boolean(args.socket ?? args["data-dir"] ?? args.config);
  const keyFile = quote(join(config.data.dir, "admin.key"));
  const program = programAt(place);
  let target = "";
  let curl = `curl -H "authorization: Bearer $(cat ${keyFile})" ${url}`;
  if (socket !== null) {
    if (named) target = ` --socket ${quote(socket)}`;
    curl = `curl --unix-socket ${quote(socket)} http://localhost`;
  } else target = ` --url ${url} --key-file ${keyFile}`;
  if (config.dev) {
    return ["listen --register", "trigger budget.exceeded", "tui"].map((words) => `${program} ${words}${target}`);
  }
  const post = (path: string, body: object) =>
    `${curl}${path} -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
  return [
    `${program} keys create --name app --scope publish,read${target}`,
    post("/v1/webhooks", { url: "https://example.com/hook", events: ["budget.exceeded"] }),
    post("/v1/webhooks/events", { type: "budget.exceeded", data: { budget: "groceries" } }),
    `${curl}/v1/webhooks/events?include=deliveries`,
  ];
}

/** Returns how to call the program from that directory. */
export function programAt({ cwd, checkout }: Place): string {
  if (checkout === null) return "webhookd";
  return resolve(checkout) === cwd ? "scripts/webhookd" : quote(join(checkout, "scripts/webhookd"));
}

/** Quotes a path for a shell. */
export function quote(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
