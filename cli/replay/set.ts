/** Reads the set of deliveries to replay from the command line or a pipe. */
import { DELIVERY_WORDS } from "../../src/client/filter.ts";
import { eventMeant, requireEventWord } from "../events/by-word.ts";
import { Failure, usage } from "../failure.ts";
import { textOf } from "../files.ts";
import type { Io } from "../io.ts";
import type { Undertaking } from "../jobs/plan.ts";
import { type TargetArgs } from "../target.ts";
import { readId, readQuery, type FilterArgs } from "../values.ts";

type SetArgs = FilterArgs &
  TargetArgs & { readonly events: readonly string[]; readonly "all-failed": boolean; readonly missing: boolean };

/** One job takes at most this many ids. */
const MAX_IDS = 1000;

/** Throws a Failure if nothing is selected, because the selection must be explicit. */
export async function readSet(args: SetArgs, io: Io): Promise<Undertaking> {
  if (args.missing) return readMissing(args, io);
  const query = readQuery(args, io.now(), DELIVERY_WORDS);
  const { tenant, event, test, status, ...rest } = query;
  const typed = [...args.events, ...(event === undefined ? [] : [event])];
  const isFiltered = Object.keys(query).length > 0;
  if (args["all-failed"] && (isFiltered || typed.length > 0)) {
    throw usage("--all-failed cannot be combined with ids or filters", "Use one or the other.");
  }
  if (!args["all-failed"] && !isFiltered && typed.length === 0) {
    throw usage(
      "nothing was selected: give event ids, - for ids from stdin, or a filter",
      "For example: `webhookd replay --status-code 5xx --since 2h`, or --all-failed for everything that failed.",
    );
  }
  if (status !== undefined && status !== "failed" && status !== "delivered") {
    throw usage(`--status ${status} cannot be replayed`, "Use failed, or delivered to replay delivered ones.");
  }
  const events = typed.length === 0 ? undefined : await readIds(typed, args, io);
  const filter = {
    ...rest,
    ...(status !== undefined && { status }),
    ...(test !== undefined && { test: test === "true" }),
    ...(events !== undefined && { events }),
  };
  return { action: "replay", filter, tenant };
}

/** A back-fill names one endpoint. Filters on results cannot apply to events that were never sent. */
function readMissing(args: SetArgs, io: Io): Undertaking {
  if (args.events.length > 0 || args["all-failed"]) {
    throw usage("--missing cannot be combined with ids or --all-failed", "--missing finds the events.");
  }
  const { tenant, ...filter } = readQuery(args, io.now(), ["endpoint", "type", "since", "until", "tenant"]);
  if (filter.endpoint === undefined) {
    throw usage(
      "--missing needs --endpoint",
      "--missing sends one endpoint the events of its types that it never got.",
    );
  }
  return { action: "replay", filter: { ...filter, missing: true }, tenant };
}

async function readIds(typed: readonly string[], target: TargetArgs, io: Io): Promise<string[]> {
  const ids = new Set<string>();
  for (const word of typed) if (word !== "-") requireEventWord(word);
  for (const word of typed) {
    if (word !== "-") ids.add((await eventMeant(word, target, io)).id);
    else for (const id of await pipedIds(io)) ids.add(id);
  }
  if (ids.size === 0) {
    throw new Failure("conflict", "no ids on stdin", "There is nothing to replay.", "nothing_to_replay");
  }
  if (ids.size <= MAX_IDS) return [...ids];
  // Each of several jobs would keep its own pace and try its own canary, and no plan would cover them all.
  throw usage(
    `one job takes at most ${MAX_IDS} ids, but you gave ${ids.size}`,
    "Use a filter that matches them, such as `webhookd replay --type budget.exceeded --since 2h`, or split them with `split -l 1000`.",
  );
}

/** Reads ids as `webhookd events list --ids` writes them. */
async function pipedIds(io: Io): Promise<string[]> {
  const lines = textOf(await io.stdin.read(), "stdin").split("\n");
  return lines.flatMap((line, index) => {
    const id = line.trim();
    if (id === "") return [];
    try {
      return readId("evt", id);
    } catch (error) {
      const { message, hint } = error as Failure;
      throw new Failure("usage", `line ${index + 1} of stdin: ${message}`, hint);
    }
  });
}
