import { statSync } from "node:fs";
import { departures, exposures, isLoopback, loadConfig, type Config } from "../../src/config.ts";
import { ConfigError } from "../../src/config/mistake.ts";
import type { Status } from "../../src/client/operations.ts";
import { ClientError, createClient, type Client } from "../../src/client/client.ts";
import { loadSettings } from "../../src/config/settings.ts";
import { version } from "../../src/build.ts";
import { type ArgsOf, CLIENT, command } from "../command.ts";
import { withWholeIds } from "../endpoints/find.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../output/print.ts";
import { count } from "../output/words.ts";
import { findTarget } from "../target.ts";
import { directorySettings } from "../upkeep/data-directory.ts";
import { readId } from "../values.ts";
import { alsoFindings } from "./also.ts";
import { certificateFindings } from "./certificate.ts";
import { daemonFindings } from "./daemon.ts";
import { endpointFindings } from "./endpoints.ts";
import { fail, ok, warn, type Finding } from "./finding.ts";
import { dataFindings, hostFindings } from "./host.ts";
import { repairSecret } from "./repair-secret.ts";

const ARGS = {
  offline: { type: "boolean", description: "Check only what needs neither the daemon nor the network" },
  "data-dir": { type: "string", valueHint: "DIR", description: "With --offline: the data directory to check" },
  endpoint: { type: "string", valueHint: "ep_…", description: "Check only this endpoint, instead of all of them" },
  "repair-secret": {
    type: "string",
    valueHint: "ep_…",
    description: "Give this endpoint a new signing secret if its current one cannot be read",
  },
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const doctor = command({
  args: ARGS,
  examples: [
    "webhookd doctor",
    "webhookd doctor --offline --json",
    "webhookd doctor --repair-secret ep_06fbqxvx8r4m8q2v6ng0c3kz7t",
  ],
  /** Shows each finding as soon as it is made, because the network may be slow. */
  async run(typed, io) {
    const { "repair-secret": damaged } = typed;
    if (damaged !== undefined) return repairSecret({ ...typed, "repair-secret": damaged }, io);
    const args = typed.offline ? typed : await withWholeIds(typed, io);
    if (args.endpoint !== undefined) readId("ep", args.endpoint);
    if (args["data-dir"] !== undefined && !args.offline) {
      throw usage("--data-dir needs --offline", "A running daemon knows where its data is.");
    }
    const findings: Finding[] = [];
    for await (const finding of examine(args, io)) {
      findings.push(finding);
      if (!args.json) say(io, lineOf(finding));
    }
    const failed = findings.filter(({ level }) => level === "FAIL").length;
    const warnings = findings.filter(({ level }) => level === "warn").length;
    const beside = warnings === 0 ? "" : `; ${count(warnings, "warning", "warnings")}`;
    if (args.json) sayJson(io, { ok: failed === 0, findings });
    else note(io, `${failed === 0 ? "No problems" : count(failed, "problem", "problems")} found${beside}.`);
    return failed === 0 ? EXIT.ok : EXIT.answer_is_no;
  },
});

async function* examine(args: Args, io: Io): AsyncGenerator<Finding> {
  const inputs = io.configInputs({ config: args.config, settings: directorySettings(args["data-dir"]) });
  let config: Config;
  try {
    config = loadConfig(inputs);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // Without a configuration, the places to check are unknown.
    for (const { where, what, todo } of error.mistakes) {
      yield fail("configuration", `${where}: ${what}`, todo ?? "webhookd config check");
    }
    return;
  }
  yield ok("configuration", loadSettings(inputs).file ?? "no file; defaults and environment variables");
  for (const sentence of departures(config)) yield warn("configuration", sentence, "webhookd config show --origin");
  for (const sentence of exposures(config)) yield warn("configuration", sentence, "webhookd config show --origin");
  const daemon = args.offline ? null : await ask(args, io);
  if (daemon === null || "level" in daemon) {
    yield* hostFindings(io);
    yield* dataFindings({ config, of: "in this command's configuration" }, io.now());
  } else yield* daemonsHost(daemon, config, io);
  yield* await certificateFindings(config, io.now());
  if (daemon === null) return;
  if ("level" in daemon) return yield daemon;
  const { client, status } = daemon;
  yield* daemonFindings(status, io.now(), (file) => daemon.isHere && isGone(file));
  yield* alsoFindings({ client, also: config.signature.also, only: args.endpoint });
  // A daemon that runs with --dev delivers to this machine.
  const reach = { ...config, dev: status.dev };
  yield* endpointFindings({ client, config: reach, only: args.endpoint, now: io.now() });
}

interface Daemon {
  readonly client: Client;
  readonly status: Status;
  readonly isHere: boolean;
}

/** Returns the daemon, or a finding that explains why there is none. */
async function ask(args: Args, io: Io): Promise<Daemon | Finding> {
  try {
    const target = findTarget(args, io);
    const client = createClient(target, { version });
    const isHere = "socket" in target || isLoopback(target.url.hostname.replace(/^\[|\]$/g, ""));
    return { client, status: await client.call("getStatus"), isHere };
  } catch (error) {
    if (!(error instanceof ClientError) && !(error instanceof Failure)) throw error;
    return fail(
      "daemon",
      error.message,
      error.hint ?? "start it with webhookd serve, or check the rest with --offline",
    );
  }
}

/** The configuration that this command reads may differ from that of the daemon it found. */
function* daemonsHost({ status: { data, disk }, isHere }: Daemon, config: Config, io: Io): Generator<Finding> {
  yield* hostFindings(io);
  if (!isHere) return yield warn("data", `${data.dir} is on the daemon's host`, "run webhookd doctor --offline there");
  const { dir, secret_key_file: secretKeyFile } = data;
  const place = { ...config.data, dir, secretKeyFile, diskFloor: disk.floor_bytes };
  yield* dataFindings({ config: { ...config, data: place }, of: "of the running daemon" }, io.now());
}

function isGone(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    // The caller may not read the directory.
    return false;
  }
}

function lineOf({ level, subject, what, todo }: Finding): string {
  return `${level.padEnd(4)}  ${subject}: ${what}${todo === undefined ? "" : `  -> ${todo}`}`;
}
