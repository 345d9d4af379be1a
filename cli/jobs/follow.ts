/**
 * Follows a job. The job runs in the daemon, so this only watches it, even across restarts, and may stop at any time.
 */
import type { Job } from "../../src/client/operations.ts";
import type { Client } from "../../src/client/client.ts";
import { isAway } from "../away.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { glyphsOf } from "../output/glyphs.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../output/print.ts";
import { Progress } from "../output/progress.ts";
import { progressOf, resultOf } from "./job-text.ts";

const POLL_MS = 500;
/** A restart takes seconds; an upgrade takes minutes. */
const AWAY_MS = 300_000;

export interface FollowOptions {
  /** Null waits without a limit. */
  readonly timeoutMs: number | null;
  readonly json: boolean;
}

/** Shows the job's progress and its result. Resolves to the exit code. */
export async function followJob(client: Client, job: Job, { timeoutMs, json }: FollowOptions, io: Io): Promise<number> {
  const progress = new Progress(io);
  const glyphs = glyphsOf(io);
  let shown = "";
  const look = (seen: Job) => {
    const text = JSON.stringify(seen);
    if (json && text !== shown) sayJson(io, { kind: "result", ...seen });
    if (!json) progress.show(progressOf(seen, glyphs));
    shown = text;
  };
  let stop = () => {};
  const interrupted = new Promise<"SIGINT" | "SIGTERM">((resolve) => (stop = io.onSignal(resolve)));
  try {
    look(job);
    const end = await Promise.race([interrupted, untilOver(client, job, { look, progress, timeoutMs }, io)]);
    progress.end();
    if (typeof end !== "string") return over(end, json, io);
    note(io, `${job.id} continues without this command. ${howToSteer(job.id)}`);
    return end === "SIGINT" ? EXIT.sigint : EXIT.sigterm;
  } finally {
    stop();
    progress.end();
  }
}

export function howToSteer(id: string): string {
  return `To watch it: webhookd jobs show ${id} --watch. To pause it: webhookd jobs pause ${id}. To stop it for good: webhookd jobs cancel ${id}.`;
}

interface Looking {
  readonly look: (job: Job) => void;
  readonly progress: Progress;
  readonly timeoutMs: number | null;
}

/** Resolves to the job when it has ended, when it has paused itself and needs a person, or when the time is up. */
async function untilOver(client: Client, first: Job, { look, progress, timeoutMs }: Looking, io: Io): Promise<Job> {
  const end = timeoutMs === null ? Number.POSITIVE_INFINITY : io.monotonic() + timeoutMs;
  let job = first;
  let awaySince: number | null = null;
  while (!isOver(job) && io.monotonic() < end) {
    await io.sleep(Math.min(POLL_MS, Math.max(1, end - io.monotonic())));
    try {
      job = await client.call("getJob", { id: job.id });
      if (awaySince !== null) progress.say("-- the daemon is back --");
      awaySince = null;
      look(job);
    } catch (error) {
      if (!isAway(error)) throw error;
      if (awaySince === null) {
        progress.say(`-- ${(error as Error).message}; ${job.id} continues once it is back --`);
        awaySince = io.monotonic();
      }
      if (io.monotonic() > awaySince + AWAY_MS) throw error;
    }
  }
  return job;
}

function isOver({ status, paused_reason: pausedItself }: Job): boolean {
  return status === "done" || status === "cancelled" || (status === "paused" && pausedItself !== null);
}

function over(job: Job, json: boolean, io: Io): number {
  if (!isOver(job)) {
    const message = `${job.id} is not done yet: ${job.done} of ${job.matched}`;
    throw new Failure("wait_ran_out", message, howToSteer(job.id));
  }
  if (json) sayJson(io, { kind: "done", ...job });
  else for (const line of resultOf(job)) say(io, line);
  // A cancellation skips deliveries that were delivered in the meantime. They are not open any more either.
  const good = job.action === "cancel" ? job.done + job.skipped : job.delivered;
  return good === job.matched ? EXIT.ok : EXIT.partly_done;
}
