import { CLIENT, command, FILTER, TENANT } from "../command.ts";

export const REPLAY = {
  replay: command(
    "replay",
    "Send what failed once more: one event, or many by a plan that is shown first",
    {
      events: { type: "positional", variadic: true, valueHint: "evt_…", description: "Events; - reads ids from stdin" },
      ...FILTER,
      tenant: TENANT,
      "all-failed": { type: "boolean", description: "Everything that failed; without it nothing is taken unasked" },
      force: { type: "boolean", description: "Of one event, also where it was delivered already" },
      "dry-run": { type: "boolean", description: "Show the plan and do nothing" },
      yes: { type: "boolean", description: "Do not ask for the number; needed for many without a terminal" },
      expect: { type: "string", valueHint: "N", description: "Refuse unless the plan holds so many deliveries" },
      pace: { type: "string", valueHint: "N/s", description: "At most so many to each endpoint [20/s]" },
      canary: { type: "boolean", description: "Try one for each endpoint first; a failure pauses the job" },
      wait: {
        type: "boolean",
        negatable: true,
        description: "Wait until it is done: one event does unasked, for its first attempt",
        negativeDescription: "Return as soon as it is queued",
      },
      timeout: { type: "string", valueHint: "DURATION", description: "Wait no longer: one event 15s, many for ever" },
      ...CLIENT,
    },
    [
      "webhookd replay evt_01m7w8bx02jeyjr53r14y5rmma",
      "webhookd replay evt_01m7w8bx02jeyjr53r14y5rmma --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --force --json",
      "webhookd replay --status-code 5xx --since 2h --dry-run",
      "webhookd replay --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --error timeout --canary --pace 5/s --wait",
      "webhookd replay - --yes --expect 441",
    ],
  ),
} as const;
