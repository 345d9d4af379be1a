/** Lists the replays of an endpoint with their progress. */
import { useEffect } from "react";
import type { Job } from "../../client/operations.ts";
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
import { t } from "../language/text.ts";
import { rich } from "../language/rich.tsx";
import type { WordKey } from "../language/catalogue.ts";

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
        <NewJob endpoint={endpoint} kind="failed" />
        <NewJob endpoint={endpoint} kind="delivered" />
        {mayManage && <NewJob endpoint={endpoint} kind="missed" />}
        {mayManage && <NewJob endpoint={endpoint} kind="waiting" />}
      </div>
      {jobs.length === 0 && (
        <div className="empty slim">
          <h2>{t("replays.nothingHasBeenReplayedYet")}</h2>
          <p>{t("replays.ifYourReceiverWasDown")}</p>
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

const STATUS: Readonly<Record<Job["status"], readonly [Tone, WordKey]>> = {
  running: ["wait", "replays.running"],
  paused: ["warn", "replays.paused"],
  done: ["good", "replays.done"],
  cancelled: ["off", "replays.cancelled"],
};
const TITLES = {
  replay: "replays.replayOf",
  attempt_now: "replays.attemptsOf",
  cancel: "replays.cancellationOf",
} as const;

function JobCard({ job, endpoint }: { job: Job; endpoint: string }) {
  const { action, filter, status, matched, done, delivered, failed, skipped, paused_reason: why } = job;
  const [tone, word] = STATUS[status];
  const isCancelling = action === "cancel";
  const part = (count: number) => ({ width: `${(100 * count) / Math.max(1, matched)}%` });
  return (
    <li className="card padded job">
      <div className="title">
        <h2>
          {filter.missing === true ? t("replays.sendingOf", { count: matched }) : t(TITLES[action], { count: matched })}
        </h2>
        <span className="quiet">{rich("replays.begun", { ago: <Ago at={job.created_at} /> })}</span>
        <Status tone={tone}>{t(word)}</Status>
      </div>
      <div
        className="progress"
        role="progressbar"
        aria-label={t("replays.progress")}
        aria-valuemin={0}
        aria-valuemax={matched}
        aria-valuenow={done + skipped}
      >
        <i className="good" style={part(isCancelling ? done : delivered)} />
        <i className="warn" style={part(failed)} />
        <i className="off" style={part(skipped)} />
      </div>
      <p className="quiet number" role="status">
        {isCancelling
          ? t("replays.numberCancelled", { count: done })
          : t("replays.numberDelivered", { count: delivered })}
        {failed > 0 && (
          <>
            {" · "}
            {rich("replays.notAccepted", {
              count: failed,
              link: (within) => <a href={`#/${endpoint}?show=open`}>{within}</a>,
            })}
          </>
        )}
        {skipped > 0 && ` · ${t("replays.skipped", { count: skipped })}`}
      </p>
      {why !== null && <p className="alert warn">{t("replays.theCanaryWasNotAccepted")}</p>}
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
          {t("replays.pause")}
        </Button>
      )}
      {status === "paused" && why === null && (
        <Button kind="primary" busy={act.busy} onClick={() => steer("resumeJob")}>
          {t("replays.resume")}
        </Button>
      )}
      {why !== null && (
        <>
          <Button kind="primary" busy={act.busy} onClick={() => steer("resumeJob", { canary: true })}>
            {t("replays.tryAnotherCanary")}
          </Button>
          <Button busy={act.busy} onClick={() => steer("resumeJob", { send_all: true })}>
            {t("replays.sendAll")}
          </Button>
        </>
      )}
      <Button kind="quiet" busy={act.busy} onClick={() => steer("cancelJob")}>
        {t("replays.cancelTheRest")}
      </Button>
      {act.fault && <Trouble fault={act.fault} />}
    </div>
  );
}
