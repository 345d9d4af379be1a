import type { Endpoint } from "../../src/client/operations.ts";
import type { Client } from "../../src/client/client.ts";
import { type ArgsOf, CLIENT, command } from "../command.ts";
import { ENDPOINT, findEndpoint } from "./find.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { noteLines, readTypes, suggesting } from "./event-types.ts";
import { readSettings, SETTINGS } from "./settings.ts";
import { authText } from "../../src/client/auth-text.ts";
import { fieldText } from "./text.ts";

const ARGS = {
  endpoint: ENDPOINT,
  to: { type: "string", valueHint: "URL", description: "New URL; deliveries that are already waiting go there too" },
  events: {
    type: "string",
    valueHint: "TYPE,…",
    description: "Replace its event types with these, or all: every type of today",
  },
  "add-event": { type: "string", multiple: true, valueHint: "TYPE", description: "Add this event type or pattern" },
  "remove-event": {
    type: "string",
    multiple: true,
    valueHint: "TYPE",
    description: "Remove this event type or pattern",
  },
  ...SETTINGS,
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const endpointsUpdate = command({
  args: ARGS,
  examples: [
    "webhookd endpoints update ep_01m7w8bx02jeyjr53r14y5rmma --to https://example.com/new --rate 20",
    "webhookd endpoints update ep_01m7w8bx02jeyjr53r14y5rmma --add-event goal.achieved --remove-event budget.exceeded",
  ],
  async run(args, io) {
    const settings = await readSettings(args, io);
    const added = args["add-event"];
    const removed = args["remove-event"];
    if (args.events !== undefined && added.length + removed.length > 0) {
      throw usage("--events replaces all event types", "Use either --events, or --add-event and --remove-event.");
    }
    const named = args.to !== undefined || args.events !== undefined || added.length + removed.length > 0;
    if (!named && Object.keys(settings).length === 0)
      throw usage(
        "there is nothing to change",
        args.url === undefined
          ? "See --help for the flags."
          : "--url is the daemon's address; the new one is --to URL.",
      );
    const client = connect(args, io);
    const id = await findEndpoint(args.endpoint, client);
    const before = await client.call("getEndpoint", { id });
    const events = await eventsOf(before, args, client);
    const body = {
      ...settings,
      ...(args.to !== undefined && { url: args.to }),
      ...(events !== undefined && { events }),
    };
    const after = await suggesting(events ?? [], client, () => client.call("changeEndpoint", { id, body }));
    if (args.json) sayJson(io, after);
    else {
      for (const line of changes(before, after, settings)) say(io, line);
      for (const line of events === undefined ? [] : await noteLines(after.events, client)) say(io, `  ${line}`);
    }
    return EXIT.ok;
  },
});

async function eventsOf(before: Endpoint, args: Args, client: Client) {
  if (args.events !== undefined) return readTypes(args.events, client);
  const { "add-event": added, "remove-event": removed } = args;
  if (added.length + removed.length === 0) return undefined;
  const missing = removed.find((type) => !before.events.includes(type));
  if (missing !== undefined)
    throw usage(`${before.id} did not choose ${missing}`, `It chose ${before.events.join(", ")}.`);
  return [...new Set([...before.events, ...added])].filter((type) => !removed.includes(type));
}

/** Lists only the fields that differ. */
function changes(before: Endpoint, after: Endpoint, given: Readonly<Record<string, unknown>>): string[] {
  const lines = (Object.keys(after) as (keyof Endpoint)[])
    .filter((field) => !["updated_at", "headers", "auth", "ca"].includes(field))
    .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .map((field) => `  ${field}: ${fieldText(before[field])} -> ${fieldText(after[field])}`);
  // Secrets are masked, so a change of one cannot be seen.
  if ("auth" in given) lines.push(`  auth: now ${authText(after) ?? "-"}`);
  if ("ca" in given) lines.push(`  ca: now ${after.ca === null ? "the public authorities" : "its own authorities"}`);
  if ("headers" in given) lines.push(`  headers: now ${fieldText(Object.keys(after.headers))}`);
  return lines.length === 0 ? [`${after.id} is unchanged.`] : [`${after.id} changed:`, ...lines];
}
