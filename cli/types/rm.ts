import { CLIENT, command, YES } from "../command.ts";
import { confirm, requireConsent } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import { say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { TYPE, typeNamed } from "./text.ts";

export const typesRm = command({
  args: { type: TYPE, ...YES, ...CLIENT },
  examples: ["webhookd types rm order.created"],
  async run(args, io) {
    requireConsent("deleting an event type", args, io);
    const client = connect(args, io);
    const { name, description } = await typeNamed(args.type, client);
    const what = description === "" ? name : `${name} (${description})`;
    await confirm({ facts: [`${what}: its schema and sample will be deleted with it.`], word: name }, args, io);
    await client.call("deleteEventType", { id: name });
    if (args.json) sayJson(io, { name, deleted: true });
    else say(io, `${name} is deleted: it can no longer be published.`);
    return EXIT.ok;
  },
});
