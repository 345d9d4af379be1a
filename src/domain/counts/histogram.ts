/** How often values fell into which bucket. To add one costs a few comparisons and an increment. */
export class Histogram {
  /** The upper bounds of the buckets, ascending; a last bucket takes what is above. */
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  add(value: number): void {
    this.counts[bucketOf(this.bounds, value)]!++;
    this.sum += value;
  }
}

export function bucketOf(bounds: readonly number[], value: number): number {
  let at = 0;
  while (at < bounds.length && value > bounds[at]!) at++;
  return at;
}
