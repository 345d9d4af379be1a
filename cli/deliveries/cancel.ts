import { DELIVERY_WORDS } from "../../src/client/filter.ts";
import { CLIENT, command, FILTER, TENANT } from "../command.ts";
import { withWholeIds } from "../endpoints/find.ts";
import { usage } from "../failure.ts";
import { createJob } from "../jobs/create.ts";
import { readQuery } from "../values.ts";

export const deliveriesCancel = command({
  args: {
    ...FILTER,
    status: { ...FILTER.status, description: "Only pending, or only held" },
    tenant: TENANT,
    "all-open": { type: "boolean", description: "Cancel everything that is open; required if there is no filter" },
    "dry-run": { type: "boolean", description: "Show the plan and do nothing" },
    yes: { type: "boolean", description: "Skip the confirmation; required for more than one without a terminal" },
    expect: { type: "string", valueHint: "N", description: "Refuse unless the plan contains exactly N deliveries" },
    wait: {
      type: "boolean",
      negatable: true,
      description: "Wait until it is done, and show progress (the default after you type the number)",
      negativeDescription: "Return as soon as it is queued",
    },
    timeout: { type: "string", valueHint: "DURATION", description: "With --wait: how long [no limit]" },
    ...CLIENT,
  },
  examples: [
    "webhookd deliveries cancel --endpoint acme --dry-run",
    "webhookd deliveries cancel --type budget.exceeded --since 2h --wait",
    "webhookd deliveries cancel --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --status held --yes --expect 441",
  ],
  /** Cancelling works like a bulk replay: a plan, a confirmation, and a job. */
  async run(typed, io) {
    const args = await withWholeIds(typed, io);
    const { tenant, event, test, status, ...rest } = readQuery(args, io.now(), DELIVERY_WORDS);
    const words = [tenant, event, test, status, ...Object.values(rest)];
    const isFiltered = words.some((word) => word !== undefined);
    if (args["all-open"] === isFiltered) {
      throw isFiltered
        ? usage("--all-open cannot be combined with filters", "Use one or the other.")
        : usage("nothing was selected: give a filter", "Or use --all-open for everything that is open.");
    }
    if (status !== undefined && status !== "pending" && status !== "held") {
      throw usage(`--status ${status} cannot be cancelled`, "Use pending or held; without it, both are cancelled.");
    }
    const filter = {
      ...rest,
      ...(status !== undefined && { status }),
      ...(test !== undefined && { test: test === "true" }),
      ...(event !== undefined && { events: [event] }),
    };
    return createJob({ ...args, canary: false, pace: undefined }, { action: "cancel", filter, tenant }, io);
  },
});
