/** The counts of one minute, in the form of a row. */
import { Tally } from "../../domain/tally.ts";
import type { Counted, Stats, StatsQuery } from "../store.ts";

export const MINUTE_MS = 60_000;

export type Period = Pick<StatsQuery, "since" | "until" | "stepMs">;

/** Returns the first minute, the minute after the last, and the length of a part. */
export function minutesOf({ since, until, stepMs }: Period): readonly [first: number, end: number, step: number] {
  const whole = (ms: number) => Math.ceil(ms / MINUTE_MS);
  return [whole(since), whole(until), whole(stepMs)];
}

export function totalOf(series: readonly Counts[]): Stats {
  const total = new Counts();
  for (const counts of series) total.add(counts);
  return { attempts: total.attempts, published: total.published, series };
}

/**
 * The row. `attempts` is a tally as JSON. `published` has the number of events of each type, and is null if there are
 * none.
 */
export interface StoredCounts {
  readonly attempts: string;
  readonly published: string | null;
}

export class Counts implements Counted {
  readonly attempts = new Tally();
  readonly published = new Map<string, number>();

  publish(type: string, events: number): void {
    this.published.set(type, (this.published.get(type) ?? 0) + events);
  }

  add(other: Counted): void {
    this.attempts.add(other.attempts);
    for (const [type, events] of other.published) this.publish(type, events);
  }

  toRow(): StoredCounts {
    const { attempts, published } = this;
    const types = published.size === 0 ? null : JSON.stringify([...published]);
    return { attempts: JSON.stringify(attempts.toPairs()), published: types };
  }

  addRow({ attempts, published }: StoredCounts): void {
    this.attempts.addPairs(JSON.parse(attempts) as number[]);
    if (published === null) return;
    for (const [type, events] of JSON.parse(published) as [string, number][]) this.publish(type, events);
  }
}
