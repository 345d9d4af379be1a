/** Rungs that stay longer than attempts, as the specified ones do, and are over soon: a run lasts as long as they do. */
export const LADDER = [500, 2000, 5000, 12_000, 30_000, 70_000];
