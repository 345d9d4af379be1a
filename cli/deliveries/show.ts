import { byId, CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { connectFor } from "../find-id.ts";
import { say, sayFields, sayJson } from "../output/print.ts";
import { ago } from "../output/words.ts";
import { atOnceOf, deliveryLines } from "./text.ts";

export const deliveriesShow = command({
  args: { delivery: byId("dlv", "Id of the delivery"), ...CLIENT },
  examples: ["webhookd deliveries show dlv_01m7w8bx02jeyjr53r14y5rmma"],
  async run(args, io) {
    const { client, id } = await connectFor("dlv", args.delivery, args, io);
    const delivery = await client.call("getDelivery", { id });
    if (args.json) {
      sayJson(io, delivery);
      return EXIT.ok;
    }
    const attempts = await Array.fromAsync(client.every("listDeliveryAttempts", { id, query: { order: "oldest" } }));
    const atOnce = (await atOnceOf(client, [delivery], io.now())).get(delivery.endpoint);
    for (const line of deliveryLines(delivery, delivery.event, { attempts, atOnce: atOnce ?? null }, io.now()))
      say(io, line);
    sayFields(io, [
      ["event", `${delivery.event}  ${delivery.type}`],
      ["received", `${delivery.received_at}, ${ago(delivery.received_at, io.now())}`],
      ["tenant", delivery.tenant],
      ["round", String(delivery.round)],
    ]);
    return EXIT.ok;
  },
});
