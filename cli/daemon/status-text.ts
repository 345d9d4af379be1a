/** Shows the daemon and its deliveries in a few lines. */
import type { Item } from "../../src/client/client.ts";
import type { Job, Node, Statistics, Status } from "../../src/client/operations.ts";
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import { skewText } from "../../src/domain/time/skew.ts";
import { damageText } from "../../src/domain/wording.ts";
import type { Io } from "../io.ts";
import { say } from "../output/print.ts";
import { sayColumns } from "../output/table.ts";
import { ago, count, grouped, hostOf, size, span } from "../output/words.ts";
import { troublesOf, troubleText } from "./halts.ts";
import { outboxText } from "../outbox/text.ts";
import { stateText as nodeStateText } from "../nodes/text.ts";
import type { FailingEndpoint, Seen } from "./health.ts";

/** More would push the other lines off the screen. `webhookd failures` lists them all. */
const NAMED = 3;
/** Counts older than this are shown with their age, because something may have failed since. */
const OLD_MS = 2000;
/** A node is named if its oldest due delivery is overdue by more than this. */
const LATE_MS = 60_000;

/** Shows what is pending, what failed, what is due soon, and how the last hour went. */
export function deliveryLines({ statistics, deliveries, oldest_due_at: oldest, ...seen }: Seen, now: number): string[] {
  // An older daemon does not report `due_by_minute`.
  const [soon = 0, ...later] = seen.due_by_minute ?? [];
  const hour = later.reduce((sum, count) => sum + count, soon);
  const due = [
    ...overdueWords(seen.overdue?.deliveries ?? 0, oldest, now),
    ...(seen.due_by_minute ? [`${grouped(soon)} due within a minute, ${grouped(hour)} within the hour`] : []),
  ];
  return [
    ...(deliveries
      ? [
          `  now       ${grouped(deliveries.failed)} failed, ${grouped(deliveries.held)} held, ${grouped(deliveries.pending)} pending${countedText(seen, now)}`,
        ]
      : []),
    `  due       ${due.join("; ")}`,
    // While nothing is sent at all, no endpoint is behind.
    ...(seen.paused === null ? (seen.overdue?.behind ?? []) : [])
      .slice(0, NAMED)
      .map(
        ({ url, oldest_due_at: since, at_once: atOnce }) =>
          `  behind    ${hostOf(url)}: deliveries wait for their turn, ${atOnce} at a time, the oldest due ${ago(since, now)}`,
      ),
    ...heldKeysLines(seen, now),
    ...(statistics === null ? [] : lastHour(statistics)),
    ...jobsLines(seen.open_jobs ?? []),
    ...((seen.busiest ?? []).length === 0 ? [] : [`  busiest   ${seen.busiest!.map(publishedText).join(", ")}`]),
  ];
}

/** An older daemon does not report held keys. */
function heldKeysLines({ held_keys: all = [] }: Partial<Status>, now: number): string[] {
  const [first] = all;
  if (first === undefined) return [];
  const keys = all.reduce((sum, { count: some }) => sum + some, 0);
  const where = all.length === 1 ? first.endpoint : count(all.length, "endpoint", "endpoints");
  const since = `since ${ago(first.since, now)}`;
  return [
    `  HELD      ${count(keys, "ordering key", "ordering keys")} at ${where}, ${since}: webhookd endpoints show ${first.endpoint}`,
  ];
}

/** An older daemon does not report when it counted. */
function countedText({ counted_at: at }: Partial<Pick<Seen, "counted_at">>, now: number): string {
  return !at || now - Date.parse(at) < OLD_MS ? "" : `, counted ${ago(at, now)}`;
}

function overdueWords(overdue: number, oldest: string | null, now: number): string[] {
  if (oldest === null) return ["nothing overdue"];
  const number = overdue === 0 ? "" : `${grouped(overdue)} overdue, `;
  return [`${number}the oldest due ${ago(oldest, now)}`];
}

function lastHour({ published, deliveries, attempts }: Statistics): string[] {
  const rate = published === null ? "" : `${grouped(published.total)} published, ${published.per_second}/s; `;
  return [
    `  last hour ${rate}${grouped(deliveries.delivered)} delivered, ${grouped(deliveries.failed)} failed`,
    `            ${grouped(attempts.failed)} of ${count(attempts.total, "attempt", "attempts")} failed, ${attempts.per_second}/s`,
  ];
}

/** A paused job sends nothing until somebody resumes it, so it is shown as well. */
function jobsLines(jobs: readonly Job[]): string[] {
  const [only, another] = jobs;
  if (only === undefined) return [];
  const words = (["running", "paused"] as const).flatMap((state) => {
    const number = jobs.filter(({ status }) => status === state).length;
    return number === 0 ? [] : [`${number} ${state}`];
  });
  const todo = another === undefined ? `webhookd jobs show ${only.id}` : "webhookd jobs list";
  return [`  jobs      ${words.join(", ")}: ${todo}`];
}

