import { CLIENT, command, FILTER, LIST, TENANT, YES } from "../command.ts";

const EVENT = { type: "positional", required: true, valueHint: "evt_…", description: "The event" } as const;

export const EVENTS = {
  "events list": command("list", "List events", { ...FILTER, tenant: TENANT, ...LIST }, [
    "webhookd events list --status failed --since 2h",
    "webhookd events list --type budget.exceeded --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --ids",
  ]),
  "events show": command(
    "show",
    "Show one event: its deliveries, every attempt, and what is to come",
    {
      event: EVENT,
      raw: { type: "boolean", description: "The body as it is signed and sent, byte for byte, and nothing else" },
      force: { type: "boolean", description: "With --raw: onto a terminal, too" },
      curl: { type: "boolean", description: "A script that sends it once, signed with $WEBHOOKD_SECRET" },
      endpoint: { type: "string", valueHint: "ep_…", description: "With --curl: to this endpoint" },
      ...CLIENT,
    },
    [
      "webhookd events show evt_01m7w8bx02jeyjr53r14y5rmma",
      "webhookd events show evt_01m7w8bx02jeyjr53r14y5rmma --raw",
      "webhookd events show evt_01m7w8bx02jeyjr53r14y5rmma --curl --endpoint ep_01m7w8bx02jeyjr53r14y5rmma",
    ],
  ),
  "events send": command(
    "send",
    "Publish an event",
    {
      type: { type: "string", required: true, valueHint: "TYPE", description: "Its event type" },
      data: {
        type: "string",
        required: true,
        valueHint: "@FILE",
        description: "A JSON object, passed on byte for byte: in a file, - for stdin, or as it stands here",
      },
      tenant: { ...TENANT, description: "Whose endpoints get it [default]" },
      "created-at": { type: "string", valueHint: "INSTANT", description: "When it happened [now]" },
      "idempotency-key": { type: "string", valueHint: "KEY", description: "Sent again with it, it is published once" },
      wait: { type: "boolean", description: "Wait for the first attempt of each delivery, at most 15 s" },
      ...CLIENT,
    },
    [
      `webhookd events send --type budget.exceeded --data '{"budget_id":"bud_1"}' --wait`,
      "webhookd events send --type budget.exceeded --data @event.json --idempotency-key 2026-11-20/bud_1",
    ],
  ),
  "events cancel": command(
    "cancel",
    "Send no more of an event: its open deliveries become cancelled, for good",
    {
      event: EVENT,
      endpoint: { type: "string", valueHint: "ep_…", description: "Only to this endpoint" },
      ...YES,
      ...CLIENT,
    },
    ["webhookd events cancel evt_01m7w8bx02jeyjr53r14y5rmma --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --yes"],
  ),
  "events erase": command(
    "erase",
    "Erase an event's data and what receivers answered, for good; it cannot be sent again",
    { event: EVENT, ...YES, ...CLIENT },
    ["webhookd events erase evt_01m7w8bx02jeyjr53r14y5rmma"],
  ),
} as const;
