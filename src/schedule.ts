/** Recurring work, by cron pattern. A run that is still going is not started a second time. */
import { Cron } from "croner";
import type { Log } from "./log.ts";

export interface Chore {
  readonly name: string;
  /** Seconds first: `* * * * * *` is each second. */
  readonly pattern: string;
  readonly run: () => void | Promise<void>;
}

export interface Schedule {
  stop(): void;
}

export function startSchedule(chores: readonly Chore[], log: Log): Schedule {
  const jobs = chores.map(
    ({ name, pattern, run }) =>
      new Cron(
        pattern,
        { name, protect: true, catch: (error) => log.error({ err: error, chore: name }, "a chore failed") },
        run,
      ),
  );
  return {
    stop() {
      for (const job of jobs) job.stop();
    },
  };
}
