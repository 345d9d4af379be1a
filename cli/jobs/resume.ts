import type { Args } from "../commands.ts";
import type { Io } from "../io.ts";
import { steer } from "./steer.ts";

export function run(args: Args<"jobs resume">, io: Io): Promise<number> {
  return steer(
    "resumeJob",
    args,
    ({ id, done, matched }) => `goes on, ${done} of ${matched} done. Watch it: webhookd jobs show ${id} --watch.`,
    io,
  );
}
