/** Creates a job: shows a plan, asks a person to agree, and has the daemon do exactly what was planned. */
import type { Job, JobPlan } from "../../src/client/operations.ts";
import type { Client } from "../../src/client/client.ts";
import { confirm } from "../confirm.ts";
import { noteHalt } from "../daemon/halts.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { followJob, howToSteer } from "./follow.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect, type TargetArgs } from "../target.ts";
import { readCount, readDuration, readPace } from "../values.ts";
import { contextOf, leftText, planLines, type Undertaking } from "./plan.ts";
import { count } from "../output/words.ts";

/** The daemon needs a while to look through millions of deliveries. */
const TIMEOUT_MS = 300_000;
const DEFAULT_PACE = "20/s";

interface JobArgs extends TargetArgs {
  readonly pace: string | undefined;
  readonly expect: string | undefined;
  readonly timeout: string | undefined;
  readonly canary: boolean;
  readonly "dry-run": boolean;
  readonly yes: boolean;
  /** Undefined if neither `--wait` nor `--no-wait` was typed. */
  readonly wait: boolean | undefined;
  readonly json: boolean;
}

export async function createJob(args: JobArgs, work: Undertaking, io: Io): Promise<number> {
  const ratePerSecond = readPace(args.pace ?? DEFAULT_PACE, "--pace");
  const expect = args.expect === undefined ? null : readCount(args.expect, "--expect", { min: 0, max: 999_999_999 });
  const timeoutMs = args.timeout === undefined ? null : readDuration(args.timeout, "--timeout");
  const client = connect(args, io);
  const { action, filter, tenant } = work;
  const draft = { action, filter, rate_per_second: ratePerSecond, canary: args.canary };
  const ask = { query: { tenant }, timeoutMs: TIMEOUT_MS };
  const plan = (await client.call("createJob", { ...ask, body: { ...draft, dry_run: true } })) as JobPlan;
  await show(client, { plan, work, ratePerSecond }, args, io);
  if (expect !== null && expect !== plan.matched) throw planChanged(plan.matched, expect);
  if (args["dry-run"]) return EXIT.ok;
  if (plan.matched === 0) throw nothingToDo(plan, work);
  const isAsked = plan.matched > 1 && !args.yes;
  if (isAsked) await agree(plan.matched, io);
  // With --yes nobody agreed to this number, and retries may have changed it by now. A cancellation cannot be undone,
  // so it always needs the planned number.
  const isAnyCount = args.yes && expect === null && action !== "cancel";
  const body = isAnyCount ? draft : { ...draft, expect: plan.matched };
  const job = (await client.call("createJob", { ...ask, body })) as Job;
  if (!args.json && action !== "cancel") await noteHalt(client, io);
  // A person who has just typed the number wants to see the result, and may leave at any time.
  if (args.wait ?? (isAsked && !args.json)) return followJob(client, job, { timeoutMs, json: args.json }, io);
  if (args.json) sayJson(io, { kind: "result", ...job });
  else {
    say(io, job.id);
    note(io, `The job continues without this command. ${howToSteer(job.id)}`);
  }
  return EXIT.ok;
}

interface Planned {
  readonly plan: JobPlan;
  readonly work: Undertaking;
  readonly ratePerSecond: number;
}

/** With `--dry-run` the plan is the result and goes to stdout. Otherwise it goes to stderr. */
async function show(client: Client, { plan, work, ratePerSecond }: Planned, args: JobArgs, io: Io): Promise<void> {
  if (args.json) {
    sayJson(io, { kind: "plan", ...plan });
    return;
  }
  const context = await contextOf(client, work, plan);
  const shown = args["dry-run"] ? io : { ...io, stdout: io.stderr };
  for (const line of planLines(plan, context, { ...work, ratePerSecond }, io.now())) say(shown, line);
}

/** Throws unless the person types the number. */
async function agree(matched: number, io: Io): Promise<void> {
  if (!io.stdin.isTTY || !io.stderr.isTTY) {
    const hint = `Check the plan and add --yes, preferably with --expect ${matched}.`;
    const what = count(matched, "delivery needs", "deliveries need");
    throw usage(`${what} confirmation, and there is no terminal`, hint);
  }
  await confirm({ facts: [], word: String(matched) }, { yes: false }, io);
}

function planChanged(matched: number, expected: number): Failure {
  return new Failure(
    "conflict",
    `the plan contains ${count(matched, "delivery", "deliveries")}, not ${expected}`,
    "Nothing was done.",
    "plan_changed",
  );
}

function nothingToDo({ left_alone: left }: JobPlan, { action, filter }: Undertaking): Failure {
  if (action === "cancel") {
    const hint = "To see what is open: webhookd deliveries list --status pending,held";
    return new Failure(
      "conflict",
      "no open delivery matches, so there is nothing to cancel",
      hint,
      "nothing_to_cancel",
    );
  }
  const isTry = action === "attempt_now";
  const what = filter.missing
    ? "the endpoint missed no events of its types, so there is nothing to send"
    : isTry
      ? "no matching delivery can be tried"
      : "no failed delivery matches, so there is nothing to replay";
  const [first] = left;
  const seen = filter.missing
    ? `To see its types: webhookd endpoints show ${filter.endpoint}`
    : isTry
      ? "To see what is waiting: webhookd deliveries list --status pending"
      : "To see what failed: webhookd deliveries list --status failed";
  const hint =
    first === undefined
      ? seen
      : `The matching deliveries belong to endpoints to which nothing can be sent now, such as ${first.endpoint}: ${leftText(first.reason, first.endpoint)}`;
  return new Failure("conflict", what, hint, isTry ? "nothing_to_try" : "nothing_to_replay");
}
