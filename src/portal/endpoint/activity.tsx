/** Draws the attempts of an endpoint by their result, and how long they took, over an hour, a day or a week. */
import { useState } from "react";
import type { Statistics } from "../../client/operations.ts";
import { durationText } from "../delivery/attempt.tsx";
import { Choices } from "../parts/choices.tsx";
import { Loading, Trouble } from "../parts/states.tsx";
import { clockText, dayText } from "../parts/time.tsx";
import { useRead } from "../session/session.ts";
import { t, written } from "../language/text.ts";

const WINDOWS = [
  ["1h", "activity.hour"],
  ["24h", "activity.day"],
  ["7d", "activity.week"],
] as const;
type Window = (typeof WINDOWS)[number][0];
type Part = Statistics["series"][number];

export function Activity({ endpoint }: { endpoint: string }) {
  const [window, setWindow] = useState<Window>("24h");
  const { value, fault, again } = useRead("getStatistics", { query: { endpoint, window } }, endpoint);
  return (
    <section className="activity stack" aria-label={t("common.attempts")}>
      <div className="title">
        <h2>{t("common.attempts")}</h2>
        <Choices
          label={t("activity.period")}
          all={WINDOWS.map(([one, key]) => [one, t(key)] as const)}
          chosen={window}
          choose={setWindow}
        />
      </div>
      {value === undefined && (fault ? <Trouble fault={fault} again={again} /> : <Loading />)}
      {value !== undefined && value.attempts.total === 0 && (
        <p className="quiet">{t("activity.thereWereNoneInThis")}</p>
      )}
      {value !== undefined && value.attempts.total > 0 && <Chart statistics={value} />}
    </section>
  );
}

const [WIDTH, BARS, LINES] = [960, 96, 64] as const;

function Chart({ statistics }: { statistics: Statistics }) {
  const { series, attempts, duration_ms: took, step_seconds: step } = statistics;
  const [pointed, setPointed] = useState<number | null>(null);
  const text = t("activity.sum", { count: attempts.succeeded, failed: attempts.failed });
  const at = (x: number, width: number) =>
    Math.min(series.length - 1, Math.max(0, Math.floor((x / width) * series.length)));
  return (
    <>
      <p className="quiet number">
        {pointed === null ? `${text}${tookText(took.p50, took.p95)}.` : partText(series[pointed]!, step)}
      </p>
      <div
        className="charts"
        onPointerMove={({ clientX, currentTarget }) => {
          const { left, width } = currentTarget.getBoundingClientRect();
          setPointed(at(clientX - left, width));
        }}
        onPointerLeave={() => setPointed(null)}
      >
        <Results series={series} pointed={pointed} label={text} />
        <Durations series={series} pointed={pointed} />
      </div>
      <p className="legend quiet" aria-hidden="true">
        <i className="good" /> {t("activity.legend.succeeded")} <i className="bad" /> {t("activity.legend.failed")}{" "}
        <i className="p50" /> {t("activity.legend.half")} <i className="p95" /> {t("activity.legend.most")}
      </p>
      <Table series={series} step={step} />
    </>
  );
}

interface DrawnProps {
  readonly series: readonly Part[];
  readonly pointed: number | null;
}

function Results({ series, pointed, label }: DrawnProps & { label: string }) {
  const most = Math.max(1, ...series.map(({ succeeded, failed }) => succeeded + failed));
  const [step, unit] = [WIDTH / series.length, (BARS - 4) / most];
  // Even a single failure among thousands must be visible.
  const height = (count: number) => (count === 0 ? 0 : Math.max(3, count * unit));
  return (
    <svg viewBox={`0 0 ${WIDTH} ${BARS}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {pointed !== null && <rect className="pointed" x={pointed * step} y={0} width={step} height={BARS} />}
      {series.map(({ at, succeeded, failed }, place) => (
        <g key={at}>
          <rect
            className="bad"
            x={place * step + 1}
            width={step - 2}
            y={BARS - height(failed)}
            height={height(failed)}
          />
          <rect
            className="good"
            x={place * step + 1}
            width={step - 2}
            y={BARS - height(failed) - height(succeeded)}
            height={height(succeeded)}
          />
        </g>
      ))}
    </svg>
  );
}

function Durations({ series, pointed }: DrawnProps) {
  const most = Math.max(1, ...series.map(({ duration_p95_ms: p95 }) => p95 ?? 0));
  const step = WIDTH / series.length;
  const line = (pick: (part: Part) => number | null) =>
    series
      .map((part, place) => [place, pick(part)] as const)
      .filter((one): one is readonly [number, number] => one[1] !== null)
      .map(([place, ms]) => `${(place + 0.5) * step},${LINES - 2 - ((LINES - 6) * ms) / most}`);
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${LINES}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={t("activity.durations", { duration: durationText(most) })}
    >
      {pointed !== null && <rect className="pointed" x={pointed * step} y={0} width={step} height={LINES} />}
      <Line name="p95" points={line(({ duration_p95_ms: p95 }) => p95)} />
      <Line name="p50" points={line(({ duration_p50_ms: p50 }) => p50)} />
    </svg>
  );
}

/** A single point has no line, so it becomes a short one. */
function Line({ name, points }: { name: string; points: readonly string[] }) {
  const [first] = points;
  if (first === undefined) return null;
  const path = points.length > 1 ? `M${points.join("L")}` : `M${first}h6`;
  return <path className={name} d={path} vectorEffect="non-scaling-stroke" />;
}

function periodText({ at }: Part, step: number): string {
  const start = Date.parse(at);
  return `${dayText(start)}–${clockText(start + step * 1000)}`;
}

function partText(part: Part, step: number): string {
  const { succeeded, failed, duration_p50_ms: p50, duration_p95_ms: p95 } = part;
  const period = periodText(part, step);
  return `${t("activity.part", { period, succeeded, failed })}${tookText(p50, p95)}.`;
}

function tookText(p50: number | null, p95: number | null): string {
  if (p50 === null) return "";
  return `; ${t("activity.took", { half: durationText(p50), most: durationText(p95!) })}`;
}

const COLUMNS = ["activity.time", "activity.succeeded", "activity.failed", "activity.half", "activity.most"] as const;

function Table({ series, step }: { series: readonly Part[]; step: number }) {
  const [open, setOpen] = useState(false);
  const busy = series.filter(({ succeeded, failed }) => succeeded + failed > 0).toReversed();
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="quiet">{t("activity.asATable")}</summary>
      {open && (
        <table className="numbers">
          <thead>
            <tr>
              {COLUMNS.map((key) => (
                <th key={key} scope="col">
                  {t(key)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {busy.map((part) => (
              <tr key={part.at}>
                <th scope="row">{periodText(part, step)}</th>
                <td>{written(part.succeeded)}</td>
                <td>{written(part.failed)}</td>
                <td>{part.duration_p50_ms === null ? "–" : durationText(part.duration_p50_ms)}</td>
                <td>{part.duration_p95_ms === null ? "–" : durationText(part.duration_p95_ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </details>
  );
}
