/**
 * Starts work that nobody waits for. It handles by itself what can go wrong, so a rejection is our bug. Like any
 * uncaught exception it ends the process, because going on without that work would be silent, and the next start finds
 * everything on the disk. The API catches failures of requests itself.
 */
export function unawaited(work: PromiseLike<unknown> | null | undefined): void {
  work?.then(undefined, (error: unknown) => {
    queueMicrotask(() => {
      throw error;
    });
  });
}
