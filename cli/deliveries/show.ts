import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayFields, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { readId } from "../values.ts";
import { ago } from "../words.ts";
import { deliveryLines } from "./text.ts";

export async function run(args: Args<"deliveries show">, io: Io): Promise<number> {
  const id = readId("dlv", args.delivery);
  const client = connect(args, io);
  const delivery = await client.call("getDelivery", { id });
  if (args.json) {
    sayJson(io, delivery);
    return EXIT.ok;
  }
  const attempts = await Array.fromAsync(client.every("listDeliveryAttempts", { id, query: { order: "oldest" } }));
  for (const line of deliveryLines(delivery, delivery.event, attempts, io.now())) say(io, line);
  sayFields(io, [
    ["event", `${delivery.event}  ${delivery.type}`],
    ["received", `${delivery.received_at}, ${ago(delivery.received_at, io.now())}`],
    ["tenant", delivery.tenant],
    ["round", String(delivery.round)],
  ]);
  return EXIT.ok;
}
