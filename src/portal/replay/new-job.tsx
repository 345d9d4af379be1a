/** Jobs for an endpoint: replaying, sending what it missed, cancelling what waits. First the plan, then a canary. */
import { useEffect, useState } from "react";
import type { ClientError } from "../../client/error.ts";
import type { Job, JobPlan } from "../../client/operations.ts";
import { counted } from "../../domain/wording.ts";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { Sheet } from "../parts/dialog.tsx";
import { InstantField } from "../parts/instant-field.tsx";
import { spanText } from "../parts/span.ts";
import { Loading, Trouble } from "../parts/states.tsx";
import { now } from "../server/clock.ts";
import { go } from "../session/route.ts";
import { useCall, useSession } from "../session/session.ts";
import { unawaited } from "../../domain/unawaited.ts";

interface Kind {
  readonly button: string;
  readonly title: string;
  readonly since: string;
  readonly action: "replay" | "cancel";
  readonly filter: object;
  readonly verb: string;
  readonly nouns: readonly [one: string, many: string];
  readonly how: string;
  readonly none: string;
  /** The number of the period that is chosen at first. */
  readonly period: number;
}

const KINDS = {
  failed: {
    button: "Replay all that failed",
    title: "Replay what failed",
    since: "Failed deliveries of events since",
    action: "replay",
    filter: { status: "failed" },
    verb: "Replay",
    nouns: ["delivery", "deliveries"],
    how: "will be sent again, with the same ids and bodies.",
    none: "Nothing failed in this period.",
    period: 0,
  },
  delivered: {
    button: "Replay what was delivered",
    title: "Replay what was delivered",
    since: "Delivered events since",
    action: "replay",
    filter: { status: "delivered" },
    verb: "Replay",
    nouns: ["delivery", "deliveries"],
    how: "will be sent once more, although your receiver accepted them. The ids stay the same, so a receiver that remembers ids drops them.",
    none: "Nothing was delivered in this period.",
    period: 3,
  },
  missed: {
    button: "Send what it missed",
    title: "Send what it missed",
    since: "Events that were never sent here since",
    action: "replay",
    filter: { missing: true },
    verb: "Send",
    nouns: ["event", "events"],
    how: "will be sent. The types and the filter of this endpoint take them, but it never got them, for example because they are from before it was added.",
    none: "It missed nothing in this period.",
    period: 3,
  },
  waiting: {
    button: "Cancel what waits",
    title: "Cancel what waits",
    since: "Waiting deliveries of events since",
    action: "cancel",
    filter: {},
    verb: "Cancel",
    nouns: ["delivery", "deliveries"],
    how: "will be cancelled: no more attempts are made for them. This cannot be undone.",
    none: "Nothing waits in this period.",
    period: 0,
  },
} as const satisfies Readonly<Record<string, Kind>>;

interface Props {
  readonly endpoint: string;
  readonly what: keyof typeof KINDS;
}

export function NewJob({ endpoint, what }: Props) {
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{KINDS[what].button}</Button>
      <Sheet open={open} close={close} title={KINDS[what].title}>
        <Planning endpoint={endpoint} kind={KINDS[what]} close={close} />
      </Sheet>
    </>
  );
}

const HOUR = 3_600_000;
const PERIODS = [
  ["the beginning", null],
  ["the last hour", HOUR],
  ["the last 6 hours", 6 * HOUR],
  ["the last 24 hours", 24 * HOUR],
  ["the last 7 days", 168 * HOUR],
] as const;
/** The number of the choice after those. */
const OWN = PERIODS.length;

interface Period {
  readonly chosen: number;
  readonly since: string | null;
  readonly until: string | null;
}

function periodOf(chosen: number): Period {
  const length = PERIODS[chosen]![1];
  return { chosen, since: length === null ? null : new Date(now() - length).toISOString(), until: null };
}

