import { CLIENT, command } from "../command.ts";

export const DOCTOR = {
  doctor: command(
    "doctor",
    "Look for what is wrong: configuration, files, disk, clock, limits, daemon, endpoints; 8 when something is",
    {
      offline: { type: "boolean", description: "Only what can be seen without the daemon and the network" },
      "data-dir": { type: "string", valueHint: "DIR", description: "With --offline: look at this data directory" },
      endpoint: { type: "string", valueHint: "ep_…", description: "Of the endpoints look at this one" },
      "repair-secret": {
        type: "string",
        valueHint: "ep_…",
        description: "Give this endpoint a new signing secret in the place of one that cannot be read",
      },
      ...CLIENT,
    },
    [
      "webhookd doctor",
      "webhookd doctor --offline --json",
      "webhookd doctor --repair-secret ep_06fbqxvx8r4m8q2v6ng0c3kz7t",
    ],
  ),
} as const;
