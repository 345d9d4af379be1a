/** A short ladder, so that runs end soon. As in the specified one, each rung is longer than an attempt. */
export const LADDER = [500, 2000, 5000, 12_000, 30_000, 70_000];
