import { CLIENT, command } from "../command.ts";

export const DOCTOR = {
  doctor: command(
    "doctor",
    "Look for what is wrong: configuration, files, disk, clock, limits, daemon, endpoints; 8 when something is",
    {
      offline: { type: "boolean", description: "Only what can be seen without the daemon and the network" },
      endpoint: { type: "string", valueHint: "ep_…", description: "Of the endpoints look at this one" },
      ...CLIENT,
    },
    ["webhookd doctor", "webhookd doctor --offline --json"],
  ),
} as const;
