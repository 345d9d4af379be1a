import { byId, CLIENT, command, YES } from "../command.ts";
import { confirm, requireConsent } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import { connectFor } from "../find-id.ts";
import { say, sayJson } from "../output/print.ts";
import { count } from "../output/words.ts";

export const endpointsRm = command({
  args: { endpoint: byId("ep", "Id of the endpoint"), ...YES, ...CLIENT },
  examples: ["webhookd endpoints rm ep_01m7w8bx02jeyjr53r14y5rmma"],
  async run(args, io) {
    const { client, id } = await connectFor("ep", args.endpoint, args, io);
    requireConsent("deleting an endpoint", args, io);
    const { url, health } = await client.call("getEndpoint", { id });
    const waiting = count(health.pending + health.held, "delivery is waiting", "deliveries are waiting");
    await confirm({ facts: [`${id} ${url}: ${waiting} for it and will be cancelled.`], word: id }, args, io);
    await client.call("deleteEndpoint", { id });
    if (args.json) sayJson(io, { id, deleted: true });
    else say(io, `${id} is deleted; its past deliveries stay listed.`);
    return EXIT.ok;
  },
});
