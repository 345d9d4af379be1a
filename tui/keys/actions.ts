/** Keys that ask the daemon to do something. What they act on is pinned when they are pressed: the list is held. */
import type { Binding } from "./binding.ts";
import { BRAKE } from "./brake.ts";
import { COPIES } from "./copies.ts";
import { DELIVERIES } from "./deliveries.ts";
import { JOBS } from "./jobs.ts";
import { REPLAYS } from "./replays.ts";

export const ACTIONS: readonly Binding[] = [...REPLAYS, ...DELIVERIES, ...JOBS, ...BRAKE, ...COPIES];
