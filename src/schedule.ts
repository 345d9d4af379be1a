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

/** Chores of one pattern share its timer: to reckon the next second costs more than most of them do in it. */
export function startSchedule(chores: readonly Chore[], log: Log): Schedule {
  const jobs = [...Map.groupBy(chores, ({ pattern }) => pattern)].map(([pattern, due]) => {
    const runs = due.map((chore) => onceAtATime(chore, log));
    return new Cron(pattern, () => {
      for (const run of runs) run();
    });
  });
  return {
    stop() {
      for (const job of jobs) job.stop();
    },
  };
}

function onceAtATime({ name, run }: Chore, log: Log): () => void {
  let running = false;
  return () => {
    if (running) return;
    running = true;
    void (async () => run())()
      .catch((error: unknown) => log.error({ err: error, chore: name }, "a chore failed"))
      .finally(() => {
        running = false;
      });
  };
}
