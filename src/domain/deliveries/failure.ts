/** What does not arrive, grouped: deliveries to one endpoint whose latest attempt failed the same way are one trouble. */
import type { AttemptError } from "./attempt.ts";

/** A delivery that has not arrived, with the attempt that says why. Instants are epoch milliseconds. */
export interface Failure {
  readonly endpoint: string;
  readonly status: "failed" | "pending" | "held";
  readonly error: AttemptError;
  readonly statusCode: number | null;
  /** When attempts of this round first failed so, and when they last did. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** The attempt's id; asked for only where it is the latest of its group. */
  readonly attempt: () => string;
}

export interface FailureGroup {
  readonly endpoint: string;
  readonly error: AttemptError;
  readonly statusCode: number | null;
  readonly failed: number;
  readonly pending: number;
  readonly held: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** How many failed last in each part of the period. */
  readonly series: readonly number[];
  /** Id of the latest of the attempts. */
  readonly sampleAttempt: string;
}

/** `parts` parts of `stepMs` each; what lies before or after them counts in the first or last one. */
export interface Parts {
  readonly since: number;
  readonly stepMs: number;
  readonly parts: number;
}

interface Growing extends FailureGroup {
  failed: number;
  pending: number;
  held: number;
  firstAt: number;
  lastAt: number;
  readonly series: number[];
  sampleAttempt: string;
}

export class FailureGroups {
  readonly #parts: Parts;
  readonly #groups = new Map<string, Growing>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#groups.size;
  }

  add(failure: Failure): void {
    const { since, stepMs, parts } = this.#parts;
    const group = this.#of(failure);
    group[failure.status]++;
    const part = Math.floor((failure.lastAt - since) / stepMs);
    group.series[Math.min(Math.max(part, 0), parts - 1)]!++;
    group.firstAt = Math.min(group.firstAt, failure.firstAt);
    if (failure.lastAt <= group.lastAt) return;
    group.lastAt = failure.lastAt;
    group.sampleAttempt = failure.attempt();
  }

  /** Those of whom most is missing come first. */
  largest(limit: number): FailureGroup[] {
    const weight = ({ failed, pending, held }: FailureGroup) => failed + pending + held;
    const all: FailureGroup[] = [...this.#groups.values()];
    return all.sort((a, b) => weight(b) - weight(a) || b.lastAt - a.lastAt).slice(0, limit);
  }

  #of({ endpoint, error, statusCode }: Failure): Growing {
    const key = `${endpoint} ${error} ${statusCode}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      const none = { failed: 0, pending: 0, held: 0, firstAt: Infinity, lastAt: -Infinity, sampleAttempt: "" };
      group = { endpoint, error, statusCode, ...none, series: Array<number>(this.#parts.parts).fill(0) };
      this.#groups.set(key, group);
    }
    return group;
  }
}
