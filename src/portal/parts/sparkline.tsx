/** Draws the attempts of the last day: a bar for each hour, with the failures at its foot. */

import { t } from "../language/text.ts";

export interface Bar {
  readonly succeeded: number;
  readonly failed: number;
}

const [WIDTH, HEIGHT, GAP] = [96, 24, 1] as const;

export function Sparkline({ bars }: { bars: readonly Bar[] }) {
  const most = Math.max(1, ...bars.map(({ succeeded, failed }) => succeeded + failed));
  const step = WIDTH / bars.length;
  const sum = (pick: (bar: Bar) => number) => bars.reduce((total, bar) => total + pick(bar), 0);
  const [good, bad] = [sum(({ succeeded }) => succeeded), sum(({ failed }) => failed)];
  const text = good + bad === 0 ? t("spark.none") : t("spark.sum", { count: good, failed: bad });
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={text}
    >
      <title>{text}</title>
      <path className="ground" d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
      {bars.map((bar, at) => (
        <Column key={at} bar={bar} x={at * step} width={step - GAP} unit={(HEIGHT - 2) / most} />
      ))}
    </svg>
  );
}

function Column({ bar: { succeeded, failed }, x, width, unit }: { bar: Bar; x: number; width: number; unit: number }) {
  // Even a single failure among thousands must be visible.
  const bad = failed === 0 ? 0 : Math.max(2, failed * unit);
  const good = succeeded === 0 ? 0 : Math.max(1.5, succeeded * unit);
  return (
    <>
      {bad > 0 && <rect className="bad" x={x} y={HEIGHT - bad} width={width} height={bad} />}
      {good > 0 && <rect className="good" x={x} y={Math.max(0, HEIGHT - bad - good)} width={width} height={good} />}
    </>
  );
}
