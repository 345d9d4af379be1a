import { CLIENT, command, FILTER, TENANT } from "../command.ts";

export const FAILURES = {
  failures: command(
    "failures",
    "Show what does not arrive, by endpoint and cause, and what to type about it",
    {
      since: { ...FILTER.since, description: "Only events received since then [7d]" },
      endpoint: FILTER.endpoint,
      tenant: TENANT,
      limit: { type: "string", default: "20", valueHint: "N", description: "At most so many groups" },
      ...CLIENT,
    },
    ["webhookd failures", "webhookd failures --since 2h --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --json"],
  ),
} as const;
