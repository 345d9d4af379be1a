import { CLIENT, command } from "../command.ts";

export const REPLAY = {
  replay: command(
    "replay",
    "Send an event that failed once more, and say what came back",
    {
      event: { type: "positional", required: true, valueHint: "evt_…", description: "The event" },
      endpoint: { type: "string", valueHint: "ep_…", description: "Only to this endpoint" },
      force: { type: "boolean", description: "Also where it was delivered already" },
      wait: {
        type: "boolean",
        default: true,
        description: "Wait for the first attempt, at most 15 s",
        negativeDescription: "Return as soon as the event is queued",
      },
      ...CLIENT,
    },
    [
      "webhookd replay evt_01m7w8bx02jeyjr53r14y5rmma",
      "webhookd replay evt_01m7w8bx02jeyjr53r14y5rmma --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --force --json",
    ],
  ),
} as const;
