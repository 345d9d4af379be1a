import { byId, CLIENT, command, YES } from "../command.ts";
import { confirm, requireConsent } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import { say, sayJson } from "../output/print.ts";
import { eventMeant } from "./by-word.ts";
import { findEndpoint } from "../endpoints/find.ts";
import { count } from "../output/words.ts";

export const eventsCancel = command({
  args: {
    event: byId("evt", "Id of the event, or the id that its publisher gave it"),
    endpoint: { type: "string", valueHint: "ep_…", description: "Only the delivery to this endpoint" },
    ...YES,
    ...CLIENT,
  },
  examples: ["webhookd events cancel evt_01m7w8bx02jeyjr53r14y5rmma --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --yes"],
  async run(args, io) {
    const { client, id } = await eventMeant(args.event, args, io);
    const endpoint = args.endpoint === undefined ? undefined : await findEndpoint(args.endpoint, client);
    requireConsent("cancelling", args, io);
    const { type, deliveries, more_deliveries } = await client.call("getEvent", { id });
    const meant = deliveries.filter((delivery) => endpoint === undefined || delivery.endpoint === endpoint);
    const open = meant.filter(({ status }) => /^(?:pending|held)$/.test(status));
    const least = more_deliveries ? "at least " : "";
    const facts = [
      `${id} ${type}: ${least}${count(open.length, "delivery is", "deliveries are")} open and will be cancelled.`,
    ];
    const mayHold = meant.some(({ status, sequence }) => status === "failed" && sequence !== null);
    if (mayHold) facts.push("A failed delivery that holds its ordering key will be cancelled too.");
    await confirm({ facts, word: "yes" }, args, io);
    const after = await client.call("cancelEvent", { id, body: { endpoint } });
    if (args.json) sayJson(io, after);
    else say(io, `${id}: ${count(after.cancelled, "delivery", "deliveries")} cancelled; it is ${after.status}.`);
    return EXIT.ok;
  },
});
