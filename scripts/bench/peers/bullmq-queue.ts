/** BullMQ in the process of `library-process.ts`. */
import { ATTEMPTS, CONCURRENCY, type Job, type OpenQueue } from "./library-queue.ts";
import { packages } from "./program.ts";

/** The part that we use of a package that is not a dependency of this project. */
interface Bullmq {
  readonly Queue: new (
    name: string,
    options: object,
  ) => { add(name: string, job: Job): Promise<unknown>; on(event: "error", listener: () => void): void };
  readonly Worker: new (
    name: string,
    work: (job: { readonly data: Job }) => Promise<void>,
    options: object,
  ) => { waitUntilReady(): Promise<unknown>; on(event: "error", listener: () => void): void };
}

export const openBullmq: OpenQueue = async (service, send) => {
  const { Queue, Worker } = packages!("bullmq") as Bullmq;
  const { hostname: host, port } = new URL(service);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  // Remove finished jobs: if they were kept, as is the default, Redis would grow for ever.
  const defaultJobOptions = {
    attempts: ATTEMPTS,
    backoff: { type: "exponential", delay: 2000 },
    removeOnComplete: true,
    removeOnFail: 1000,
  };
  const queue = new Queue("webhooks", { connection, defaultJobOptions });
  queue.on("error", () => {});
  const worker = new Worker("webhooks", ({ data }) => send(data), { connection, concurrency: CONCURRENCY });
  worker.on("error", () => {});
  await worker.waitUntilReady();
  return async (job) => void (await queue.add("send", job));
};
