import type { Args } from "../commands.ts";
import type { Io } from "../io.ts";
import { steer } from "./steer.ts";

export function run(args: Args<"jobs pause">, io: Io): Promise<number> {
  return steer(
    "pauseJob",
    args,
    ({ id, done, matched }) => `is paused, ${done} of ${matched} done. Go on: webhookd jobs resume ${id}.`,
    io,
  );
}
