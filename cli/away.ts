import { ClientError } from "../src/client/client.ts";
import { Failure } from "./failure.ts";

/** Error codes that go away by themselves, because the daemon is starting, stopping or busy. */
const PASSING = new Set(["storage_unavailable", "shutting_down", "overloaded"]);

/** True if the daemon may be back in a moment: nothing answers, or it is starting, stopping or overloaded. */
export function isAway(error: unknown): boolean {
  const isKnown = error instanceof ClientError || error instanceof Failure;
  return isKnown && (error.failure === "unreachable" || PASSING.has(error.code));
}
