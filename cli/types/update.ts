import type { EventType } from "../../src/client/operations.ts";
import { CLIENT, command } from "../command.ts";
import { fieldText } from "../endpoints/text.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { readSettings, SETTINGS } from "./settings.ts";
import { settingsOf, TYPE, typeNamed } from "./text.ts";

export const typesUpdate = command({
  args: {
    type: TYPE,
    ...SETTINGS,
    archived: {
      type: "boolean",
      negatable: true,
      description: "Take it out of what endpoints may choose",
      negativeDescription: "Let endpoints choose it again",
    },
    ...CLIENT,
  },
  examples: [
    "webhookd types update order.created --deprecated --sunset 2027-06-30",
    "webhookd types update order.created --schema @order.schema.json --validation warn",
    "webhookd types update order.created --no-archived",
  ],
  async run(args, io) {
    const given = await readSettings(args, io);
    const { archived } = args;
    const change = { ...given, ...(archived !== undefined && { archived }) };
    if (Object.keys(change).length === 0) throw usage("there is nothing to change", "See --help for the flags.");
    const client = connect(args, io);
    const before = await typeNamed(args.type, client);
    // A type that is no longer deprecated has no sunset.
    const sunset = args.deprecated === false ? { sunset_at: null } : {};
    const body = { ...settingsOf(before), ...sunset, ...change };
    const after = await client.call("putEventType", { id: before.name, body });
    if (args.json) sayJson(io, after);
    else for (const line of changes(before, after)) say(io, line);
    return EXIT.ok;
  },
});

/** Lists only the fields that differ. A schema or a sample is too long for a line. */
function changes(before: EventType, after: EventType): string[] {
  const lines = (Object.keys(after) as (keyof EventType)[])
    .filter((field) => field !== "deprecated_at")
    .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .map((field) =>
      typeof after[field] === "object" && after[field] !== null
        ? `  ${field}: replaced`
        : `  ${field}: ${fieldText(before[field])} -> ${fieldText(after[field])}`,
    );
  return lines.length === 0 ? [`${after.name} is unchanged.`] : [`${after.name} changed:`, ...lines];
}
