import { CLIENT, command, FILTER, TENANT } from "../command.ts";

const { until: _, ...FILTERS } = FILTER;

export const TAIL = {
  "events tail": command(
    "tail",
    "Follow what happens to deliveries, a line for each change",
    {
      ...FILTERS,
      tenant: TENANT,
      since: { ...FILTER.since, description: "Begin with what was received since then" },
      lines: {
        type: "string",
        alias: "n",
        valueHint: "N",
        description: "Begin with the latest N deliveries [10, or all of --since up to 1000]",
      },
      attempts: { type: "boolean", description: "Attempts alone, without what is published, cancelled or changed" },
      "exit-after": { type: "string", valueHint: "N", description: "End after so many lines" },
      ...CLIENT,
    },
    [
      "webhookd events tail",
      "webhookd events tail --status failed --since 10m",
      "webhookd events tail --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --attempts -n 0 --exit-after 1 --json",
    ],
  ),
} as const;
