import type { Io } from "./io.ts";

/** A receiver has 10 s, and the daemon a moment to start and to write down what came back. */
export const ATTEMPT_WAIT_MS = 15_000;
const POLL_MS = 100;

/** Asks again until what it is told `isDone`: that, or the last there was when the time is over. */
export async function waitUntil<T>(
  isDone: (told: T) => boolean,
  { first, ask, waitMs }: { readonly first: T; readonly ask: () => Promise<T>; readonly waitMs: number },
  io: Io,
): Promise<T> {
  const end = io.monotonic() + waitMs;
  let told = first;
  while (!isDone(told) && io.monotonic() < end) {
    await io.sleep(POLL_MS);
    told = await ask();
  }
  return told;
}
