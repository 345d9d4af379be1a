/** The interface to a library in the process of `library-process.ts`. */

/** One event for one endpoint. */
export interface Job {
  readonly url: string;
  readonly body: string;
}

/** Resolves once the library's database has the job. */
export type Enqueue = (job: Job) => Promise<void>;

/** `send` rejects if the attempt failed. The library then tries again, up to 8 times in total, with growing delays. */
export type OpenQueue = (service: string, send: (job: Job) => Promise<void>) => Promise<Enqueue>;

/** The number of concurrent jobs that their documentation considers usual for work that waits for the network. */
export const CONCURRENCY = 100;
export const ATTEMPTS = 8;
