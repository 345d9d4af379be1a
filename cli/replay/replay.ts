import { type ArgsOf, CLIENT, command, FILTER, TENANT } from "../command.ts";
import { withWholeIds } from "../endpoints/find.ts";
import { usage } from "../failure.ts";
import { createJob } from "../jobs/create.ts";
import { readDuration } from "../values.ts";
import { replayOne } from "./one.ts";
import { readSet } from "./set.ts";

const ARGS = {
  events: {
    type: "positional",
    variadic: true,
    valueHint: "evt_…",
    description: "Event ids, or the ids that their publisher gave them; - reads event ids from stdin",
  },
  ...FILTER,
  tenant: TENANT,
  "all-failed": { type: "boolean", description: "Replay everything that failed; required if there is no filter" },
  missing: {
    type: "boolean",
    description: "Back-fill: send --endpoint the events of its types that it never got",
  },
  force: { type: "boolean", description: "With one event: replay it even to endpoints that received it" },
  "dry-run": { type: "boolean", description: "Show the plan and do nothing" },
  yes: { type: "boolean", description: "Skip the confirmation; required for more than one without a terminal" },
  expect: { type: "string", valueHint: "N", description: "Refuse unless the plan contains exactly N deliveries" },
  pace: { type: "string", valueHint: "N/s", description: "Send at most this many to each endpoint [20/s]" },
  canary: { type: "boolean", description: "Try one delivery per endpoint first; a failure pauses the job" },
  wait: {
    type: "boolean",
    negatable: true,
    description:
      "For many: wait until all are done (the default after you type the number); for one event: wait for its first attempt (the default)",
    negativeDescription: "Return as soon as it is queued",
  },
  timeout: {
    type: "string",
    valueHint: "DURATION",
    description: "How long to wait [15s for one event, no limit for many]",
  },
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const replay = command({
  args: ARGS,
  examples: [
    "webhookd replay evt_01m7w8bx02jeyjr53r14y5rmma",
    "webhookd replay evt_01m7w8bx02jeyjr53r14y5rmma --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --force --json",
    "webhookd replay --status-code 5xx --since 2h --dry-run",
    "webhookd replay --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --error timeout --canary --pace 5/s --wait",
    "webhookd replay --missing --endpoint acme --since 24h",
    "webhookd replay - --yes --expect 441",
  ],
  /**
   * One event, named by its id, is replayed at once. For a set that may have many deliveries the command shows a plan,
   * asks for confirmation and creates a job.
   */
  async run(typed, io) {
    const args = await withWholeIds(typed, io);
    const [event, ...more] = args.events;
    if (event === undefined || event === "-" || more.length > 0 || mayBeMany(args)) {
      if (args.force) {
        const hint = "To replay many that were delivered, use --status delivered.";
        throw usage("--force needs exactly one event", hint);
      }
      return createJob(args, await readSet(args, io), io);
    }
    const timeoutMs = args.timeout === undefined ? undefined : readDuration(args.timeout, "--timeout");
    return replayOne({ ...args, event, timeoutMs, wait: args.wait ?? true }, io);
  },
});

/** True if an argument needs a plan. `--yes` selects nothing, so it does not count. */
function mayBeMany(args: Args): boolean {
  const { filter, status, type, error, since, until, tenant, expect, pace } = args;
  const texts = [filter, status, type, error, since, until, tenant, expect, pace, args["status-code"]];
  return (
    texts.some((text) => text !== undefined) || args.canary || args["dry-run"] || args["all-failed"] || args.missing
  );
}
