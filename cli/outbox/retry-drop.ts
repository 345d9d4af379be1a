import { CLIENT, command, YES } from "../command.ts";
import { confirm, requireConsent } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import { say, sayJson } from "../output/print.ts";
import { count } from "../output/words.ts";
import { connect } from "../target.ts";

const ROWS = {
  name: { type: "positional", required: true, valueHint: "OUTBOX", description: "Its name in the configuration" },
  ids: {
    type: "positional",
    required: false,
    variadic: true,
    valueHint: "ID",
    description: "Ids of the rows; without any, all that were set aside",
  },
} as const;

export const outboxRetry = command({
  args: { ...ROWS, ...CLIENT },
  examples: ["webhookd outbox retry shop", "webhookd outbox retry shop 4711 4712"],
  async run(args, io) {
    const { rows } = await connect(args, io).call("retryOutboxRows", { id: args.name, body: bodyOf(args.ids) });
    if (args.json) sayJson(io, { rows });
    else if (rows === 0) say(io, NONE);
    else say(io, `${count(rows, "row is", "rows are")} read again; to see what became of them: webhookd outbox status`);
    return rows === 0 ? EXIT.answer_is_no : EXIT.ok;
  },
});

export const outboxDrop = command({
  args: { ...ROWS, ...YES, ...CLIENT },
  examples: ["webhookd outbox drop shop 4711", "webhookd outbox drop shop --yes"],
  async run(args, io) {
    requireConsent("webhookd outbox drop", args, io);
    const which = args.ids.length === 0 ? "All rows" : count(args.ids.length, "row", "rows");
    const facts = [`${which} of ${args.name} that cannot be events will be deleted from the application's table.`];
    await confirm({ facts, word: args.name }, args, io);
    const { rows } = await connect(args, io).call("dropOutboxRows", { id: args.name, body: bodyOf(args.ids) });
    if (args.json) sayJson(io, { rows });
    else say(io, rows === 0 ? NONE : `${count(rows, "row was", "rows were")} deleted.`);
    return rows === 0 ? EXIT.answer_is_no : EXIT.ok;
  },
});

const NONE = "No such row was set aside.";

function bodyOf(ids: readonly string[]) {
  return ids.length === 0 ? {} : { ids };
}
