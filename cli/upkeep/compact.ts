import type { Compacted } from "../../src/offline.ts";
import { command, CONFIG, JSON_FLAG } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { say, sayJson } from "../output/print.ts";
import { size } from "../output/words.ts";
import { configOf, DATA_DIR } from "./data-directory.ts";

export const compact = command({
  args: { "data-dir": DATA_DIR, json: JSON_FLAG, config: CONFIG },
  examples: ["webhookd compact", "webhookd compact --data-dir /var/lib/webhookd"],
  async run(args, io) {
    const config = configOf(args, io);
    const { compact } = await import("../../src/offline.ts");
    const compacted = await compact(config);
    if (args.json) sayJson(io, { bytes_before: compacted.bytesBefore, bytes_after: compacted.bytesAfter });
    else say(io, lineOf(compacted));
    return EXIT.ok;
  },
});

function lineOf({ bytesBefore, bytesAfter }: Compacted): string {
  return `The database takes up ${size(bytesAfter)} on the disk; before, it took up ${size(bytesBefore)}.`;
}
