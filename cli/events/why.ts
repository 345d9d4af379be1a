import type { Explanation } from "../../src/client/operations.ts";
import { byId, CLIENT, command } from "../command.ts";
import { ENDPOINT, findEndpoint } from "../endpoints/find.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayFields, sayJson } from "../output/print.ts";
import { eventMeant } from "./by-word.ts";

export const why = command({
  args: {
    event: byId("evt", "Id of the event, or the id that its publisher gave it"),
    endpoint: ENDPOINT,
    ...CLIENT,
  },
  examples: ["webhookd why evt_01m7w8bx02jeyjr53r14y5rmma ep_01m7w8bx02jeyjr53r14y5rmma"],
  async run(args, io) {
    const { client, id } = await eventMeant(args.event, args, io);
    const endpoint = await findEndpoint(args.endpoint, client);
    const answer = await client.call("explainEvent", { id, query: { endpoint } });
    if (args.json) sayJson(io, answer);
    else show(answer, io);
    return answer.reason === "delivered" ? EXIT.ok : EXIT.answer_is_no;
  },
});

function show({ sentence, delivery, choice }: Explanation, io: Io): void {
  say(io, sentence);
  if (delivery !== null) say(io, `  for all attempts: webhookd deliveries show ${delivery}`);
  if (choice === null) return;
  sayFields(io, [
    ["chosen at", choice.since],
    ["events", choice.events.join(", ")],
    ["filter", choice.filter && JSON.stringify(choice.filter)],
    ["enabled", choice.enabled ? "yes" : `no, and it would ${choice.when_disabled} what it misses`],
  ]);
}
