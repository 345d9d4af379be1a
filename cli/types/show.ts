import { typeState, typeWarning } from "../../src/client/type-notes.ts";
import { printable } from "../../src/domain/printable.ts";
import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayFields, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { ORIGIN, TYPE, typeNamed, validationText } from "./text.ts";

export const typesShow = command({
  args: { type: TYPE, ...CLIENT },
  examples: ["webhookd types show budget.exceeded"],
  async run(args, io) {
    const type = await typeNamed(args.type, connect(args, io));
    if (args.json) {
      sayJson(io, type);
      return EXIT.ok;
    }
    const state = typeState(type);
    say(io, state === "-" ? type.name : `${type.name}  ${state}`);
    sayFields(io, [
      ["description", type.description],
      ["group", type.group],
      ["from", ORIGIN[type.defined_in]],
      ["validation", validationText(type.validation)],
      ["state", typeWarning(type)],
      ["data", type.source === "specified" ? "as specified" : "an example; any publisher may send more"],
    ]);
    sayIndented("schema", type.schema, io);
    sayIndented("sample", type.sample, io);
    return EXIT.ok;
  },
});

function sayIndented(title: string, value: object, io: Io): void {
  say(io, title);
  const text = printable(JSON.stringify(value, null, 2), { keepNewlines: true });
  for (const line of text.split("\n")) say(io, `  ${line}`);
}
