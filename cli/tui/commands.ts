import { command, TARGET } from "../command.ts";

export const TUI = {
  tui: command(
    "tui",
    "Watch and mend deliveries on a dashboard in this terminal",
    {
      screen: {
        type: "enum",
        options: ["events", "deliveries", "endpoints", "failures", "activity"],
        default: "events",
        description: "What is shown first",
      },
      filter: { type: "string", valueHint: "WORDS", description: 'Of that screen, such as "status:failed since:2h"' },
      "read-only": { type: "boolean", description: "Look on; every key that changes something is off" },
      refresh: { type: "string", valueHint: "DURATION", description: "How often news are drawn [250ms]" },
      ascii: { type: "boolean", description: "Draw in ASCII alone; so it does where the locale is not UTF-8" },
      ...TARGET,
    },
    ["webhookd tui", "webhookd tui --screen failures", "webhookd tui --read-only --filter status:failed"],
  ),
} as const;
