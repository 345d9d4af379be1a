import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { say, sayJson } from "../output/print.ts";
import { sayColumns } from "../output/table.ts";
import { age, ago, grouped } from "../output/words.ts";
import { connect } from "../target.ts";
import { lagText, stateText, NO_NODES } from "./text.ts";

export const nodesList = command({
  args: CLIENT,
  examples: ["webhookd nodes list"],
  async run(args, io) {
    const { data } = await connect(args, io).call("listNodes");
    if (args.json) sayJson(io, { data });
    else if (data.length === 0) say(io, NO_NODES);
    else {
      const now = io.now();
      const cells = (text: (one: (typeof data)[number]) => string) => data.map(text);
      sayColumns(io, [
        { title: "NODE", cells: cells((one) => `${one.name}${one.this ? " (answers)" : ""}`), least: 16 },
        { title: "STATE", cells: cells((one) => stateText(one)) },
        { title: "ENDPOINTS", cells: cells(({ endpoints }) => grouped(endpoints)) },
        { title: "SLOTS", cells: cells(({ slots }) => grouped(slots)), rank: 4 },
        { title: "ON THE WIRE", cells: cells((one) => grouped(one.in_flight)), rank: 5 },
        { title: "BEHIND", cells: cells((one) => lagText(one, now)) },
        { title: "RENEWED", cells: cells((one) => ago(one.renewed_at, now)), rank: 6 },
        { title: "UP", cells: cells(({ since }) => age(since, now)), rank: 3 },
        { title: "VERSION", cells: cells(({ version }) => version), rank: 2 },
        { title: "HOST", cells: cells(({ host, pid }) => `${host}, process ${pid}`), rank: 7 },
      ]);
    }
    return EXIT.ok;
  },
});
