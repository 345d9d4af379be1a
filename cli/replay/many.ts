/** Many replays: a plan, a person's consent to it, and a job on the server over exactly what was planned. */
import type { Job, JobPlan } from "../../src/client/operations.ts";
import type { Client } from "../../src/client/client.ts";
import { confirm } from "../confirm.ts";
import { noteHalt } from "../daemon/halts.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { followJob, howToSteer } from "../jobs/follow.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect, type TargetArgs } from "../target.ts";
import { readCount, readDuration, readPace } from "../values.ts";
import { contextOf, planLines } from "./plan.ts";
import type { ReplaySet } from "./set.ts";
import { count } from "../output/words.ts";

/** A set of millions takes the daemon a while to look through. */
const TIMEOUT_MS = 300_000;
const DEFAULT_PACE = "20/s";

interface ManyArgs extends TargetArgs {
  readonly pace: string | undefined;
  readonly expect: string | undefined;
  readonly timeout: string | undefined;
  readonly canary: boolean;
  readonly "dry-run": boolean;
  readonly yes: boolean;
  /** Undefined: neither was typed. */
  readonly wait: boolean | undefined;
  readonly json: boolean;
}

export async function replayMany(args: ManyArgs, set: ReplaySet, io: Io): Promise<number> {
  const ratePerSecond = readPace(args.pace ?? DEFAULT_PACE, "--pace");
  const expect = args.expect === undefined ? null : readCount(args.expect, "--expect", { min: 0, max: 999_999_999 });
  const timeoutMs = args.timeout === undefined ? null : readDuration(args.timeout, "--timeout");
  const client = connect(args, io);
  const draft = { action: "replay", filter: set.filter, rate_per_second: ratePerSecond, canary: args.canary };
  const ask = { query: { tenant: set.tenant }, timeoutMs: TIMEOUT_MS };
  const plan = (await client.call("createJob", { ...ask, body: { ...draft, dry_run: true } })) as JobPlan;
  await show(client, { plan, set, ratePerSecond }, args, io);
  if (expect !== null && expect !== plan.matched) throw planChanged(plan.matched, expect);
  if (args["dry-run"]) return EXIT.ok;
  if (plan.matched === 0) throw nothingToReplay(plan);
  if (plan.matched > 1 && !args.yes) await agree(plan.matched, io);
  const job = (await client.call("createJob", { ...ask, body: { ...draft, expect: plan.matched } })) as Job;
  if (!args.json) await noteHalt(client, io);
  if (args.wait) return followJob(client, job, { timeoutMs, json: args.json }, io);
  if (args.json) sayJson(io, { kind: "result", ...job });
  else {
    note(io, `The job continues without this command. ${howToSteer(job.id)}`);
    say(io, job.id);
  }
  return EXIT.ok;
}

interface Planned {
  readonly plan: JobPlan;
  readonly set: ReplaySet;
  readonly ratePerSecond: number;
}

/** It is the answer to `--dry-run`, and talk before anything else. */
async function show(client: Client, { plan, set, ratePerSecond }: Planned, args: ManyArgs, io: Io): Promise<void> {
  if (args.json) {
    sayJson(io, { kind: "plan", ...plan });
    return;
  }
  const context = await contextOf(client, set, plan);
  const shown = args["dry-run"] ? io : { ...io, stdout: io.stderr };
  for (const line of planLines(plan, context, { ...set, ratePerSecond }, io.now())) say(shown, line);
}

/** Throws unless the number is typed. */
async function agree(matched: number, io: Io): Promise<void> {
  if (!io.stdin.isTTY || !io.stderr.isTTY) {
    const hint = `Check the plan and add --yes, preferably with --expect ${matched}.`;
    const what = count(matched, "delivery needs", "deliveries need");
    throw usage(`${what} a confirmation, and there is no terminal to ask on`, hint);
  }
  await confirm({ facts: [], word: String(matched) }, { yes: false }, io);
}

function planChanged(matched: number, expected: number): Failure {
  const hint = "Nothing was done; look at the plan with --dry-run.";
  return new Failure(
    "conflict",
    `the plan contains ${count(matched, "delivery", "deliveries")}, not ${expected}`,
    hint,
    "plan_changed",
  );
}

function nothingToReplay({ left_alone: left }: JobPlan): Failure {
  const [first] = left;
  const hint =
    first === undefined
      ? "To see what failed: webhookd deliveries list --status failed"
      : `The matching deliveries belong to endpoints that cannot be sent to now, such as ${first.endpoint} (${first.reason}).`;
  return new Failure(
    "conflict",
    "no failed delivery matches, so there is nothing to replay",
    hint,
    "nothing_to_replay",
  );
}
