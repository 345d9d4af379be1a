import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { readId } from "../values.ts";

export async function run(args: Args<"endpoints disable">, io: Io): Promise<number> {
  const id = readId("ep", args.endpoint);
  if (args.hold && args.skip) throw usage("--hold and --skip exclude each other");
  const whenDisabled = args.hold ? "hold" : args.skip ? "skip" : undefined;
  const body = { enabled: false, when_disabled: whenDisabled };
  const after = await connect(args, io).call("changeEndpoint", { id, body });
  if (args.json) {
    sayJson(io, after);
    return EXIT.ok;
  }
  const fate =
    after.when_disabled === "skip"
      ? "Its new events are skipped, and what waited for it is held."
      : "What waits for it, and its new events, are held.";
  say(io, `${id} is disabled: nothing more is sent to it.`);
  say(io, `${fate} To go on: webhookd endpoints enable ${id}`);
  return EXIT.ok;
}
