import type { Args } from "../commands.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { steer } from "./steer.ts";

export function run({ canary, "send-all": all, ...args }: Args<"jobs resume">, io: Io): Promise<number> {
  if (canary && all) throw usage("--canary and --send-all exclude each other", "One of them says how the job goes on.");
  return steer(
    "resumeJob",
    { ...args, ...(canary && { body: { canary } }), ...(all && { body: { send_all: all } }) },
    ({ id, done, matched }) => `goes on, ${done} of ${matched} done. Watch it: webhookd jobs show ${id} --watch.`,
    io,
  );
}
