import type { Ladder } from "../../src/domain/deliveries/due-time.ts";

/** The delays that the specification fixes: 30 s, 2 min, 10 min, 1 h, 6 h and 24 h. They are the daemon's default. */
export const SPECIFIED_LADDER: Ladder = [30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000];
