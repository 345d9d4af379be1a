/** The specified ladder at a sixtieth, beside a time limit at a tenth: rungs stay longer than attempts. */
export const LADDER = [500, 2000, 10_000, 60_000, 360_000, 1_440_000];
