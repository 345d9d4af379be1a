import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../print.ts";
import { connect } from "../target.ts";

export async function run(args: Args<"pause">, io: Io): Promise<number> {
  const { paused } = await connect(args, io).call("pauseDaemon", { body: { reason: args.reason } });
  if (args.json) sayJson(io, { paused });
  else {
    say(io, `Paused since ${paused.at} by ${paused.by}: ${paused.reason}`);
    if (paused.reason !== args.reason) note(io, "It was paused before, and what was said then stays.");
    if (paused.saved !== false) say(io, "No attempt starts, publishes go on. It stays so until: webhookd resume");
    else
      say(
        io,
        "No attempt starts. The disk does not take this, so a RESTART FORGETS IT: free some space, and it is saved.",
      );
  }
  return EXIT.ok;
}
