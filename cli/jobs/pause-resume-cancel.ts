import type { Job } from "../../src/client/operations.ts";
import { byId, CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { connectFor } from "../find-id.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { howToResume } from "./job-text.ts";
import { say, sayJson } from "../output/print.ts";
import { grouped } from "../output/words.ts";
import type { TargetArgs } from "../target.ts";

export const jobsPause = command({
  args: { job: byId("job", "Id of the job"), ...CLIENT },
  examples: ["webhookd jobs pause job_01m7w8bx02jeyjr53r14y5rmma"],
  run(args, io) {
    return steer(
      "pauseJob",
      args,
      (job) => {
        const how = job.paused_reason === null ? `To resume it: webhookd jobs resume ${job.id}` : howToResume(job.id);
        return `is paused, ${goneText(job)}. ${how}`;
      },
      io,
    );
  },
});

export const jobsResume = command({
  args: {
    job: byId("job", "Id of the job"),
    canary: { type: "boolean", description: "After a failed canary: try one more delivery per endpoint first" },
    "send-all": { type: "boolean", description: "After a failed canary: send the rest" },
    ...CLIENT,
  },
  examples: [
    "webhookd jobs resume job_01m7w8bx02jeyjr53r14y5rmma",
    "webhookd jobs resume job_01m7w8bx02jeyjr53r14y5rmma --canary",
  ],
  run({ canary, "send-all": all, ...args }, io) {
    if (canary && all) throw usage("--canary and --send-all cannot be combined", "Use one of them.");
    return steer(
      "resumeJob",
      { ...args, ...(canary && { body: { canary } }), ...(all && { body: { send_all: all } }) },
      (job) => `is resumed, ${goneText(job)}. To watch it: webhookd jobs show ${job.id} --watch`,
      io,
    );
  },
});

export const jobsCancel = command({
  args: { job: byId("job", "Id of the job"), ...CLIENT },
  examples: ["webhookd jobs cancel job_01m7w8bx02jeyjr53r14y5rmma"],
  run(args, io) {
    return steer("cancelJob", args, (job) => `is cancelled, ${goneText(job)}; the rest stays as it is.`, io);
  },
});

/** Counts in the same way as the progress bar of `show`. */
function goneText({ done, skipped, matched }: Job): string {
  return `${grouped(done + skipped)} of ${grouped(matched)} done`;
}

type SteerArgs = TargetArgs & { readonly job: string; readonly json: boolean; readonly body?: object };

/** `sentence` describes the new state. */
async function steer(
  operation: "pauseJob" | "resumeJob" | "cancelJob",
  args: SteerArgs,
  sentence: (job: Job) => string,
  io: Io,
): Promise<number> {
  const { client, id } = await connectFor("job", args.job, args, io);
  const job = await client.call(operation, { id, ...(args.body && { body: args.body }) });
  if (args.json) sayJson(io, job);
  else say(io, `${job.id} ${sentence(job)}`);
  return EXIT.ok;
}
