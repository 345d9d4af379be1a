/** Jobs for an endpoint: replaying, sending what it missed, cancelling what waits. First the plan, then a canary. */
import { useEffect, useState } from "react";
import type { ClientError } from "../../client/error.ts";
import type { Job, JobPlan } from "../../client/operations.ts";
import { MARKS, rich } from "../language/rich.tsx";
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
import { t } from "../language/text.ts";
import type { WordKey } from "../language/catalogue.ts";

interface Kind {
  readonly button: WordKey;
  readonly title: WordKey;
  readonly since: WordKey;
  readonly action: "replay" | "cancel";
  readonly filter: object;
  /** The button that begins it, with the number. */
  readonly begin: "job.failedBegin" | "job.deliveredBegin" | "job.missedBegin" | "job.waitingBegin";
  readonly plan: "job.failedPlan" | "job.deliveredPlan" | "job.missedPlan" | "job.waitingPlan";
  readonly none: WordKey;
  /** The number of the period that is chosen at first. */
  readonly period: number;
}

const KINDS = {
  failed: {
    button: "job.failed",
    title: "job.failedTitle",
    since: "job.failedSince",
    action: "replay",
    filter: { status: "failed" },
    begin: "job.failedBegin",
    plan: "job.failedPlan",
    none: "job.failedNone",
    period: 0,
  },
  delivered: {
    button: "job.delivered",
    title: "job.deliveredTitle",
    since: "job.deliveredSince",
    action: "replay",
    filter: { status: "delivered" },
    begin: "job.deliveredBegin",
    plan: "job.deliveredPlan",
    none: "job.deliveredNone",
    period: 3,
  },
  missed: {
    button: "job.missed",
    title: "job.missedTitle",
    since: "job.missedSince",
    action: "replay",
    filter: { missing: true },
    begin: "job.missedBegin",
    plan: "job.missedPlan",
    none: "job.missedNone",
    period: 3,
  },
  waiting: {
    button: "job.waiting",
    title: "job.waitingTitle",
    since: "job.waitingSince",
    action: "cancel",
    filter: {},
    begin: "job.waitingBegin",
    plan: "job.waitingPlan",
    none: "job.waitingNone",
    period: 0,
  },
} as const satisfies Readonly<Record<string, Kind>>;

interface Props {
  readonly endpoint: string;
  readonly kind: keyof typeof KINDS;
}

export function NewJob({ endpoint, kind }: Props) {
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t(KINDS[kind].button)}</Button>
      <Sheet open={open} close={close} title={t(KINDS[kind].title)}>
        <Planning endpoint={endpoint} kind={KINDS[kind]} close={close} />
      </Sheet>
    </>
  );
}

const HOUR = 3_600_000;
const PERIODS = [
  ["job.beginning", null],
  ["job.lastHour", HOUR],
  ["job.last6Hours", 6 * HOUR],
  ["job.last24Hours", 24 * HOUR],
  ["job.last7Days", 168 * HOUR],
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
      <PeriodField label={t(kind.since)} period={period} change={setPeriod} />
      {plan === null ? fault === undefined && <Loading lines={3} /> : <Plan plan={plan} kind={kind} />}
      {(fault ?? act.fault) && <Trouble fault={(fault ?? act.fault)!} />}
      <div className="actions">
        <Button onClick={close}>{isReplay ? t("common.cancel") : t("job.keepThem")}</Button>
        {plan !== null && plan.matched > 0 && (
          <Button
            kind={isReplay ? "primary" : "danger"}
            className={isReplay ? undefined : "primary"}
            busy={act.busy}
            onClick={() => unawaited(begin())}
          >
            {t(kind.begin, { count: plan.matched })}
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
            {t(word)}
          </option>
        ))}
        <option value={OWN}>{t("job.aTimeOfYourOwn")}</option>
      </select>
      {period.chosen === OWN && (
        <div className="period">
          <InstantField
            label={t("common.from")}
            instant={period.since}
            change={(since) => change({ ...period, since })}
          />
          <InstantField
            label={t("common.to")}
            instant={period.until}
            change={(until) => change({ ...period, until })}
          />
        </div>
      )}
    </div>
  );
}

function Plan({ plan, kind }: { plan: JobPlan; kind: Kind }) {
  const { matched, timed_out: timedOut, eta_seconds: seconds, left_alone: left } = plan;
  if (matched === 0) return <p role="status">{left.length > 0 ? t("job.disabled") : t(kind.none)}</p>;
  return (
    <div role="status">
      <ul className="plan">
        <li>
          {rich(kind.plan, { count: matched, ...MARKS })}{" "}
          {kind.action === "replay" && t("job.takes", { span: spanText(Math.max(1, seconds) * 1000) })}
        </li>
        {kind.action === "replay" && <li>{t("job.oneIsTriedFirstAs")}</li>}
        {kind.action === "replay" && timedOut > 0 && <li>{t("job.timedOut", { count: timedOut })}</li>}
      </ul>
    </div>
  );
}
