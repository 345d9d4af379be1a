import { FILTERS } from "../../src/client/filter.ts";
import type { Delivery } from "../../src/client/operations.ts";
import { answerOf, waitsForTurn, whenOf } from "../attempts/text.ts";
import { command, FILTER, flagOf, FOUND_BY, LIST, TENANT } from "../command.ts";
import { withWholeIds } from "../endpoints/find.ts";
import { byWord, joined } from "../events/by-word.ts";
import { EXIT } from "../exit-code.ts";
import { list, type Field } from "../output/list.ts";
import { connect } from "../target.ts";
import { readQuery } from "../values.ts";
import { age, ago, hostOf, hostsOf } from "../output/words.ts";

function nextOf({ next_attempt_at: next, waits_behind: behind }: Delivery, now: number): string {
  if (behind) return `behind ${behind.event}`;
  if (next === null) return "-";
  return waitsForTurn(next, now) ? `its turn, due ${ago(next, now)}` : whenOf(next, now);
}

/** On a narrow terminal, the columns for the result and the endpoint are dropped last. */
function fieldsWith(hosts: ReadonlyMap<string, string>): readonly Field<Delivery>[] {
  const hostOfIt = ({ endpoint, last_attempt: last }: Delivery) =>
    hosts.get(endpoint) ?? (last === null ? "-" : hostOf(last.url));
  return [
    { name: "id", text: ({ id }) => id },
    { name: "event", rank: 1, text: ({ event }) => event },
    { name: "type", rank: 4, least: 12, text: ({ type }) => type },
    { name: "endpoint", rank: 2, text: ({ endpoint }) => endpoint },
    { name: "host", rank: 9, least: 16, text: hostOfIt },
    { name: "status", text: ({ status }) => status },
    { name: "attempts", title: "TRIES", rank: 6, text: ({ attempts }) => String(attempts) },
    { name: "last_attempt", title: "LAST", text: ({ last_attempt: last }) => (last === null ? "-" : answerOf(last)) },
    {
      name: "next_attempt_at",
      title: "NEXT",
      rank: 7,
      text: nextOf,
      brief: (delivery, now) =>
        nextOf(delivery, now)
          .replace(/ evt_.*$/, "")
          .replace(/(?<=\d\w) \d+\w$|,.*$/, ""),
    },
    {
      name: "received_at",
      title: "RECEIVED",
      rank: 5,
      text: ({ received_at }, now) => ago(received_at, now),
      brief: ({ received_at }, now) => age(received_at, now),
    },
    { name: "tenant", text: ({ tenant }) => tenant, hidden: true },
    { name: "round", text: ({ round }) => String(round), hidden: true },
  ];
}

export const deliveriesList = command({
  args: {
    ...FOUND_BY,
    ...FILTER,
    event: flagOf(FILTERS.event),
    tenant: TENANT,
    ...LIST,
  },
  examples: [
    "webhookd deliveries list --status failed --since 2h",
    "webhookd deliveries list --event evt_01m7w8bx02jeyjr53r14y5rmma --json",
  ],
  async run(args, io) {
    const whole = await withWholeIds({ ...args, filter: joined(args.filter, args.words) }, io);
    const client = connect(args, io);
    const query = await byWord(readQuery(whole, io.now()), client, io);
    const hosts = new Map<string, string>();
    await list(
      { client, operation: "listDeliveries", query },
      args,
      {
        id: ({ id }) => id,
        fields: fieldsWith(hosts),
        first: "webhookd trigger budget.exceeded --all",
        async learn(deliveries) {
          const unsent = deliveries.filter(({ last_attempt: last }) => last === null);
          for (const [endpoint, host] of await hostsOf(client, unsent)) hosts.set(endpoint, host);
        },
      },
      io,
    );
    return EXIT.ok;
  },
});
