import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { connect } from "../target.ts";

/** It is made however long that takes. */
const TIMEOUT_MS = 86_400_000;

/** The path alone goes to stdout, so that it can be handed on; the talk goes to stderr. */
export async function run(args: Args<"backup">, io: Io): Promise<number> {
  const backup = await connect(args, io).call("createBackup", { timeoutMs: TIMEOUT_MS });
  if (args.json) {
    sayJson(io, backup);
    return EXIT.ok;
  }
  const talk = { ...io, stdout: io.stderr };
  say(
    talk,
    `${backup.events} events and ${backup.endpoints} endpoints, checked. secret.key is not in it: keep a copy.`,
  );
  say(io, backup.file);
  return EXIT.ok;
}
