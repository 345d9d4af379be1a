import { departures, loadConfig, type Config } from "../../src/config.ts";
import { ConfigError } from "../../src/config/error.ts";
import type { Client } from "../../src/client/client.ts";
import type { Status } from "../../src/client/answers.ts";
import { ClientError } from "../../src/client/client.ts";
import { loadSettings } from "../../src/config/settings.ts";
import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { readId } from "../values.ts";
import { certificateFindings } from "./certificate.ts";
import { daemonFindings } from "./daemon.ts";
import { endpointFindings } from "./endpoints.ts";
import { fail, ok, warn, type Finding } from "./finding.ts";
import { hostFindings } from "./host.ts";

/** Each finding is shown when it is made: the network may be what is slow. */
export async function run(args: Args<"doctor">, io: Io): Promise<number> {
  if (args.endpoint !== undefined) readId("ep", args.endpoint);
  const findings: Finding[] = [];
  for await (const finding of examine(args, io)) {
    findings.push(finding);
    if (!args.json) say(io, lineOf(finding));
  }
  const failed = findings.filter(({ level }) => level === "FAIL").length;
  if (args.json) sayJson(io, { ok: failed === 0, findings });
  else note(io, failed === 0 ? "Nothing is wrong." : `${failed} to see to.`);
  return failed === 0 ? EXIT.ok : EXIT.answer_is_no;
}

async function* examine(args: Args<"doctor">, io: Io): AsyncGenerator<Finding> {
  const inputs = io.configInputs({ config: args.config });
  let config: Config;
  try {
    config = loadConfig(inputs);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // Nothing can be looked at in places that are not known.
    for (const { where, what, todo } of error.mistakes) {
      yield fail("configuration", `${where}: ${what}`, todo ?? "webhookd config check");
    }
    return;
  }
  yield ok("configuration", loadSettings(inputs).file ?? "no file; defaults and variables");
  for (const sentence of departures(config)) yield warn("configuration", sentence, "webhookd config show --origin");
  yield* hostFindings(config, io);
  yield* await certificateFindings(config, io.now());
  if (args.offline) return;

  let client: Client;
  let status: Status;
  try {
    client = connect(args, io);
    status = await client.call("getStatus");
    yield* daemonFindings(status, io.now());
  } catch (error) {
    if (!(error instanceof ClientError) && !(error instanceof Failure)) throw error;
    yield fail("daemon", error.message, error.hint ?? "webhookd serve, or look at the rest with --offline");
    return;
  }
  // A daemon that runs with --dev delivers to this machine.
  const reach = { ...config, dev: status.dev };
  yield* endpointFindings({ client, config: reach, only: args.endpoint, now: io.now() });
}

function lineOf({ level, subject, what, todo }: Finding): string {
  return `${level.padEnd(4)}  ${subject}: ${what}${todo === undefined ? "" : `  -> ${todo}`}`;
}
