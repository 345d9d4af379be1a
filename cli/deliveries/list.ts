import type { Delivery } from "../../src/client/operations.ts";
import { answerOf, whenOf } from "../attempts/text.ts";
import { command, FILTER, LIST, TENANT } from "../command.ts";
import { withEndpoint } from "../endpoints/find.ts";
import { EXIT } from "../exit-code.ts";
import { list, type Field } from "../output/list.ts";
import { connect } from "../target.ts";
import { readQuery } from "../values.ts";
import { ago } from "../output/words.ts";

const FIELDS: readonly Field<Delivery>[] = [
  { name: "id", text: ({ id }) => id },
  { name: "event", text: ({ event }) => event },
  { name: "type", text: ({ type }) => type },
  { name: "endpoint", text: ({ endpoint }) => endpoint },
  { name: "status", text: ({ status }) => status },
  { name: "attempts", title: "TRIES", text: ({ attempts }) => String(attempts) },
  { name: "last_attempt", title: "LAST", text: ({ last_attempt: last }) => (last === null ? "-" : answerOf(last)) },
  {
    name: "next_attempt_at",
    title: "NEXT",
    text: ({ next_attempt_at: next }, now) => (next === null ? "-" : whenOf(next, now)),
  },
  { name: "received_at", title: "RECEIVED", text: ({ received_at }, now) => ago(received_at, now) },
  { name: "tenant", text: ({ tenant }) => tenant, hidden: true },
  { name: "round", text: ({ round }) => String(round), hidden: true },
];

export const deliveriesList = command({
  args: {
    ...FILTER,
    event: { type: "string", valueHint: "evt_…", description: "Only this event" },
    tenant: TENANT,
    ...LIST,
  },
  examples: [
    "webhookd deliveries list --status failed --since 2h",
    "webhookd deliveries list --event evt_01m7w8bx02jeyjr53r14y5rmma --json",
  ],
  async run(args, io) {
    const query = readQuery(await withEndpoint(args, io), io.now());
    const asked = { client: connect(args, io), operation: "listDeliveries", query } as const;
    await list(
      asked,
      args,
      { id: ({ id }) => id, fields: FIELDS, first: "webhookd trigger budget.exceeded --all" },
      io,
    );
    return EXIT.ok;
  },
});