function publishedText({ name, published_last_hour: events }: Item<"listTenants">): string {
  return `${name} published ${grouped(events)}`;
}

/** Shows the endpoints in the worst state. The two spaces before them are a column too. */
export function sayFailing(io: Io, failing: readonly FailingEndpoint[], now: number): void {
  if (failing.length === 0) return;
  const shown = failing.slice(0, NAMED);
  const cells = (text: (one: FailingEndpoint) => string) => shown.map(text);
  const columns = [
    { title: "", cells: cells(() => "") },
    { title: "FAILING", cells: cells(({ endpoint }) => endpoint) },
    { title: "URL", cells: cells(({ url }) => hostOf(url)), least: 16 },
    { title: "CAUSE", cells: cells(({ error, status_code: code }) => causeText(error, code)) },
    { title: "IN A ROW", cells: cells(({ consecutive_failures: inARow }) => grouped(inARow)), rank: 2 },
    {
      title: "LAST SUCCESS",
      cells: cells(({ last_success_at: last }) => (last === null ? "none" : ago(last, now))),
      rank: 3,
    },
  ];
  sayColumns(io, columns);
  const more = failing.length - shown.length;
  if (more > 0) say(io, `  and ${count(more, "more endpoint", "more endpoints")}; for all: webhookd failures`);
}

/** Returns the command to type next. The first problem decides which. */
export function nextLine(seen: Seen): string {
  const { state, paused, damaged_endpoints: damaged, failing, deliveries, statistics, dev } = seen;
  if ((state !== "ready" && state !== "draining") || troublesOf(seen).length > 0) return "webhookd doctor";
  if (paused !== null) return "webhookd resume";
  if ((damaged?.total ?? 0) > 0) return "webhookd doctor";
  if ((failing ?? []).length > 0) return "webhookd failures";
  const [holding] = (seen as Partial<Seen>).held_keys ?? [];
  if (holding !== undefined) return `webhookd endpoints show ${holding.endpoint}`;
  if ((deliveries?.failed ?? 0) > 0) return "webhookd replay --all-failed --dry-run";
  if ((statistics?.published?.total ?? 0) > 0) return "webhookd events tail";
  return `webhookd trigger budget.exceeded${dev ? "" : " --all"}`;
}

/** The daemon accepts events in each of the states CANNOT SEND, ready and paused. */
function stateText(status: Status): string {
  if (status.state !== "ready") return status.state;
  if (troublesOf(status).some(({ reason }) => reason !== "shortage")) return "CANNOT SEND";
  return status.paused === null ? "ready" : "paused";
}

/** Says whether the daemon accepts events and makes attempts, since when, and why not. */
export function sendingLines(status: Status, now: number): string[] {
  const { paused } = status;
  const troubles = troublesOf(status);
  return [
    `webhookd ${status.version}: ${stateText(status)}, up ${span(status.uptime_seconds)}`,
    ...outageLines(status, now),
    ...(paused === null ? [] : pauseLines(paused, now)),
    ...troubles.map((one) => `  TROUBLE   ${troubleText(one, now)}`),
    ...(paused === null && troubles.length === 0 ? ["  sending   on"] : []),
    ...nodeLines(status.nodes ?? [], now),
    ...status.outboxes.map((outbox) => `  outbox    ${outboxText(outbox)}`),
    ...tracesLines(status),
    ...clockLines(status),
  ];
}

/** An older daemon does not report traces. */
function tracesLines({ traces }: Partial<Status>): string[] {
  return traces ? [`  ${traces.failure ? "NO TRACES" : "traces   "} ${tracesText(traces)}`] : [];
}

export function tracesText({ exported, dropped, failure }: NonNullable<Status["traces"]>): string {
  const spans = `${count(exported, "span", "spans")} exported, ${grouped(dropped)} dropped`;
  return failure ? `the collector takes no spans since ${failure.since}: ${failure.detail}; ${spans}` : spans;
}

/** An older daemon does not report `store_outage`. */
function outageLines({ store_outage: outage }: Partial<Status>, now: number): string[] {
  if (!outage) return [];
  const lasting = span(Math.max(0, (now - Date.parse(outage.since)) / 1000));
  return [`  NO STORE  for ${lasting}: ${outage.detail}`];
}

export function hostLines(status: Status, now: number): string[] {
  const { disk, database, backup } = status;
  const last = backup.last === null ? "none yet" : `${ago(backup.last.at, now)}, ${backup.last.file}`;
  return [
    hasOwnDisk(status)
      ? `  disk      ${size(disk.free_bytes)} free; new events are refused below ${size(disk.floor_bytes)}`
      : "  disk      on PostgreSQL's host: watch it there",
    `  database  ${size(database.bytes)}, log ${size(database.wal_bytes)}, schema ${status.schema}`,
    ...(database.wal_trouble === null ? [] : [`  LOG GROWS ${database.wal_trouble}`]),
    `  backup    ${last}`,
    ...(backup.failure === null ? [] : [`  BACKUP FAILED ${ago(backup.failure.at, now)}: ${backup.failure.detail}`]),
    ...moveLines(status, now),
    ...damagedLines(status),
    ...certificateLines(status, now),
    ...(status.damaged_database === null
      ? []
      : [
          `  DAMAGED   at ${status.damaged_database.at}: ${damageText(status.damaged_database)}; the damaged file is kept: ${status.damaged_database.file}`,
        ]),
    ...(status.careful ? ["  careful mode: the process died twice in quick succession"] : []),
    ...status.departures.map((sentence) => `  ${sentence}`),
  ];
}

