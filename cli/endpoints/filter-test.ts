import type { FilterResult } from "../../src/client/operations.ts";
import { CLIENT, command } from "../command.ts";
import { readData } from "../events/data.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { ENDPOINT, findEndpoint } from "./find.ts";
import { FILTER, readFilter } from "./settings.ts";

export const endpointsFilterTest = command({
  args: {
    endpoint: ENDPOINT,
    filter: { ...FILTER, description: "Filter to try, JSON or @FILE [the one that the endpoint has]" },
    event: { type: "string", valueHint: "EVENT", description: "Try it on this event, whose data is still kept" },
    type: { type: "string", valueHint: "TYPE", description: "Or on an event of this type" },
    data: { type: "string", valueHint: "JSON", description: "With --type: its data, JSON, @FILE or - for stdin" },
    tag: { type: "string", multiple: true, valueHint: "TAG", description: "With --type: one of its tags" },
    ...CLIENT,
  },
  examples: [
    "webhookd endpoints filter-test ep_01m7w8bx02jeyjr53r14y5rmma --event evt_06fbqxwbd21qccbzvcs4v8x7pt",
    `webhookd endpoints filter-test ep_01m7w8bx02jeyjr53r14y5rmma --type budget.exceeded --data '{"amount":250}'`,
  ],
  async run(args, io) {
    const { event, type, data, tag } = args;
    const isGiven = type !== undefined && data !== undefined;
    if ((event === undefined) !== isGiven || (event !== undefined && (type ?? data ?? tag) !== undefined))
      throw usage("give --event, or --type and --data");
    const filter = args.filter === undefined ? undefined : await readFilter(args.filter, io);
    const client = connect(args, io);
    const id = await findEndpoint(args.endpoint, client);
    const given = data === undefined ? undefined : (JSON.parse(await readData(data, io)) as object);
    const result = await client.call("testFilter", { id, body: { filter, event, type, data: given, tags: tag } });
    if (args.json) sayJson(io, result);
    else for (const line of lines(id, event ?? "the event", result)) say(io, line);
    return result.matches ? EXIT.ok : EXIT.answer_is_no;
  },
});

function lines(id: string, event: string, { matches, too_large: isTooLarge, decided }: FilterResult): string[] {
  const why = decided.map(({ pointer, path, found, holds }) => {
    const value = found === null ? "has no value" : `is ${found}`;
    return `  ${pointer} ${holds ? "holds" : "fails"}: ${path} ${value}`;
  });
  if (isTooLarge) why.push("  The event has more values than a filter may look at, so it is sent.");
  return [`The filter of ${id} ${matches ? "takes" : "does not take"} ${event}.`, ...why];
}
