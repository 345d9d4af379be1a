import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { count } from "../words.ts";
import { readData } from "./data.ts";
import { firstAttempts, tellFirst } from "./first-attempts.ts";

/** The id alone goes to stdout, unless it waits. */
export async function run(args: Args<"events send">, io: Io): Promise<number> {
  const data = await readData(args.data, io);
  const client = connect(args, io);
  const rest = JSON.stringify({ type: args.type, tenant: args.tenant, created_at: args["created-at"] });
  const key = args["idempotency-key"];
  const published = await client.call("publishEvent", {
    body: `${rest.slice(0, -1)},"data":${data}}`,
    ...(key !== undefined && { idempotencyKey: key }),
  });
  if (args.wait) return tellFirst(await firstAttempts(client, published.id, io), args.json, io);
  if (args.json) sayJson(io, published);
  else {
    note(io, `${published.type} goes to ${count(published.delivery_count, "endpoint", "endpoints")}.`);
    say(io, published.id);
  }
  return EXIT.ok;
}
