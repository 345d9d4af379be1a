/** Lists the replays of an endpoint with their progress. */
import { useEffect } from "react";
import type { Job } from "../../client/operations.ts";
import { counted } from "../../domain/wording.ts";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { Pages, useCursors } from "../parts/pages.tsx";
import { Loading, Trouble } from "../parts/states.tsx";
import { Status, type Tone } from "../parts/status.tsx";
import { Ago } from "../parts/time.tsx";
import { after } from "../server/clock.ts";
import { useCall, useCan, useRead } from "../session/session.ts";
import { NewJob } from "./new-job.tsx";
import { unawaited } from "../../domain/unawaited.ts";

const PAGE = 20;
const POLL_MS = 1000;

export function Replays({ endpoint }: { endpoint: string }) {
  const [cursors, setCursors] = useCursors();
  const { value, fault, again } = useRead("listJobs", { query: { limit: PAGE, cursor: cursors.at(-1), endpoint } });
  const mayManage = useCan("manage");
  const jobs = value?.data;
  const isRunning = jobs?.some(({ status }) => status === "running") ?? false;
  useEffect(() => (isRunning ? after(POLL_MS, again) : undefined), [isRunning, value]); // oxlint-disable-line
  if (jobs === undefined) return fault ? <Trouble fault={fault} again={again} /> : <Loading />;
  return (
    <>
      <div className="actions start">
        <NewJob endpoint={endpoint} what="failed" />
        <NewJob endpoint={endpoint} what="delivered" />
        {mayManage && <NewJob endpoint={endpoint} what="missed" />}
        {mayManage && <NewJob endpoint={endpoint} what="waiting" />}
      </div>
      {jobs.length === 0 && (
        <div className="empty slim">
          <h2>Nothing has been replayed yet</h2>
          <p>
            If your receiver was down for so long that deliveries failed, replay them here. You can also have events
            sent once more, or those from before the endpoint was added.
          </p>
        </div>
      )}
      <ul className="stack">
        {jobs.map((job) => (
          <JobCard key={job.id} job={job} endpoint={endpoint} />
        ))}
      </ul>
      <Pages cursors={cursors} set={setCursors} next={value?.next_cursor ?? null} />
    </>
  );
}

const STATUS: Readonly<Record<Job["status"], readonly [Tone, string]>> = {
  running: ["wait", "Running"],
  paused: ["warn", "Paused"],
  done: ["good", "Done"],
  cancelled: ["off", "Cancelled"],
};
const ACTIONS = { replay: "Replay", attempt_now: "Attempts now", cancel: "Cancellation" } as const;

function JobCard({ job, endpoint }: { job: Job; endpoint: string }) {
  const { action, filter, status, matched, done, delivered, failed, skipped, paused_reason: why } = job;
  const [tone, word] = STATUS[status];
  const isCancelling = action === "cancel";
  const part = (count: number) => ({ width: `${(100 * count) / Math.max(1, matched)}%` });
  return (
    <li className="card padded job">
      <div className="title">
        <h2>
          {filter.missing === true
            ? `Sending of ${counted(matched, "event that it missed", "events that it missed")}`
            : `${ACTIONS[action]} of ${counted(matched, "delivery", "deliveries")}`}
        </h2>
        <span className="quiet">
          begun <Ago at={job.created_at} />
        </span>
        <Status tone={tone}>{word}</Status>
      </div>
      <div
        className="progress"
        role="progressbar"
        aria-label="Progress"
        aria-valuemin={0}
        aria-valuemax={matched}
        aria-valuenow={done + skipped}
      >
        <i className="good" style={part(isCancelling ? done : delivered)} />
        <i className="warn" style={part(failed)} />
        <i className="off" style={part(skipped)} />
      </div>
      <p className="quiet number" role="status">
        {isCancelling ? `${done.toLocaleString("en-US")} cancelled` : `${delivered.toLocaleString("en-US")} delivered`}
        {failed > 0 && (
          <>
            {` · ${failed.toLocaleString("en-US")} not accepted at first (`}
            <a href={`#/${endpoint}?show=open`}>what is not delivered now</a>)
          </>
        )}
        {skipped > 0 && ` · ${skipped.toLocaleString("en-US")} skipped`}
      </p>
      {why !== null && (
        <p className="alert warn">
          The canary was not accepted, so the rest waits. Fix your receiver, then try another canary, or send all.
        </p>
      )}
      <Steering job={job} />
    </li>
  );
}

function Steering({ job: { id, status, paused_reason: why } }: { job: Job }) {
  const [act, call] = [useAct(), useCall()];
  const steer = (operation: "pauseJob" | "resumeJob" | "cancelJob", body?: object) =>
    unawaited(act.run(() => call(operation, { id, ...(body !== undefined && { body }) })));
  if (status === "done" || status === "cancelled") return null;
  return (
    <div className="actions start">
      {status === "running" && (
        <Button busy={act.busy} onClick={() => steer("pauseJob")}>
          Pause
        </Button>
      )}
      {status === "paused" && why === null && (
        <Button kind="primary" busy={act.busy} onClick={() => steer("resumeJob")}>
          Resume
        </Button>
      )}
      {why !== null && (
        <>
          <Button kind="primary" busy={act.busy} onClick={() => steer("resumeJob", { canary: true })}>
            Try another canary
          </Button>
          <Button busy={act.busy} onClick={() => steer("resumeJob", { send_all: true })}>
            Send all
          </Button>
        </>
      )}
      <Button kind="quiet" busy={act.busy} onClick={() => steer("cancelJob")}>
        Cancel the rest
      </Button>
      {act.fault && <Trouble fault={act.fault} />}
    </div>
  );
}
