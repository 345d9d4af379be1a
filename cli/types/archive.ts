import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { settingsOf, TYPE, typeNamed } from "./text.ts";

export const typesArchive = command({
  args: { type: TYPE, ...CLIENT },
  examples: ["webhookd types archive order.created"],
  async run(args, io) {
    const client = connect(args, io);
    const before = await typeNamed(args.type, client);
    const body = { ...settingsOf(before), archived: true };
    const after = await client.call("putEventType", { id: before.name, body });
    if (args.json) sayJson(io, after);
    else if (before.archived) say(io, `${after.name} was already archived.`);
    else {
      say(io, `${after.name} is archived: endpoints that chose it still receive it, and no other may choose it.`);
      note(io, `To let endpoints choose it again: webhookd types update ${after.name} --no-archived`);
    }
    return EXIT.ok;
  },
});
