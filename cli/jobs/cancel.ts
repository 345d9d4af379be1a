import type { Args } from "../commands.ts";
import type { Io } from "../io.ts";
import { steer } from "./steer.ts";

export function run(args: Args<"jobs cancel">, io: Io): Promise<number> {
  return steer(
    "cancelJob",
    args,
    ({ done, matched }) => `is cancelled, ${done} of ${matched} done: the rest stays as it is.`,
    io,
  );
}
