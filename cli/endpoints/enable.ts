import type { Args } from "../commands.ts";
import { confirm, requireSomebody } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { readId } from "../values.ts";
import { count } from "../words.ts";

export async function run(args: Args<"endpoints enable">, io: Io): Promise<number> {
  const id = readId("ep", args.endpoint);
  const cancels = args["cancel-held"];
  if (cancels) requireSomebody("--cancel-held", args, io);
  const client = connect(args, io);
  const { url, enabled, health } = await client.call("getEndpoint", { id });
  const held = count(health.held, "delivery", "deliveries");
  if (cancels)
    await confirm({ facts: [`${id} ${url}: ${held} held for it will be cancelled.`], word: "yes" }, args, io);
  const after = await client.call("changeEndpoint", {
    id,
    body: { enabled: true, held: cancels ? "cancel" : "release" },
  });
  if (args.json) sayJson(io, after);
  else if (enabled) say(io, `${id} was enabled already.`);
  else if (health.held === 0) say(io, `${id} is enabled.`);
  else say(io, `${id} is enabled; ${held} held for it ${cancels ? "cancelled" : "sent now, slowly at first"}.`);
  return EXIT.ok;
}
