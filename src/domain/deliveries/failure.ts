/**
 * Groups deliveries that do not arrive: those to one endpoint whose latest attempt failed the same way are one group.
 */
import type { AttemptError } from "./attempt.ts";

/** A delivery that has not arrived, with the attempt that shows why. Instants are epoch milliseconds. */
export interface Failure {
  readonly endpoint: string;
  readonly status: "failed" | "pending" | "held";
  readonly error: AttemptError;
  readonly statusCode: number | null;
  /** The time at which attempts of this round first failed in this way, and the time at which they last did. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** The key of its event. */
  readonly event: number;
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
  /** For each part of the period, the number of deliveries that last failed in it. */
  readonly series: readonly number[];
  /** The id of the latest attempt. */
  readonly sampleAttempt: string;
}

/** `parts` parts of `stepMs` each. Failures before or after them count in the first or last one. */
export interface Parts {
  readonly from: number;
  readonly stepMs: number;
  readonly parts: number;
}

interface Growing extends Omit<FailureGroup, "sampleAttempt"> {
  failed: number;
  pending: number;
  held: number;
  firstAt: number;
  lastAt: number;
  readonly series: number[];
  /** The event of the latest attempt. */
  event: number;
}

export class FailureGroups {
  readonly #parts: Parts;
  readonly #groups = new Map<string, Growing>();
  #last: Growing | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#groups.size;
  }

  add(failure: Failure): void {
    const { from, stepMs, parts } = this.#parts;
    const part = Math.floor((failure.lastAt - from) / stepMs);
    const group = this.#of(failure);
    group.series[Math.min(Math.max(part, 0), parts - 1)]!++;
    grow(group, failure, 1);
  }

  /** Adds many with the same status at once. `all` has the time of the first, and the time and event of the latest. */
  addCounted(all: Failure, series: readonly number[]): void {
    const count = series.reduce((sum, each) => sum + each, 0);
    if (count === 0) return;
    const group = this.#of(all);
    for (const [part, counted] of series.entries()) group.series[part]! += counted;
    grow(group, all, count);
  }

  /**
   * Returns the largest groups, in descending order. `attemptOf` returns the id of a delivery's last attempt, or null
   * once it has been removed.
   */
  largest(limit: number, attemptOf: (delivery: Pick<Failure, "endpoint" | "event">) => string | null): FailureGroup[] {
    const weight = ({ failed, pending, held }: Growing) => failed + pending + held;
    return [...this.#groups.values()]
      .sort((a, b) => weight(b) - weight(a) || b.lastAt - a.lastAt || (nameOf(a) < nameOf(b) ? -1 : 1))
      .slice(0, limit)
      .flatMap(({ event, ...group }) => {
        const sampleAttempt = attemptOf({ endpoint: group.endpoint, event });
        return sampleAttempt === null ? [] : [{ ...group, sampleAttempt }];
      });
  }

  #of({ endpoint, error, statusCode }: Failure): Growing {
    const last = this.#last;
    // Failures arrive group by group, so the last group usually matches.
    if (last?.endpoint === endpoint && last.error === error && last.statusCode === statusCode) return last;
    const key = nameOf({ endpoint, error, statusCode });
    let group = this.#groups.get(key);
    if (group === undefined) {
      const none = { failed: 0, pending: 0, held: 0, firstAt: Infinity, lastAt: -Infinity, event: 0 };
      group = { endpoint, error, statusCode, ...none, series: Array<number>(this.#parts.parts).fill(0) };
      this.#groups.set(key, group);
    }
    this.#last = group;
    return group;
  }
}

function nameOf({ endpoint, error, statusCode }: Pick<Failure, "endpoint" | "error" | "statusCode">): string {
  return `${endpoint} ${error} ${statusCode}`;
}

function grow(group: Growing, { status, firstAt, lastAt, event }: Failure, count: number): void {
  group[status] += count;
  group.firstAt = Math.min(group.firstAt, firstAt);
  if (lastAt < group.lastAt || (lastAt === group.lastAt && event < group.event)) return;
  group.lastAt = lastAt;
  group.event = event;
}
