import { CLIENT, command } from "../command.ts";

export const UPKEEP = {
  backup: command("backup", "Make a backup on the daemon's host, in its [backup] dir", CLIENT, ["webhookd backup"]),
} as const;
