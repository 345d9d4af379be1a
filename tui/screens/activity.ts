/** Draws the audit log, and the jobs with their progress. */
import type { AuditRecord, Job } from "../../src/client/operations.ts";
import { glyph, type Look } from "../draw/look.ts";
import { age, countText, shortId } from "../draw/numbers.ts";
import { statusCell } from "../draw/status.ts";
import type { List } from "../model/list.ts";
import type { State } from "../model/state.ts";
import { jobAction } from "../state/jobs.ts";
import { endpointName } from "./lists.ts";
import { tableRows, type Column } from "./table.ts";

type Row = AuditRecord | Job;
const BAR = 10;

export function activityRows(state: State, list: List<Row>, room: { width: number; height: number }): string[] {
  const { look } = state.settings;
  const columns: Column<Row>[] = [
    {
      head: "AGE",
      width: 4,
      rank: 3,
      align: "right",
      cell: (row) => ({ text: age(state.now - Date.parse("at" in row ? row.at : row.created_at)) }),
    },
    {
      head: "WHAT",
      least: 14,
      width: 22,
      rank: 1,
      cell: (row) => (isJob(row) ? statusCell(look, row.status) : { text: actionText(row) }),
    },
    { head: "OUTCOME", width: 12, rank: 0, cell: (row) => ({ text: isJob(row) ? jobAction(row) : row.outcome }) },
    { head: "BY", width: 13, rank: 4, cell: (row) => ({ text: isJob(row) ? "" : byText(row) }) },
    {
      head: "ON",
      least: 20,
      width: 40,
      rest: true,
      rank: 2,
      cell: (row, width) => ({ text: isJob(row) ? jobText(look, row, room.width) : objectText(state, row, width) }),
    },
  ];
  const empty = state.known.forbidden.has("listAudit")
    ? ["", "The audit log needs a key with the admin scope."]
    : ["", "Nothing has been recorded yet."];
  return tableRows(state, { list, kind: "activity", columns, ...room, empty });
}

function actionText({ action, count }: AuditRecord): string {
  return count === 1 ? action : `${action} ×${countText(count)}`;
}

/** Over the socket, the login name says more than the actor alone. */
function byText({ actor, uid, user }: AuditRecord): string {
  return user ?? (uid === null ? shortId(actor) : `uid ${uid}`);
}

/** Returns the object of the action. An endpoint is shown by its URL, once that is known. */
function objectText(state: State, { object }: AuditRecord, width: number): string {
  if (object === null) return "the daemon";
  return state.known.endpoints.has(object) ? endpointName(state, object, width) : object;
}

function isJob(row: Row): row is Job {
  return "matched" in row;
}

/** A narrow screen shows the counts without a bar. */
export function jobText(look: Look, job: Job, width: number): string {
  const { id, tenant, action, done, skipped, matched, delivered, failed, paused_reason: why, reason } = job;
  const gone = `${countText(done + skipped)}/${countText(matched)}`;
  const counts =
    action === "cancel"
      ? `${countText(skipped)} skipped`
      : `${glyph(look, "delivered")} ${countText(delivered)} ${glyph(look, "failed")} ${countText(failed)}`;
  const share = matched === 0 ? 1 : Math.min(1, (done + skipped) / matched);
  const full = Math.floor(share * BAR);
  const bar = glyph(look, "block").repeat(full) + glyph(look, "shade").repeat(BAR - full);
  const progress = width >= 100 ? [shortId(id), bar, gone, counts] : [gone, counts];
  const whose = tenant === "*" ? "" : `tenant ${tenant}`;
  return [progress.join(" "), why ?? "", whose, reason].filter((part) => part !== "").join("  ");
}
