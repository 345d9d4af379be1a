/**
 * Starts work that nobody waits for. It handles what can go wrong by itself, so a rejection is a bug of ours: it ends
 * the process, as any exception that nobody catches, because to go on without that work would be silent, and the next
 * start finds everything on the disk. The API catches failures of requests itself.
 */
export function unawaited(work: PromiseLike<unknown> | null | undefined): void {
  work?.then(undefined, (error: unknown) => {
    queueMicrotask(() => {
      throw error;
    });
  });
}
