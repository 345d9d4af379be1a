import type { Client } from "../src/client/client.ts";
import { whyNone } from "./daemon/halts.ts";
import type { Io } from "./io.ts";

/** A receiver has 10 s, and the daemon needs a moment to start the attempt and to record the result. */
export const ATTEMPT_WAIT_MS = 15_000;
const POLL_MS = 100;
/** Most attempts take less than this. After that, check each second whether attempts are made at all. */
const LOOK_AFTER_MS = 250;
const LOOK_MS = 1000;

export interface Waiting<T> {
  readonly client: Client;
  readonly first: T;
  readonly ask: () => Promise<T>;
  readonly waitMs: number;
}

export interface Waited<T> {
  readonly response: T;
  /** The reason that no attempt will be made, or null if unknown. */
  readonly why: string | null;
}

/**
 * Polls until `isDone` is true. Resolves to the last response when the time is up, or when the daemon says that it
 * makes no attempts now.
 */
export async function waitForAttempts<T>(
  isDone: (response: T) => boolean,
  { client, first, ask, waitMs }: Waiting<T>,
  io: Io,
): Promise<Waited<T>> {
  const end = io.monotonic() + waitMs;
  let lookAt = io.monotonic() + LOOK_AFTER_MS;
  let response = first;
  while (!isDone(response) && io.monotonic() < end) {
    await io.sleep(POLL_MS);
    response = await ask();
    if (isDone(response) || io.monotonic() < lookAt) continue;
    lookAt = io.monotonic() + LOOK_MS;
    const why = await whyNone(client);
    if (why !== null) return { response: response, why };
  }
  return { response: response, why: null };
}

/** Describes an attempt that was not made while the command waited. */
export function inVain(why: string | null, waited: string): string {
  return why === null
    ? `No answer within ${waited}; the daemon keeps trying without this command.`
    : `Not attempted yet: ${why}.`;
}
