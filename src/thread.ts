import { Worker } from "node:worker_threads";
import { asset } from "./bundle.ts";

/** The modules that run on their own threads. scripts/build.ts puts each into a separate file. */
export const THREADS = {
  sender: "./delivery/threads/sender-thread.ts",
  backup: "./store/backup/backup-thread.ts",
  reader: "./store/sqlite/reads/reader-thread.ts",
} as const;

export type ThreadName = keyof typeof THREADS;

/** The file beside the bundle for each thread. Set by scripts/build.ts. */
declare const __THREADS__: Readonly<Record<ThreadName, string>> | undefined;

/**
 * The size of V8's young generation, in MiB. V8 itself would let it grow to 192. A sender at capacity fills whatever it
 * gets: with twice as much, 60 to 100 MiB more are resident at the end of an overrun, and an event costs only a
 * hundredth less.
 */
const YOUNG_MIB = 48;

/**
 * Starts a thread. `workerData` is structured-cloned. A thread that opens SQLite needs the main thread's
 * `nativeBinding` in it. Under `node --watch` the thread's own imports arrive as messages too, so give your messages a
 * `kind`.
 */
export function startThread(name: ThreadName, workerData: unknown): Worker {
  // Otherwise threads would inherit --import and --watch.
  const options = { name, workerData, execArgv: [], resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB } };
  if (typeof __THREADS__ === "undefined") return new Worker(new URL(THREADS[name], import.meta.url), options);
  // Pass the source as text, because a thread cannot load a file from inside the executable.
  const source = asset(__THREADS__[name]).toString();
  return new Worker(source, { ...options, eval: true });
}
