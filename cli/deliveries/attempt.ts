import type { Delivery } from "../../src/client/operations.ts";
import { DELIVERY_WORDS } from "../../src/client/filter.ts";
import type { Client } from "../../src/client/client.ts";
import { lastResultOf } from "../attempts/text.ts";
import { type ArgsOf, byId, CLIENT, command, FILTER, TENANT } from "../command.ts";
import { withWholeIds } from "../endpoints/find.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { connectFor } from "../find-id.ts";
import type { Io } from "../io.ts";
import { createJob } from "../jobs/create.ts";
import type { Undertaking } from "../jobs/plan.ts";
import { say, sayJson } from "../output/print.ts";
import { readQuery } from "../values.ts";
import { ATTEMPT_WAIT_MS, inVain, waitForAttempts, type Waited } from "../wait.ts";

const ARGS = {
  delivery: { ...byId("dlv", "Id of one delivery; without it, a filter selects many"), required: false },
  ...FILTER,
  status: { ...FILTER.status, description: "For many: pending (the default) or failed" },
  tenant: TENANT,
  "all-pending": { type: "boolean", description: "Try everything that is pending; required if there is no filter" },
  "dry-run": { type: "boolean", description: "For many: show the plan and do nothing" },
  yes: { type: "boolean", description: "Skip the confirmation; required for more than one without a terminal" },
  expect: { type: "string", valueHint: "N", description: "Refuse unless the plan contains exactly N deliveries" },
  pace: { type: "string", valueHint: "N/s", description: "For many: try at most this many at each endpoint [20/s]" },
  canary: { type: "boolean", description: "For many: try one per endpoint first; a failure pauses the job" },
  wait: {
    type: "boolean",
    negatable: true,
    description:
      "For many: wait until all are done (the default after you type the number); for one: wait up to 15 s for the answer",
    negativeDescription: "Return as soon as it is queued",
  },
  timeout: { type: "string", valueHint: "DURATION", description: "With --wait, for many: how long [no limit]" },
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const deliveriesAttempt = command({
  args: ARGS,
  examples: [
    "webhookd deliveries attempt dlv_01m7w8bx02jeyjr53r14y5rmma",
    "webhookd deliveries attempt --endpoint acme --canary",
    "webhookd deliveries attempt --status-code 5xx --since 2h --dry-run",
  ],
  /**
   * A single delivery, named by its id, is attempted at once. For several deliveries the command shows a plan, asks for
   * confirmation and creates a job. Neither changes a ladder.
   */
  async run(typed, io) {
    const args = await withWholeIds(typed, io);
    if (args.delivery === undefined) return createJob(args, readMany(args, io), io);
    requireAlone(args);
    return attemptOne(args.delivery, args, io);
  },
});

async function attemptOne(delivery: string, args: Args, io: Io): Promise<number> {
  const { client, id } = await connectFor("dlv", delivery, args, io);
  const isAwaited = args.wait ?? true;
  const before = await client.call("attemptDelivery", { id });
  const { response: after, why } = isAwaited ? await made(client, before, io) : { response: before, why: null };
  const exit = isAwaited ? exitOf(before, after) : EXIT.ok;
  if (args.json) sayJson(io, after);
  else if (exit === EXIT.wait_ran_out) say(io, `${after.id}  ${inVain(why, "15s")}`);
  else say(io, `${after.id}  ${isAwaited ? lastResultOf(after, io.now()) : "queued for an attempt now"}`);
  return exit;
}

/** Throws a Failure if an id is combined with flags that select or plan many deliveries. */
function requireAlone(args: Args): void {
  const { filter, type, endpoint, status, error, since, until, tenant, expect, pace, timeout } = args;
  const texts = [filter, type, endpoint, status, error, since, until, tenant, expect, pace, timeout];
  const flags = args["all-pending"] || args["dry-run"] || args.canary;
  if (!flags && [...texts, args["status-code"]].every((text) => text === undefined)) return;
  throw usage(
    "a delivery's id cannot be combined with filters, or with flags for many deliveries",
    "Use one or the other.",
  );
}

/** Throws a Failure if nothing is selected, because the selection must be explicit. */
function readMany(args: Args, io: Io): Undertaking {
  const { tenant, event, test, status, ...rest } = readQuery(args, io.now(), DELIVERY_WORDS);
  const isFiltered = [tenant, event, test, status, ...Object.values(rest)].some((word) => word !== undefined);
  if (args["all-pending"] === isFiltered) {
    throw isFiltered
      ? usage("--all-pending cannot be combined with filters", "Use one or the other.")
      : usage(
          "nothing was selected: give a delivery's id, or a filter",
          "Or use --all-pending for everything that is waiting.",
        );
  }
  if (status !== undefined && status !== "pending" && status !== "failed") {
    throw usage(
      `--status ${status} cannot be tried`,
      "Use pending or failed; held deliveries are sent when their endpoint is enabled.",
    );
  }
  const filter = {
    ...rest,
    ...(status !== undefined && { status }),
    ...(test !== undefined && { test: test === "true" }),
    ...(event !== undefined && { events: [event] }),
  };
  return { action: "attempt_now", filter, tenant };
}

function made(client: Client, before: Delivery, io: Io): Promise<Waited<Delivery>> {
  const ask = () => client.call("getDelivery", { id: before.id });
  const isDone = (delivery: Delivery) => isMade(before, delivery);
  return waitForAttempts(isDone, { client, first: before, ask, waitMs: ATTEMPT_WAIT_MS }, io);
}

/** True if the attempt was made or is not needed: if one that is already in flight delivers, no other is made. */
function isMade(before: Delivery, { status, last_attempt: last }: Delivery): boolean {
  if (status !== "pending" && status !== before.status) return true;
  return last !== null && last.trigger === "manual" && last.number > (before.last_attempt?.number ?? 0);
}

function exitOf(before: Delivery, after: Delivery): number {
  if (!isMade(before, after)) return EXIT.wait_ran_out;
  return after.status === "delivered" ? EXIT.ok : EXIT.answer_is_no;
}
