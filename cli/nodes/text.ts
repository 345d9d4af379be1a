import type { Node } from "../../src/client/operations.ts";
import { age } from "../output/words.ts";

export const NO_NODES =
  "This daemon is not a node: no other process sends from its store. To run several, see [data] nodes in the configuration and docs/cluster.md.";

export function stateText({ lost, draining, not_sending: halts, slots }: Node): string {
  if (lost) return "LOST";
  if (draining) return slots > 0 ? "draining" : "drained";
  const first = halts[0];
  if (first === "operator") return "paused";
  return first === undefined ? "sending" : `NOT SENDING (${first})`;
}

/** Returns how long the node's oldest due delivery has waited. */
export function lagText({ oldest_due_at: oldest }: Node, now: number): string {
  return oldest === null ? "-" : age(oldest, now);
}
