import type { Args } from "../commands.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { readDuration, readId } from "../values.ts";
import { replayMany } from "./many.ts";
import { replayOne } from "./one.ts";
import { readSet } from "./set.ts";

/** One event by its id is replayed at once; whatever may be many is planned, agreed to, and done by a job. */
export async function run(args: Args<"replay">, io: Io): Promise<number> {
  const [event, ...more] = args.events;
  if (event === undefined || event === "-" || more.length > 0 || mayBeMany(args)) {
    if (args.force) {
      const hint = "Many that were delivered are named by --status delivered.";
      throw usage("--force is for one event", hint);
    }
    return replayMany(args, await readSet(args, io), io);
  }
  readId("evt", event);
  const timeoutMs = args.timeout === undefined ? undefined : readDuration(args.timeout, "--timeout");
  return replayOne({ ...args, event, timeoutMs, wait: args.wait ?? true }, io);
}

/** What goes with a plan. `--yes` says nothing about which. */
function mayBeMany(args: Args<"replay">): boolean {
  const { filter, status, type, error, since, until, tenant, expect, pace } = args;
  const texts = [filter, status, type, error, since, until, tenant, expect, pace, args["status-code"]];
  return texts.some((text) => text !== undefined) || args.canary || args["dry-run"] || args["all-failed"];
}
