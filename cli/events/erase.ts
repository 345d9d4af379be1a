import { byId, CLIENT, command, YES } from "../command.ts";
import { confirm, requireConsent } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import { say, sayJson } from "../output/print.ts";
import { eventMeant } from "./by-word.ts";

export const eventsErase = command({
  args: { event: byId("evt", "Id of the event, or the id that its publisher gave it"), ...YES, ...CLIENT },
  examples: ["webhookd events erase evt_01m7w8bx02jeyjr53r14y5rmma"],
  async run(args, io) {
    const { client, id } = await eventMeant(args.event, args, io);
    requireConsent("erasing", args, io);
    const { type, status } = await client.call("getEvent", { id });
    const facts = [
      `${id} ${type}, ${status}: its data and the receivers' answers will be erased, and open deliveries cancelled.`,
      "It can never be sent again.",
    ];
    await confirm({ facts, word: id }, args, io);
    await client.call("eraseEvent", { id });
    if (args.json) sayJson(io, { id, erased: true });
    else say(io, `${id} is erased; its attempts stay listed.`);
    return EXIT.ok;
  },
});
