/** graphile-worker in the process of `library-process.ts`. */
import { ATTEMPTS, CONCURRENCY, type Job, type OpenQueue } from "./library-queue.ts";
import { packages } from "./program.ts";

/**
 * A running job holds no connection, because jobs are fetched and completed in batches. A connection per job took more
 * CPU.
 */
const CONNECTIONS = 20;

/** The part that we use of a package that is not a dependency of this project. */
interface Graphile {
  run(options: object): Promise<{ addJob(task: string, payload: Job, spec: object): Promise<unknown> }>;
}

export const openGraphile: OpenQueue = async (service, send) => {
  const { run } = packages!("graphile-worker") as Graphile;
  const { addJob } = await run({
    connectionString: service,
    taskList: { send: (payload: unknown) => send(payload as Job) },
    noHandleSignals: true,
    // Use batches, as its page on performance does: many jobs are fetched and completed at a time.
    preset: {
      worker: {
        concurrentJobs: CONCURRENCY,
        maxPoolSize: CONNECTIONS,
        localQueue: { size: CONCURRENCY + 1 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        logger: new (packages!("graphile-worker") as { Logger: new (log: () => () => void) => object }).Logger(
          () => () => {},
        ),
      },
    },
  });
  return async (job) => void (await addJob("send", job, { maxAttempts: ATTEMPTS }));
};
