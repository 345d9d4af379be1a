import type { EventDelivery, EventSummary } from "../../src/client/operations.ts";
import { FILTER_WORDS } from "../../src/client/filter.ts";
import { answerOf } from "../attempts/text.ts";
import { command, FILTER, FOUND_BY, LIST, TENANT } from "../command.ts";
import { withWholeIds } from "../endpoints/find.ts";
import { byWord, joined } from "./by-word.ts";
import { EXIT } from "../exit-code.ts";
import { list, type Field } from "../output/list.ts";
import { connect } from "../target.ts";
import { readQuery } from "../values.ts";
import { age, ago } from "../output/words.ts";

const FIELDS: readonly Field<EventSummary>[] = [
  { name: "id", text: ({ id }) => id },
  { name: "type", rank: 5, least: 12, text: ({ type }) => type },
  { name: "status", text: ({ status }) => status },
  { name: "attempts", title: "TRIES", rank: 1, text: (event) => String(triesOf(event)) },
  { name: "last_attempt", title: "LAST", text: lastAnswerOf },
  { name: "endpoints", rank: 3, text: deliveredOf },
  {
    name: "received_at",
    title: "RECEIVED",
    rank: 4,
    text: ({ received_at }, now) => ago(received_at, now),
    brief: ({ received_at }, now) => age(received_at, now),
  },
  { name: "created_at", title: "CREATED", text: ({ created_at }) => created_at, hidden: true },
  { name: "publisher_id", text: ({ publisher_id: id }) => id ?? "", hidden: true },
  { name: "tags", text: ({ tags }) => tags.join(","), hidden: true },
  { name: "tenant", text: ({ tenant }) => tenant, hidden: true },
  { name: "test", text: ({ test }) => String(test), hidden: true },
];

const WORDS = FILTER_WORDS.filter((word) => word !== "event");

export const eventsList = command({
  args: { ...FOUND_BY, ...FILTER, tenant: TENANT, ...LIST },
  examples: [
    "webhookd events list data.customer_id:cus_123 --since 1h",
    "webhookd events list acme",
    "webhookd events list tag:customer:1042 status:failed",
    "webhookd events list --status failed --since 2h",
    "webhookd events list --type budget.exceeded --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --ids",
  ],
  async run(args, io) {
    const whole = await withWholeIds({ ...args, filter: joined(args.filter, args.words) }, io);
    const client = connect(args, io);
    const filter = await byWord(readQuery(whole, io.now(), WORDS), client, io);
    // The table shows each event's deliveries. Programs get an event as any other list returns it.
    const query = args.json || args.ids ? filter : { ...filter, include: "deliveries" };
    const asked = { client, operation: "listEvents", query } as const;
    await list(
      asked,
      args,
      { id: ({ id }) => id, fields: FIELDS, first: "webhookd trigger budget.exceeded --all" },
      io,
    );
    return EXIT.ok;
  },
});

const deliveriesOf = ({ deliveries }: EventSummary): readonly EventDelivery[] => deliveries ?? [];

function triesOf(event: EventSummary): number {
  return deliveriesOf(event).reduce((sum, { attempts }) => sum + attempts, 0);
}

function lastAnswerOf(event: EventSummary): string {
  const attempts = deliveriesOf(event).flatMap(({ last_attempt: last }) => (last === null ? [] : [last]));
  const [latest] = attempts.sort((one, other) => (one.started_at < other.started_at ? 1 : -1));
  return latest === undefined ? "-" : answerOf(latest);
}

/** Returns `1 of 2` if one of two deliveries is delivered, or `1+ of 120` if not all of them are known. */
function deliveredOf(event: EventSummary): string {
  const deliveries = deliveriesOf(event);
  const delivered = deliveries.filter(({ status }) => status === "delivered").length;
  return event.more_deliveries ? `${delivered}+ of ${event.delivery_count}` : `${delivered} of ${deliveries.length}`;
}
