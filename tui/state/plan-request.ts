/** What a plan dialog asks of the daemon. */
import type { Dialog, PlanDialog } from "../dialog.ts";
import type { About, Call } from "../model.ts";

/** A set of millions takes the daemon a while to look through. */
export const PLAN_TIMEOUT_MS = 300_000;

/** The question of a dialog that has no plan yet. */
export function planQuestion(dialog: Dialog): Call | null {
  if (dialog.kind !== "plan" || dialog.plan !== null || dialog.problem !== null) return null;
  const { set, number } = dialog;
  const body = { ...draftOf(dialog), dry_run: true };
  const about: About = { for: "plan", number };
  return { operation: "createJob", ask: { query: { tenant: set.tenant }, body, timeoutMs: PLAN_TIMEOUT_MS }, about };
}

/** More than a box has room for. */
const SHOWN = 8;

/** Whose health is shown beside what is planned for them. */
export function plannedEndpoints(dialog: Dialog): string[] {
  if (dialog.kind !== "plan" || dialog.plan === null) return [];
  return dialog.plan.endpoints.slice(0, SHOWN).map(({ endpoint }) => endpoint);
}

export function draftOf({ set, pace, canary }: PlanDialog) {
  return { action: "replay", filter: set.filter, rate_per_second: pace, canary };
}
