import type { Status } from "../../src/client/answers.ts";
import { isAway } from "../away.ts";
import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { ago, span } from "../words.ts";

const WAIT_MS = 30_000;
const POLL_MS = 200;

export async function run(args: Args<"status">, io: Io): Promise<number> {
  const status = args.wait ? await waitUntilReady(args, io) : await connect(args, io).call("getStatus");
  if (args.json) sayJson(io, status);
  else for (const line of linesOf(status, io.now())) say(io, line);
  if (status.state === "ready") return EXIT.ok;
  return args.wait ? EXIT.wait_ran_out : EXIT.answer_is_no;
}

/** The last status there was when the time is over; a daemon that was never reached is an error all the same. */
async function waitUntilReady(args: Args<"status">, io: Io): Promise<Status> {
  const end = io.monotonic() + WAIT_MS;
  for (;;) {
    const isOver = io.monotonic() >= end;
    try {
      // Found anew each time: a daemon that starts makes its socket.
      const status = await connect(args, io).call("getStatus");
      if (status.state === "ready" || isOver) return status;
    } catch (error) {
      if (!isAway(error)) throw error;
      if (isOver) throw new Failure("wait_ran_out", `${(error as Error).message}; waited for 30s`);
    }
    await io.sleep(POLL_MS);
  }
}

function linesOf(status: Status, now: number): string[] {
  const { disk, database, paused, backup } = status;
  const last = backup.last === null ? "none yet" : `${backup.last.file}, ${ago(backup.last.at, now)}`;
  return [
    `webhookd ${status.version}: ${status.state}, up ${span(status.uptime_seconds)}`,
    `  attempts  ${paused === null ? "go on" : `PAUSED since ${paused.at} by ${paused.by}: ${paused.reason}`}`,
    `  due       ${status.oldest_due_at === null ? "nothing waits" : `the oldest ${ago(status.oldest_due_at, now)}`}`,
    `  disk      ${size(disk.free_bytes)} free, publishes are refused under ${size(disk.floor_bytes)}`,
    `  database  ${size(database.bytes)}, log ${size(database.wal_bytes)}, schema ${status.schema}`,
    `  backup    ${last}`,
    ...(backup.failure === null ? [] : [`  BACKUP FAILED ${ago(backup.failure.at, now)}: ${backup.failure.detail}`]),
    ...(status.careful ? ["  careful mode: the process died twice in quick succession"] : []),
    ...status.departures.map((sentence) => `  ${sentence}`),
  ];
}

function size(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const step = bytes < 1 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** step;
  return `${value < 10 && step > 0 ? value.toFixed(1) : Math.round(value)} ${units[step]}`;
}
