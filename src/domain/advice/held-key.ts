/** Advises how an ordering key that a failed event holds goes on. */
import type { Advice } from "./advice.ts";

export function heldKeyCommands(endpoint: string, event: string): Advice["commands"] {
  return [
    { purpose: "to send it again", line: `webhookd replay ${event} --endpoint ${endpoint}` },
    { purpose: "to skip it", line: `webhookd events cancel ${event} --endpoint ${endpoint}` },
  ];
}
