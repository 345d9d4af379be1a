/** Tries a filter on recent events while it is filled in, and says of each which condition decided. */
import { useState } from "react";
import type { ClientError } from "../../client/error.ts";
import type { EventSummary } from "../../client/operations.ts";
import { explain } from "../../domain/events/filter/evaluate.ts";
import type { Filter } from "../../domain/events/filter/filter.ts";
import { chooses } from "../../domain/events/pattern.ts";
import { MARKS, rich } from "../language/rich.tsx";
import { Loading, Trouble } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { Ago } from "../parts/time.tsx";
import { now } from "../server/clock.ts";
import { useRead, useSession } from "../session/session.ts";
import type { FilterReading } from "./draft.ts";
import { boundsOf, type Period, PERIODS } from "./periods.ts";
import { reasonText } from "./reasons.ts";
import type { Row } from "./rows.ts";
import { t } from "../language/text.ts";

/** The maximum number of events that a filter is tried on: a page of the list. */
const MOST = 100;
/** The maximum number of events listed that would have been received, and the most that would have been left out. */
const SHOWN = 10;

export interface Recent {
  /** Events of the chosen types with their data, newest first. */
  readonly events: readonly EventSummary[];
  readonly period: Period;
  readonly choose: (period: Period) => void;
  /** `closed`: a link to several endpoints does not see the events of a new one. */
  readonly state: "closed" | "reading" | "read";
  /** True if there are more events than were read. */
  readonly isMore: boolean;
  readonly fault: ClientError | undefined;
  readonly again: () => void;
}

/** Longer lists of types are not asked for by name, because an address has a limit. */
const MOST_NAMED = 20;

/** `chosen` has the names and patterns that the endpoint chose, and `types` what these are today. */
export function useEvents(chosen: readonly string[], types: readonly string[], endpoint: string | null): Recent {
  const { portal } = useSession();
  const [period, choose] = useState<Period>("newest");
  // Otherwise each second would be another question.
  const [bounds, setBounds] = useState<ReturnType<typeof boundsOf>>({});
  // A link that is only for some endpoints sees the events of one of them at a time.
  const only = portal.endpoints === null ? undefined : (endpoint ?? undefined);
  const isClosed = portal.endpoints !== null && only === undefined;
  const type = types.length > 0 && types.length <= MOST_NAMED ? types.join(",") : undefined;
  const query = { include: "data", limit: MOST, endpoint: only, test: false, type, ...bounds };
  const { value, fault, again } = useRead("listEvents", isClosed ? null : { query });
  return {
    events: (value?.data ?? []).filter(({ type, data }) => chooses(chosen, type) && data),
    period,
    choose: (next) => (choose(next), setBounds(boundsOf(next, now()))),
    state: isClosed ? "closed" : value === undefined ? "reading" : "read",
    isMore: value !== undefined && value.next_cursor !== null,
    fault,
    again,
  };
}

interface Props {
  readonly reading: FilterReading;
  /** Empty if the filter is written as JSON. */
  readonly rows: readonly Row[];
  readonly recent: Recent;
}

export function Trial({ reading, rows, recent }: Props) {
  if (recent.state === "closed") return null;
  return (
    <section className="trial card padded stack" aria-label={t("trial.tryIt")}>
      <div className="field inline">
        <label htmlFor="period">{t("trial.tryItOn")}</label>
        <select id="period" value={recent.period} onChange={({ target }) => recent.choose(target.value as Period)}>
          {(Object.keys(PERIODS) as Period[]).map((period) => (
            <option key={period} value={period}>
              {t(PERIODS[period])}
            </option>
          ))}
        </select>
      </div>
      <Results {...{ reading, rows, recent }} />
    </section>
  );
}

function Results({ reading, rows, recent: { events, isMore, state, fault, again } }: Props) {
  if (state === "reading") return fault ? <Trouble fault={fault} again={again} /> : <Loading lines={3} />;
  if (events.length === 0) return <p className="help">{t("trial.thereIsNoEventOf")}</p>;
  const { filter, pointers } = reading;
  if (filter === undefined) return <p className="help">{t("trial.theFilterHasAMistake")}</p>;
  const results = events.map((event) => ({ event, ...resultOf(filter, event) }));
  const [received, leftOut] = [true, false].map((one) => results.filter(({ matches }) => matches === one));
  const shown = new Set([...received!.slice(0, SHOWN), ...leftOut!.slice(0, SHOWN)]);
  return (
    <>
      <p role="status">
        {isMore
          ? rich("trial.ofNewest", { count: events.length, received: received!.length, ...MARKS })
          : rich("trial.of", { count: events.length, received: received!.length, ...MARKS })}
      </p>
      <ul className="results" aria-label={t("trial.theEvents")}>
        {results
          .filter((one) => shown.has(one))
          .map(({ event, matches, decided }) => (
            <li key={event.id}>
              <Status tone={matches ? "good" : "off"}>{matches ? t("trial.received") : t("trial.leftOut")}</Status>
              <span>
                {decided.map((one) => reasonText(one, rows, pointers)).join("; ")}{" "}
                <span className="quiet">
                  <code>{event.type}</code> <Ago at={event.created_at} />
                </span>
              </span>
            </li>
          ))}
      </ul>
      {shown.size < results.length && <p className="help">{t("trial.listed", { number: SHOWN })}</p>}
    </>
  );
}

function resultOf(filter: Filter | null, { type, data, tags }: EventSummary) {
  return filter === null ? { matches: true, decided: [] } : explain(filter, { type, data, tags });
}
