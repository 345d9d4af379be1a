import type { Job } from "../../src/client/answers.ts";
import type { TargetArgs } from "../target.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { readId } from "../values.ts";

export type SteerArgs = TargetArgs & { readonly job: string; readonly json: boolean; readonly body?: object };

/** `sentence` says what holds now. */
export async function steer(
  operation: "pauseJob" | "resumeJob" | "cancelJob",
  args: SteerArgs,
  sentence: (job: Job) => string,
  io: Io,
): Promise<number> {
  const job = await connect(args, io).call(operation, {
    id: readId("job", args.job),
    ...(args.body && { body: args.body }),
  });
  if (args.json) sayJson(io, job);
  else say(io, `${job.id} ${sentence(job)}`);
  return EXIT.ok;
}
