/** Replays all failed deliveries of an endpoint: first the plan, then one delivery as a canary, then the others. */
import { useEffect, useState } from "react";
import type { ClientError } from "../../client/error.ts";
import type { Job, JobPlan } from "../../client/operations.ts";
import { counted } from "../../domain/wording.ts";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { Sheet } from "../parts/dialog.tsx";
import { spanText } from "../parts/span.ts";
import { Loading, Trouble } from "../parts/states.tsx";
import { now } from "../server/clock.ts";
import { go } from "../session/route.ts";
import { useCall, useSession } from "../session/session.ts";
import { unawaited } from "../../domain/unawaited.ts";

export function ReplayFailed({ endpoint, word = "Replay all that failed" }: { endpoint: string; word?: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{word}</Button>
      <Sheet open={open} close={() => setOpen(false)} title="Replay what failed">
        <Planning endpoint={endpoint} close={() => setOpen(false)} />
      </Sheet>
    </>
  );
}

const HOUR = 3_600_000;
const SINCE = [
  ["the beginning", null],
  ["the last hour", HOUR],
  ["the last 6 hours", 6 * HOUR],
  ["the last 24 hours", 24 * HOUR],
  ["the last 7 days", 168 * HOUR],
] as const;

function draftOf(endpoint: string, since: string | null) {
  return { action: "replay", filter: { status: "failed", endpoint, ...(since !== null && { since }) } };
}

function Planning({ endpoint, close }: { endpoint: string; close: () => void }) {
  const [period, setPeriod] = useState(0);
  const [since, setSince] = useState<string | null>(null);
  const [plan, setPlan] = useState<JobPlan | null>(null);
  const [act, call] = [useAct(), useCall()];
  const { client, tenant } = useSession();
  const [fault, setFault] = useState<ClientError>();
  useEffect(() => {
    const leaving = new AbortController();
    setPlan(null);
    setFault(undefined);
    const body = { ...draftOf(endpoint, since), dry_run: true };
    client.call("createJob", { body, query: { tenant }, signal: leaving.signal }).then(
      (answer) => setPlan(answer as JobPlan),
      (error: ClientError) => leaving.signal.aborted || setFault(error),
    );
    return () => leaving.abort();
  }, [client, tenant, endpoint, since]);
  const choose = (at: number) => {
    setPeriod(at);
    const length = SINCE[at]![1];
    setSince(length === null ? null : new Date(now() - length).toISOString());
  };
  const begin = () =>
    act.run(async () => {
      const body = { ...draftOf(endpoint, since), expect: plan!.matched, canary: true };
      const job = (await call("createJob", { body })) as Job;
      close();
      go(`${endpoint}/replays/${job.id}`);
    });
  return (
    <>
      <div className="field">
        <label htmlFor="since">Failed deliveries of events since</label>
        <select id="since" value={period} onChange={({ target }) => choose(Number(target.value))}>
          {SINCE.map(([word], at) => (
            <option key={word} value={at}>
              {word}
            </option>
          ))}
        </select>
      </div>
      {plan === null ? fault === undefined && <Loading lines={3} /> : <Plan plan={plan} />}
      {(fault ?? act.fault) && <Trouble fault={(fault ?? act.fault)!} />}
      <div className="actions">
        <Button onClick={close}>Cancel</Button>
        {plan !== null && plan.matched > 0 && (
          <Button kind="primary" busy={act.busy} onClick={() => unawaited(begin())}>
            {`Replay ${counted(plan.matched, "delivery", "deliveries")}`}
          </Button>
        )}
      </div>
    </>
  );
}

function Plan({ plan: { matched, timed_out: timedOut, eta_seconds: seconds, left_alone: left } }: { plan: JobPlan }) {
  if (matched === 0)
    return (
      <p role="status">
        {left.length > 0
          ? "This endpoint is disabled, so nothing can be replayed. Enable it first."
          : "Nothing has failed since then."}
      </p>
    );
  return (
    <div role="status">
      <ul className="plan">
        <li>
          <strong>{counted(matched, "delivery", "deliveries")}</strong> will be sent again, with the same ids and
          bodies. It takes about {spanText(Math.max(1, seconds) * 1000)}.
        </li>
        <li>One is tried first, as a canary. If your receiver does not accept it, the rest waits until you decide.</li>
        {timedOut > 0 && (
          <li>
            {counted(
              timedOut,
              "of them timed out, so your receiver may have handled it",
              "of them timed out, so your receiver may have handled them",
            )}{" "}
            already. The event's id stays the same: a receiver that remembers ids drops duplicates.
          </li>
        )}
      </ul>
    </div>
  );
}