/** An older daemon does not report an open move. */
function moveLines(status: Partial<Status> & Pick<Status, "disk">, now: number): string[] {
  const { open_move: move } = status;
  if (!move) return [];
  const since = move.since === null ? "" : ` ${ago(move.since, now)}`;
  const [flag, whole] = hasOwnDisk(status) ? ["--to", "to PostgreSQL"] : ["--from", "into a file"];
  return [
    `  MOVE OPEN an online move ${whole} began${since} and has not ended: every change is recorded for it, on this disk`,
    `            to continue: webhookd migrate ${flag} postgres://… --online --resume; to give up: webhookd migrate ${flag} postgres://… --give-up`,
  ];
}

/** Names every node on one line, and adds a line for each node that is behind. */
function nodeLines(nodes: readonly Node[], now: number): string[] {
  if (nodes.length === 0) return [];
  const states = nodes.map((node) => `${node.name} ${nodeStateText(node)}${node.this ? " (this one)" : ""}`);
  const late = nodes.filter(({ oldest_due_at: oldest }) => oldest !== null && now - Date.parse(oldest) > LATE_MS);
  const behind = late.map((node) => `  BEHIND    ${node.name}: the oldest due ${ago(node.oldest_due_at!, now)}`);
  return [`  nodes     ${nodes.length}: ${states.join(", ")}`, ...behind];
}

export function putOffText(deliveries: number): string {
  const were = count(deliveries, "delivery was", "deliveries were");
  return `${were} due later than the ladder allows, because a clock had been wrong, and put right`;
}

/** An older daemon does not report its clock. */
function clockLines(status: Partial<Status>): string[] {
  const { clock_ahead_ms: aheadMs = null, nodes = [], put_off_deliveries: putOff = 0 } = status;
  const { ids_ahead_ms: idsAheadMs = null } = status;
  const all = nodes.length > 0 ? nodes : [{ name: "this host", clock_ahead_ms: aheadMs }];
  const skewed = all.flatMap(({ name, clock_ahead_ms: ahead = null }) => {
    const skew = skewText(ahead);
    return skew === null ? [] : [`  CLOCK     ${name}: ${skew} PostgreSQL's clock, by which everything goes`];
  });
  return [
    ...skewed,
    ...(idsAheadMs === null
      ? []
      : [`  CLOCK     the latest event's id is ${span(idsAheadMs / 1000)} ahead of the clock`]),
    ...(putOff === 0 ? [] : [`  CLOCK     ${putOffText(putOff)}`]),
  ];
}

/** An older daemon does not report damaged endpoints. */
function damagedLines({ damaged_endpoints: damaged }: Partial<Status>): string[] {
  const { total, endpoints } = damaged ?? { total: 0, endpoints: [] };
  const lines = endpoints
    .slice(0, NAMED)
    .map(({ endpoint, url, reason }) => `  DAMAGED   ${endpoint} ${hostOf(url)}: ${reason}; its deliveries wait`);
  return total > lines.length
    ? [...lines, `  DAMAGED   ${count(total - lines.length, "more endpoint", "more endpoints")}`]
    : lines;
}

/** An older daemon does not report client certificates. */
function certificateLines({ client_certificates: all = [] }: Partial<Status>, now: number): string[] {
  return all.slice(0, NAMED).map(({ endpoint, not_after: until }) => {
    const isOver = Date.parse(until) <= now;
    const what = isOver ? `has expired, at ${until}` : `expires at ${until}`;
    return `  CERTIFICATE of ${endpoint} ${what}: webhookd endpoints update ${endpoint} --client-certificate FILE --client-key FILE`;
  });
}

function pauseLines({ at, by, reason, saved }: NonNullable<Status["paused"]>, now: number): string[] {
  const lasting = span(Math.max(0, (now - Date.parse(at)) / 1000));
  // `saved` is false if the disk was too full to store the pause.
  const unsaved = saved !== false ? "" : " (NOT SAVED: a restart ends the pause)";
  return [`  sending   PAUSED for ${lasting}: ${reason}${unsaved}`, `            since ${at} by ${by}`];
}

/** False for a store in PostgreSQL: the daemon does not know how much space it has left, and makes no backups of it. */
export function hasOwnDisk({ disk }: Pick<Status, "disk">): boolean {
  return disk.free_bytes < Number.MAX_SAFE_INTEGER;
}
