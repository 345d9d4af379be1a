import { CLIENT, command, FILTER, LIST, TENANT } from "../command.ts";

const DELIVERY = { type: "positional", required: true, valueHint: "dlv_…", description: "The delivery" } as const;

export const DELIVERIES = {
  "deliveries list": command(
    "list",
    "List deliveries: one row for each event and endpoint",
    {
      ...FILTER,
      event: { type: "string", valueHint: "evt_…", description: "Of this event" },
      tenant: TENANT,
      ...LIST,
    },
    [
      "webhookd deliveries list --status failed --since 2h",
      "webhookd deliveries list --event evt_01m7w8bx02jeyjr53r14y5rmma --json",
    ],
  ),
  "deliveries show": command(
    "show",
    "Show one delivery with its attempts, and what is to come",
    { delivery: DELIVERY, ...CLIENT },
    ["webhookd deliveries show dlv_01m7w8bx02jeyjr53r14y5rmma"],
  ),
  "deliveries attempt": command(
    "attempt",
    "Make one attempt now, outside the ladder, and say what came back",
    {
      delivery: DELIVERY,
      wait: {
        type: "boolean",
        default: true,
        description: "Wait for it, at most 15 s",
        negativeDescription: "Return as soon as it is owed",
      },
      ...CLIENT,
    },
    ["webhookd deliveries attempt dlv_01m7w8bx02jeyjr53r14y5rmma"],
  ),
} as const;
