import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { connect } from "../target.ts";

export async function run(args: Args<"resume">, io: Io): Promise<number> {
  await connect(args, io).call("resumeDaemon");
  if (args.json) sayJson(io, { paused: null });
  else say(io, "Attempts go on.");
  return EXIT.ok;
}