function Planning({ endpoint, kind, close }: { endpoint: string; kind: Kind; close: () => void }) {
  const [period, setPeriod] = useState(() => periodOf(kind.period));
  const { since, until } = period;
  const filter = { ...kind.filter, endpoint, ...(since !== null && { since }), ...(until !== null && { until }) };
  const { plan, fault } = usePlan(kind.action, filter);
  const isReplay = kind.action === "replay";
  const [act, call] = [useAct(), useCall()];
  const begin = () =>
    act.run(async () => {
      const body = { action: kind.action, filter, expect: plan!.matched, canary: isReplay };
      const job = (await call("createJob", { body })) as Job;
      close();
      go(`${endpoint}/replays/${job.id}`);
    });
  return (
    <>
      <PeriodField label={kind.since} period={period} change={setPeriod} />
      {plan === null ? fault === undefined && <Loading lines={3} /> : <Plan plan={plan} kind={kind} />}
      {(fault ?? act.fault) && <Trouble fault={(fault ?? act.fault)!} />}
      <div className="actions">
        <Button onClick={close}>{isReplay ? "Cancel" : "Keep them"}</Button>
        {plan !== null && plan.matched > 0 && (
          <Button
            kind={isReplay ? "primary" : "danger"}
            className={isReplay ? undefined : "primary"}
            busy={act.busy}
            onClick={() => unawaited(begin())}
          >
            {`${kind.verb} ${counted(plan.matched, ...kind.nouns)}`}
          </Button>
        )}
      </div>
    </>
  );
}

interface Planned {
  /** Null until it is known. */
  readonly plan: JobPlan | null;
  readonly fault: ClientError | undefined;
}

function usePlan(action: Kind["action"], filter: object): Planned {
  const { client, tenant } = useSession();
  const [planned, setPlanned] = useState<Planned>({ plan: null, fault: undefined });
  const text = JSON.stringify(filter);
  useEffect(() => {
    const leaving = new AbortController();
    setPlanned({ plan: null, fault: undefined });
    const body = { action, filter: JSON.parse(text) as object, dry_run: true };
    client.call("createJob", { body, query: { tenant }, signal: leaving.signal }).then(
      (answer) => setPlanned({ plan: answer as JobPlan, fault: undefined }),
      (fault: ClientError) => leaving.signal.aborted || setPlanned({ plan: null, fault }),
    );
    return () => leaving.abort();
  }, [client, tenant, action, text]);
  return planned;
}

interface PeriodProps {
  readonly label: string;
  readonly period: Period;
  readonly change: (period: Period) => void;
}

function PeriodField({ label, period, change }: PeriodProps) {
  const choose = (at: number) => change(at === OWN ? { ...period, chosen: OWN } : periodOf(at));
  return (
    <div className="field">
      <label htmlFor="since">{label}</label>
      <select id="since" value={period.chosen} onChange={({ target }) => choose(Number(target.value))}>
        {PERIODS.map(([word], at) => (
          <option key={word} value={at}>
            {word}
          </option>
        ))}
        <option value={OWN}>a time of your own…</option>
      </select>
      {period.chosen === OWN && (
        <div className="period">
          <InstantField label="From" instant={period.since} change={(since) => change({ ...period, since })} />
          <InstantField label="To" instant={period.until} change={(until) => change({ ...period, until })} />
        </div>
      )}
    </div>
  );
}

function Plan({ plan, kind }: { plan: JobPlan; kind: Kind }) {
  const { matched, timed_out: timedOut, eta_seconds: seconds, left_alone: left } = plan;
  if (matched === 0)
    return (
      <p role="status">
        {left.length > 0 ? "This endpoint is disabled, so nothing can be sent. Enable it first." : kind.none}
      </p>
    );
  return (
    <div role="status">
      <ul className="plan">
        <li>
          <strong>{counted(matched, ...kind.nouns)}</strong> {kind.how}
          {kind.action === "replay" && ` It takes about ${spanText(Math.max(1, seconds) * 1000)}.`}
        </li>
        {kind.action === "replay" && (
          <li>
            One is tried first, as a canary. If your receiver does not accept it, the rest waits until you decide.
          </li>
        )}
        {kind.action === "replay" && timedOut > 0 && (
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
