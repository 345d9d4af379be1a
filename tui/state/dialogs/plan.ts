/**
 * Handles the plan dialog, which shows what a job on many deliveries would do, and asks a person to agree to exactly
 * that.
 */
import type { JobPlan } from "../../../src/client/operations.ts";
import { countText } from "../../draw/numbers.ts";
import type { KeyName } from "../../keystrokes.ts";
import type { About, Call } from "../../model/call.ts";
import type { Dialog, JobSet, PlanDialog } from "../../model/dialog.ts";
import type { State, Step } from "../../model/state.ts";
import { perform, whyNoActs } from "../acts.ts";
import { changePlan } from "./plan-answers.ts";
import { withNextPeriod, type Many } from "../job-set.ts";
import { planCommand, withCommands } from "../shell-commands.ts";

const DEFAULT_PACE = 20;
/** The highest pace that a job takes. */
export const MAX_PACE = 500;
const MAX_DIGITS = 9;

export interface Planned extends Many {
  readonly canary: boolean;
}

export function openPlan(state: State, { about, set, period, canary }: Planned): State {
  const dialog: PlanDialog = {
    kind: "plan",
    number: state.counter,
    about,
    set,
    period,
    plan: null,
    problem: null,
    pace: DEFAULT_PACE,
    canary,
    field: "count",
    typed: "",
    note: null,
    sent: null,
  };
  return { ...state, counter: state.counter + 1, modes: [...state.modes, { kind: "dialog", dialog }] };
}

/** Computes the time as the daemon does: the first second's share is sent at once. */
export function etaSeconds({ endpoints }: JobPlan, pace: number): number {
  const longest = Math.max(0, ...endpoints.map(({ matched }) => matched));
  return Math.max(0, Math.ceil(longest / pace - 1));
}

export function pressPlan(state: State, dialog: PlanDialog, key: KeyName): Step {
  const put = (change: Partial<PlanDialog>): Step => ({
    state: changePlan(state, dialog.number, (one) => ({ ...one, note: null, ...change })),
    effects: [],
  });
  if (dialog.sent !== null) return { state, effects: [] };
  if (dialog.problem !== null) return key === "enter" ? put({ problem: null, plan: null }) : { state, effects: [] };
  const { typed, field } = dialog;
  const isSent = dialog.set.action !== "cancel";
  if (/^\d$/.test(key)) return typed.length < MAX_DIGITS ? put({ typed: typed + key }) : { state, effects: [] };
  if (key === "backspace") return put({ typed: typed.slice(0, -1) });
  if (key === "ctrl+u") return put({ typed: "" });
  if (field === "pace") return key === "enter" || key === "p" ? put(withPace(dialog)) : { state, effects: [] };
  if (key === "p" && isSent) return put({ field: "pace", typed: "" });
  if (key === "C") {
    const commands = planCommand(dialog);
    if (commands.length === 0) return put({ note: "No single command does this for several events by id." });
    return { state: withCommands(state, commands), effects: [] };
  }
  if (key === "c" && isSent) return put({ canary: !dialog.canary, typed: "" });
  if (key === "s" && dialog.period !== null) return lookBack(state, dialog);
  return key === "enter" ? agree(state, dialog, put) : { state, effects: [] };
}

/** Another period needs another plan. */
function lookBack(state: State, dialog: PlanDialog): Step {
  const next = { ...withNextPeriod(dialog, state.now), number: state.counter, plan: null, typed: "", note: null };
  const changed = changePlan(state, dialog.number, (one) => ({ ...one, ...next }));
  return { state: { ...changed, counter: state.counter + 1 }, effects: [] };
}

function withPace({ typed }: PlanDialog): Partial<PlanDialog> {
  const pace = Number(typed);
  if (typed === "") return { field: "count" };
  if (pace < 1 || pace > MAX_PACE) return { typed: "", note: `The pace is 1 to ${MAX_PACE} per second.` };
  return { field: "count", typed: "", pace };
}

function agree(state: State, dialog: PlanDialog, put: (change: Partial<PlanDialog>) => Step): Step {
  const { plan, canary, typed, set } = dialog;
  if (plan === null) return put({ note: "There is no plan yet." });
  if (plan.matched === 0) return put({ note: "There is nothing to do." });
  // A canary sends only one delivery, and no more unless that arrives, so one key is enough.
  if (!canary && typed !== String(plan.matched)) {
    return put({ typed: "", note: typed === "" ? `Type ${plan.matched} first.` : `${typed} is not ${plan.matched}.` });
  }
  // The dialog itself shows the reason, for as long as it holds.
  if (whyNoActs(state) !== null) return put({});
  const body = { ...draftOf(dialog), expect: plan.matched };
  const ask = { query: { tenant: set.tenant }, body, timeoutMs: PLAN_TIMEOUT_MS };
  const label = `${canary ? "canary " : ""}${kindOf(set)} of ${countText(plan.matched)}`;
  const asked = perform(state, { label, request: { operation: "createJob", ask }, event: null });
  const sent = asked.state.acts.at(-1)!.key;
  return { ...asked, state: changePlan(asked.state, dialog.number, (one) => ({ ...one, sent, note: null })) };
}

/** The daemon needs a while to look through millions of deliveries. */
export const PLAN_TIMEOUT_MS = 300_000;

/** Returns the request of a dialog that has no plan yet. */
export function planQuestion(dialog: Dialog): Call | null {
  if (dialog.kind !== "plan" || dialog.plan !== null || dialog.problem !== null) return null;
  const { set, number } = dialog;
  const body = { ...draftOf(dialog), dry_run: true };
  const about: About = { for: "plan", number };
  return { operation: "createJob", ask: { query: { tenant: set.tenant }, body, timeoutMs: PLAN_TIMEOUT_MS }, about };
}

/** A box does not fit more than this. */
const SHOWN = 8;

/** Returns the endpoints whose health is shown beside the plan. */
export function plannedEndpoints(dialog: Dialog): string[] {
  if (dialog.kind !== "plan" || dialog.plan === null) return [];
  return dialog.plan.endpoints.slice(0, SHOWN).map(({ endpoint }) => endpoint);
}

/** Cancelled deliveries are not sent, so a cancellation has no pace. */
export function draftOf({ set: { action, filter }, pace, canary }: PlanDialog) {
  return action === "cancel" ? { action, filter } : { action, filter, rate_per_second: pace, canary };
}

export function kindOf({ action, filter }: JobSet): "replay" | "attempt" | "back-fill" | "cancellation" {
  if (action === "cancel") return "cancellation";
  if (action === "attempt_now") return "attempt";
  return filter["missing"] === true ? "back-fill" : "replay";
}
