/** The daemon and its deliveries on a few lines. */
import type { Status } from "../../src/client/operations.ts";
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import { damageText } from "../../src/domain/wording.ts";
import { ago, count, grouped, hostOf, size, span } from "../output/words.ts";
import { troublesOf, troubleText } from "./halts.ts";
import type { FailingEndpoint, Health, Seen } from "./health.ts";

/** More would push the rest off the screen; `webhookd failures` has them all. */
const NAMED = 5;

export function healthLines({ statistics, deliveries, failing }: Health, now: number): string[] {
  return [
    ...(statistics === null
      ? []
      : [
          `  last hour ${grouped(statistics.published?.total ?? 0)} published, ${grouped(statistics.deliveries.delivered)} delivered, ${grouped(statistics.deliveries.failed)} failed; ${grouped(statistics.attempts.failed)} of ${count(statistics.attempts.total, "attempt", "attempts")} failed`,
        ]),
    ...(deliveries === null
      ? []
      : [
          `  waiting   ${grouped(deliveries.pending)} pending, ${grouped(deliveries.held)} held; ${grouped(deliveries.failed)} failed (up to 30 s old)`,
        ]),
    ...(failing ?? []).slice(0, NAMED).map((one) => `  FAILING   ${failingText(one, now)}`),
    ...((failing?.length ?? 0) > NAMED
      ? [`  FAILING   ${count(failing!.length - NAMED, "more endpoint", "more endpoints")}`]
      : []),
  ];
}

function failingText(one: FailingEndpoint, now: number): string {
  const { endpoint, url, error, status_code: code, consecutive_failures: inARow, last_success_at: last } = one;
  const success = last === null ? "no success yet" : `last success ${ago(last, now)}`;
  return `${endpoint} ${hostOf(url)}: ${causeText(error, code)}, ${grouped(inARow)} in a row, ${success}`;
}

/** What to type next; the first thing that is the matter decides. */
export function nextLine(seen: Seen): string {
  const { state, paused, damaged_endpoints: damaged, failing, deliveries, statistics, dev } = seen;
  if ((state !== "ready" && state !== "draining") || troublesOf(seen).length > 0) return "webhookd doctor";
  if (paused !== null) return "webhookd resume";
  if ((damaged?.total ?? 0) > 0) return "webhookd doctor";
  if ((failing ?? []).length > 0) return "webhookd failures";
  if ((deliveries?.failed ?? 0) > 0) return "webhookd replay --all-failed --dry-run";
  if ((statistics?.published?.total ?? 0) > 0) return "webhookd events tail";
  return `webhookd trigger budget.exceeded${dev ? "" : " --all"}`;
}

/** Publishes are taken in any of the last three. */
function stateText(status: Status): string {
  if (status.state !== "ready") return status.state;
  if (troublesOf(status).some(({ reason }) => reason !== "shortage")) return "CANNOT SEND";
  return status.paused === null ? "ready" : "paused";
}

export function statusLines(status: Status, now: number): string[] {
  const { disk, database, paused, backup } = status;
  const last = backup.last === null ? "none yet" : `${backup.last.file}, ${ago(backup.last.at, now)}`;
  const troubles = troublesOf(status);
  return [
    `webhookd ${status.version}: ${stateText(status)}, up ${span(status.uptime_seconds)}`,
    ...(paused === null ? [] : [`  sending   ${pauseText(paused)}`]),
    ...troubles.map((one) => `  TROUBLE   ${troubleText(one, now)}`),
    ...(paused === null && troubles.length === 0 ? ["  sending   on"] : []),
    `  due       ${status.oldest_due_at === null ? "nothing" : `the oldest ${ago(status.oldest_due_at, now)}`}`,
    `  disk      ${size(disk.free_bytes)} free; new events are refused below ${size(disk.floor_bytes)}`,
    `  database  ${size(database.bytes)}, log ${size(database.wal_bytes)}, schema ${status.schema}`,
    ...(database.wal_trouble === null ? [] : [`  LOG GROWS ${database.wal_trouble}`]),
    `  backup    ${last}`,
    ...(backup.failure === null ? [] : [`  BACKUP FAILED ${ago(backup.failure.at, now)}: ${backup.failure.detail}`]),
    ...damagedLines(status),
    ...(status.damaged_database === null
      ? []
      : [
          `  DAMAGED   at ${status.damaged_database.at}: ${damageText(status.damaged_database)}; the damaged file is kept: ${status.damaged_database.file}`,
        ]),
    ...(status.careful ? ["  careful mode: the process died twice in quick succession"] : []),
    ...status.departures.map((sentence) => `  ${sentence}`),
  ];
}

/** A daemon older than this command says nothing of them. */
function damagedLines({ damaged_endpoints: damaged }: Partial<Status>): string[] {
  const { total, endpoints } = damaged ?? { total: 0, endpoints: [] };
  const lines = endpoints
    .slice(0, NAMED)
    .map(({ endpoint, url, reason }) => `  DAMAGED   ${endpoint} ${hostOf(url)}: ${reason}; its deliveries wait`);
  return total > lines.length
    ? [...lines, `  DAMAGED   ${count(total - lines.length, "more endpoint", "more endpoints")}`]
    : lines;
}

/** Of one that a full disk did not take. */
function pauseText({ at, by, reason, saved }: NonNullable<Status["paused"]>): string {
  return `PAUSED since ${at} by ${by}: ${reason}${saved !== false ? "" : " (NOT SAVED: a restart forgets it)"}`;
}
