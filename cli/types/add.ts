import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { readSettings, SETTINGS } from "./settings.ts";

export const typesAdd = command({
  args: {
    name: {
      type: "positional",
      required: true,
      valueHint: "NAME",
      description: "Words of letters, digits, _ and -, separated by dots",
    },
    ...SETTINGS,
    ...CLIENT,
  },
  examples: [
    "webhookd types add order.created --group orders --sample @order-created.json",
    "webhookd types add order.paid --schema @order-paid.schema.json --sample @order-paid.json --validation enforce",
  ],
  async run(args, io) {
    const settings = await readSettings(args, io);
    const type = await connect(args, io).call("createEventType", { body: { name: args.name, ...settings } });
    if (args.json) sayJson(io, type);
    else {
      say(io, `${type.name} is added: it can be published from now on.`);
      note(io, `To try it: webhookd trigger ${type.name} --all`);
    }
    return EXIT.ok;
  },
});
