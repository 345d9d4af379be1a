/** The result of a scenario: one value per round, and the goal for their median. */

export interface Goal {
  readonly id: string;
  readonly text: string;
  readonly meets: (median: number) => boolean;
}

export interface Measure {
  readonly scenario: string;
  readonly name: string;
  readonly unit: string;
  readonly values: readonly number[];
  readonly goal: Goal | null;
}

export const atMost = (id: string, limit: number, unit = ""): Goal => ({
  id,
  text: `≤ ${limit}${unit}`,
  meets: (median) => median <= limit,
});

export const atLeast = (id: string, limit: number, unit = ""): Goal => ({
  id,
  text: `≥ ${limit}${unit}`,
  meets: (median) => median >= limit,
});

/** The goal in every run that nothing acked is lost, forged or broken. */
export const none = (id: string): Goal => ({ id, text: "0", meets: (median) => median === 0 });

/** Collects the measures of one scenario. */
export class Measures {
  readonly all: Measure[] = [];
  readonly #scenario: string;

  constructor(scenario: string) {
    this.#scenario = scenario;
  }

  add(name: string, unit: string, values: readonly number[], goal: Goal | null = null): void {
    this.all.push({ scenario: this.#scenario, name, unit, values, goal });
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

export function percentile(values: ArrayLike<number>, share: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
}

/** Divides the rounds of one side by those of the other, pairwise. */
export function ratios(these: readonly number[], those: readonly number[]): number[] {
  return these.map((value, round) => value / those[round]!);
}

export function holds({ goal, values }: Measure): boolean | null {
  if (goal === null) return null;
  return goal.text === "0" ? values.every((value) => goal.meets(value)) : goal.meets(median(values));
}
