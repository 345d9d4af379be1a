import { CLIENT, command, FILTER, LIST } from "../command.ts";

export const ATTEMPTS = {
  "attempts list": command(
    "list",
    "List the attempts made for an event or a delivery, or to an endpoint",
    {
      of: {
        type: "positional",
        required: true,
        valueHint: "ID",
        description: "Of an event (evt_…), a delivery (dlv_…) or an endpoint (ep_…)",
      },
      outcome: {
        type: "enum",
        options: ["succeeded", "failed", "interrupted"],
        description: "To an endpoint: that ended so",
      },
      error: { ...FILTER.error, description: "To an endpoint: that ended so, such as timeout" },
      "status-code": { ...FILTER["status-code"], description: "To an endpoint: that were answered so: 503, or 5xx" },
      since: { ...FILTER.since, description: "To an endpoint: for events received since then, such as 2h" },
      until: { ...FILTER.until, description: "To an endpoint: for events received before then" },
      ...LIST,
    },
    [
      "webhookd attempts list evt_01m7w8bx02jeyjr53r14y5rmma",
      "webhookd attempts list ep_01m7w8bx02jeyjr53r14y5rmma --status-code 5xx --since 2h --json",
    ],
  ),
  "attempts show": command(
    "show",
    "Show one attempt: its times, and all that is kept of the answer",
    { attempt: { type: "positional", required: true, valueHint: "att_…", description: "The attempt" }, ...CLIENT },
    ["webhookd attempts show att_01m7w8bx02jeyjr53r14y5rmma"],
  ),
} as const;
