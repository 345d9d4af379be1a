/** What a library is asked to do, in the process of `library-process.ts`. */

/** One event on its way to one endpoint. */
export interface Job {
  readonly url: string;
  readonly body: string;
}

/** Resolves once the library's database has the job. */
export type Enqueue = (job: Job) => Promise<void>;

/** `send` rejects when the attempt failed: the library tries again, 8 times in all, with growing delays. */
export type OpenQueue = (service: string, send: (job: Job) => Promise<void>) => Promise<Enqueue>;

/** Jobs under way at once: what their documentation calls usual for work that waits for the network. */
export const CONCURRENCY = 100;
export const ATTEMPTS = 8;
