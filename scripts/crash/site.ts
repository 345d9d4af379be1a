/** The setup in which the daemon is killed: its settings, and the endpoints with their responses. */
import type { Random } from "../../test/sim/random.ts";
import type { Answer } from "./entries.ts";

/** Short delays, so that a life of a few rounds sees whole ladders. */
export const LADDER = [50, 50, 100, 100, 200, 200] as const;
/** The attempts of a round that count. */
export const COUNTED = LADDER.length + 1;
export const TIMEOUT_MS = 500;

export const EVENT_TYPES = ["transaction.enriched", "budget.exceeded", "goal.achieved"] as const;

export interface Reaction {
  readonly afterMs: number;
  /** Null means that there is no response. */
  readonly answer: Answer | null;
}

/** With `hold`, nothing passes a failed event until it is replayed, or the end frees its key. */
export type Order = "none" | "continue" | "hold";

interface EndpointPlan {
  readonly name: string;
  readonly order: Order;
  readonly events: readonly (typeof EVENT_TYPES)[number][];
  readonly react: (random: Random) => Reaction;
}

const now = (answer: Answer): Reaction => ({ afterMs: 0, answer });

export const ENDPOINTS: readonly EndpointPlan[] = [
  { name: "steady", order: "continue", events: EVENT_TYPES, react: (random) => now(random.chance(0.03) ? 500 : 200) },
  {
    name: "flaky",
    order: "hold",
    events: ["transaction.enriched", "budget.exceeded"],
    react: (random) => now(random.pick<Answer>([200, 204, 200, 500, 503, "reset"])),
  },
  {
    name: "slow",
    order: "none",
    events: ["budget.exceeded"],
    react: (random) => ({
      afterMs: random.between(5, 60),
      answer: random.chance(0.03) ? null : random.chance(0.1) ? 500 : 200,
    }),
  },
  { name: "dead", order: "hold", events: ["goal.achieved"], react: () => now(500) },
];

/**
 * Returns the names of all endpoints. Each node needs its own endpoints, so there are several of each plan: `steady`,
 * `steady-2`, …
 */
export function namesOf(copies: number): string[] {
  return Array.from({ length: copies }, (_, at) =>
    ENDPOINTS.map(({ name }) => (at === 0 ? name : `${name}-${at + 1}`)),
  ).flat();
}

/** Returns the body that registers an endpoint. */
export function registrationOf(name: string, url: string): string {
  const { events, order } = ENDPOINTS.find((plan) => plan.name === planOf(name))!;
  return JSON.stringify({ url, events, ...(order !== "none" && { ordering: "by_key", after_failure: order }) });
}

/** Returns the plan in an endpoint's name. */
export function planOf(name: string): string {
  return name.replace(/-\d+$/, "");
}

/** The header under which a node signs, followed by its generation, so that its requests are known. */
export const SIGNATURE_BY = "x-signature-by-";
