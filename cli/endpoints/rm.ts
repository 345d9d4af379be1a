import type { Args } from "../commands.ts";
import { confirm, requireSomebody } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { readId } from "../values.ts";
import { count } from "../words.ts";

export async function run(args: Args<"endpoints rm">, io: Io): Promise<number> {
  const id = readId("ep", args.endpoint);
  requireSomebody("deleting an endpoint", args, io);
  const client = connect(args, io);
  const { url, health } = await client.call("getEndpoint", { id });
  const waiting = count(health.pending + health.held, "delivery waits", "deliveries wait");
  await confirm({ facts: [`${id} ${url}: ${waiting} for it and will be cancelled.`], word: id }, args, io);
  await client.call("deleteEndpoint", { id });
  if (args.json) sayJson(io, { id, deleted: true });
  else say(io, `${id} is deleted; what was sent to it stays listed.`);
  return EXIT.ok;
}
