/** Derives findings from the daemon's own status. */
import type { Status } from "../../src/client/operations.ts";
import { skewText } from "../../src/domain/time/skew.ts";
import { damageText } from "../../src/domain/wording.ts";
import { version } from "../../src/build.ts";
import { troublesOf, troubleText, troubleTodo } from "../daemon/halts.ts";
import { hasOwnDisk, putOffText, tracesText } from "../daemon/status-text.ts";
import { outboxTroubleText } from "../../src/domain/outbox/outbox.ts";
import { asideText, isWell, outboxText } from "../outbox/text.ts";
import { repairOf } from "../endpoints/text.ts";
import { count, span } from "../output/words.ts";
import { fail, ok, warn, type Finding } from "./finding.ts";

const DAY = 86_400_000;
const LATE_MS = 60_000;

/** `isGone` returns true if a file on the daemon's host no longer exists, as far as this host can see. */
export function* daemonFindings(status: Status, now: number, isGone: (file: string) => boolean): Generator<Finding> {
  const { state, paused, backup, oldest_due_at: oldest } = status;
  const shown = `webhookd ${status.version}, schema ${status.schema}`;
  if (state === "ready") yield ok("daemon", `${shown}: ready`);
  else if (state === "disk_full")
    yield fail("daemon", `${shown}: new events are refused because the disk is full`, "free space");
  else yield fail("daemon", `${shown}: ${state}`, "webhookd status --wait");
  if (status.version !== version) {
    yield warn("daemon", `this command is webhookd ${version}`, "restart the daemon, or use its own executable");
  }
  const troubles = troublesOf(status);
  for (const one of troubles) yield fail("sending", troubleText(one, now), troubleTodo(one));
  if (paused !== null) {
    yield warn("attempts", `paused since ${paused.at} by ${paused.by}: ${paused.reason}`, "webhookd resume");
  } else if (troubles.length === 0 && oldest !== null && now - Date.parse(oldest) > LATE_MS) {
    yield warn("attempts", `a delivery has been overdue since ${oldest}`, "run webhookd failures, and check the log");
  }
  yield* damagedFindings(status);
  yield* outboxFindings(status);
  yield* clientCertificateFindings(status, now);
  yield* traceFindings(status);
  if (typeof status.database.wal_trouble === "string") {
    yield fail(
      "database",
      status.database.wal_trouble,
      "check the disk (dmesg), and which process is reading the database (fuser)",
    );
  }
  if (status.damaged_database !== null) {
    const { at, file } = status.damaged_database;
    const what = `damage to the database was found at ${at}; ${damageText(status.damaged_database)}`;
    yield fail("database", what, `check the disk (smartctl, dmesg); then remove or move ${file}`);
  }
  if (status.open_move) {
    const flag = hasOwnDisk(status) ? "--to" : "--from";
    const since = status.open_move.since === null ? "" : ` at ${status.open_move.since}`;
    const what = `an online move that began${since} has not ended, and every change is recorded for it`;
    yield warn("move", what, `webhookd migrate ${flag} postgres://… --online --resume, or --give-up instead of both`);
  }
  yield* clockFindings(status);
  if (status.careful)
    yield warn("attempts", "careful mode, because the process died twice in quick succession", "check the log");
  if (typeof status.socket_uid_trouble === "string") {
    const what = `it cannot tell who is calling over the unix socket: ${status.socket_uid_trouble}`;
    yield warn("audit log", what, "give each person a key to use over TCP");
  }
  if (backup.failure !== null) {
    yield fail("backup", `failed at ${backup.failure.at}: ${backup.failure.detail}`, "webhookd backup");
  } else if (backup.last === null) {
    if (hasOwnDisk(status)) yield warn("backup", "there is none", "webhookd backup, or set [backup] every");
  } else if (now - Date.parse(backup.last.at) > Math.max(7 * DAY, 2000 * backup.every_seconds)) {
    yield warn("backup", `the last one is from ${backup.last.at}`, "webhookd backup, or set [backup] every");
  } else {
    const { at, file } = backup.last;
    // The file may have been moved to a safer place, or the store restored on another host.
    yield ok("backup", isGone(file) ? `from ${at}; ${file} is no longer there` : `${file}, from ${at}`);
  }
}

/** An older daemon does not report client certificates. */
function* clientCertificateFindings(
  { client_certificates: all = [] }: Partial<Status>,
  now: number,
): Generator<Finding> {
  for (const { endpoint, not_after: until } of all) {
    const todo = `webhookd endpoints update ${endpoint} --client-certificate FILE --client-key FILE`;
    if (Date.parse(until) <= now) yield fail(endpoint, `its client certificate expired at ${until}`, todo);
    else yield warn(endpoint, `its client certificate expires at ${until}`, todo);
  }
}

/** An older daemon does not report its clock. */
function* clockFindings(status: Partial<Status>): Generator<Finding> {
  const { clock_ahead_ms: aheadMs = null, nodes = [], put_off_deliveries: putOff = 0 } = status;
  const all = nodes.length > 0 ? nodes : [{ name: "the daemon's host", clock_ahead_ms: aheadMs }];
  for (const { name, clock_ahead_ms: ahead = null } of all) {
    const skew = skewText(ahead);
    if (skew === null) continue;
    yield warn(
      "clock",
      `of ${name}: ${skew} PostgreSQL's, by which everything goes`,
      "timedatectl status, on both hosts",
    );
  }
  const { ids_ahead_ms: idsAheadMs = null } = status;
  if (idsAheadMs !== null) {
    const what = `the latest event's id is ${span(idsAheadMs / 1000)} ahead of it: it was ahead once, or is behind now`;
    yield warn("clock", what, "timedatectl status");
  }
  if (putOff > 0) yield warn("clock", putOffText(putOff), "timedatectl status, and look for what set it");
}

function* outboxFindings({ outboxes }: Pick<Status, "outboxes">): Generator<Finding> {
  for (const outbox of outboxes) {
    const { name, trouble } = outbox;
    if (trouble !== null) yield fail("outbox", outboxTroubleText(name, trouble), trouble.todo);
    else if (!isWell(outbox)) yield warn("outbox", `${name}: ${asideText(outbox)}`, "webhookd outbox status");
    else yield ok("outbox", outboxText(outbox));
  }
}

/** An older daemon does not report damaged endpoints. */
function* damagedFindings({ damaged_endpoints: damaged }: Partial<Status>): Generator<Finding> {
  const { total, endpoints } = damaged ?? { total: 0, endpoints: [] };
  for (const { endpoint, tenant, url, parts, reason } of endpoints) {
    yield fail(endpoint, `${url} is damaged: ${reason}; nothing is sent to it`, repairOf(endpoint, parts, tenant));
  }
  const more = total - endpoints.length;
  if (more > 0) yield fail("endpoints", `${count(more, "more is", "more are")} damaged`, "webhookd endpoints list");
}

function* traceFindings({ traces }: Pick<Status, "traces">): Generator<Finding> {
  if (!traces) return;
  const text = tracesText(traces);
  yield traces.failure
    ? warn("traces", text, "check [telemetry] otlp, and that the collector runs")
    : ok("traces", text);
}
