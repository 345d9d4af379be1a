import { ClientError } from "../src/client/client.ts";
import { Failure } from "./failure.ts";

/** What a daemon that stops or starts answers with, beside nothing at all. */
const PASSING = new Set(["storage_unavailable", "shutting_down", "overloaded"]);

/** Whether the daemon may be back in a moment: nothing answers, or it is starting or stopping. */
export function isAway(error: unknown): boolean {
  const isKnown = error instanceof ClientError || error instanceof Failure;
  return isKnown && (error.failure === "unreachable" || PASSING.has(error.code));
}
