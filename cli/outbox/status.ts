import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { note, say, sayJson } from "../output/print.ts";
import { sayColumns } from "../output/table.ts";
import { grouped } from "../output/words.ts";
import { connect } from "../target.ts";
import { isWell, NO_OUTBOXES, oldestText, outboxText, rowsText, stateText } from "./text.ts";

export const outboxStatus = command({
  args: CLIENT,
  examples: ["webhookd outbox status"],
  async run(args, io) {
    const client = connect(args, io);
    const { data } = await client.call("listOutboxes");
    const whole = await Promise.all(
      data.map(async (outbox) => {
        const isAsked = outbox.up && (outbox.set_aside ?? 0) > 0;
        const rows = isAsked ? (await client.call("listSetAsideRows", { id: outbox.name })).data : [];
        return { ...outbox, rows };
      }),
    );
    const exit = data.every(isWell) ? EXIT.ok : EXIT.answer_is_no;
    if (args.json) {
      sayJson(io, { data: whole });
      return exit;
    }
    if (data.length === 0) {
      say(io, NO_OUTBOXES);
      return EXIT.ok;
    }
    const cells = (text: (one: (typeof data)[number]) => string) => data.map(text);
    sayColumns(io, [
      { title: "OUTBOX", cells: cells(({ name }) => name) },
      { title: "STATE", cells: cells(stateText) },
      { title: "WAITING", cells: cells(({ waiting }) => rowsText(waiting)) },
      { title: "OLDEST", cells: cells(oldestText), rank: 3 },
      { title: "SET ASIDE", cells: cells(({ set_aside: aside }) => rowsText(aside)) },
      { title: "PUBLISHED", cells: cells(({ published }) => grouped(published)), rank: 2 },
      { title: "PLACE", cells: cells(({ place, table }) => `${place}, ${table}`), least: 12, rank: 1 },
    ]);
    for (const outbox of data) if (outbox.trouble !== null) say(io, outboxText(outbox));
    for (const { name, rows, set_aside: aside } of whole) {
      if (rows.length === 0) continue;
      const isAll = rows.length >= (aside ?? 0);
      say(io, `${isAll ? "Set aside" : `The first ${rows.length} set aside`} in ${name}:`);
      for (const { id, type, problem } of rows) say(io, `  ${id}  ${type ?? "no type"}: ${problem}`);
      note(io, `When the cause is gone: webhookd outbox retry ${name}. To delete them: webhookd outbox drop ${name}`);
    }
    return exit;
  },
});
