/**
 * A random history, as data. A step names endpoints, events and claims by ordinals into what the history has made so far,
 * so that the same history can be played on any store, whatever ids that store gives out.
 */
import { JOB_ACTIONS, type JobAction } from "../../../../src/domain/deliveries/job.ts";
import type { Random } from "../../../sim/random.ts";

export const TYPES = ["budget.exceeded", "goal.achieved", "invoice.paid"] as const;
/** Each history has two tenants of its own, so that histories can share a store. */
export const TENANTS = 2;
const DAY = 86_400_000;

/** Counts modulo the number of things that there are. */
type Ordinal = number;

export interface DraftStep {
  readonly type: string;
  readonly createdAfter: number;
  readonly key: { readonly name: string; readonly body: number } | null;
  readonly label: { readonly publisherId: string | null; readonly tags: readonly string[] } | null;
}

export type Ending = "delivered" | "answered 500" | "timeout" | "redirect" | "interrupted" | "answered 410";
const ENDINGS: readonly Ending[] = [
  "delivered",
  "delivered",
  "delivered",
  "answered 500",
  "answered 500",
  "answered 500",
  "timeout",
  "redirect",
  "interrupted",
  "answered 410",
];

export type Step =
  | { readonly do: "register"; readonly tenant: number; readonly events: readonly string[]; readonly skip: boolean }
  | { readonly do: "publish"; readonly tenant: number; readonly drafts: readonly DraftStep[]; readonly full: Ordinal[] }
  | { readonly do: "test"; readonly endpoint: Ordinal }
  | { readonly do: "read"; readonly endpoint: Ordinal; readonly limit: number; readonly onlyFirst: boolean }
  | { readonly do: "record"; readonly claims: readonly { readonly claim: Ordinal; readonly ending: Ending }[] }
  | { readonly do: "park"; readonly claims: readonly Ordinal[] }
  | { readonly do: "replay"; readonly event: Ordinal; readonly force: boolean; readonly endpoint: Ordinal | null }
  | { readonly do: "cancel"; readonly event: Ordinal; readonly endpoint: Ordinal | null }
  | { readonly do: "erase"; readonly event: Ordinal }
  | { readonly do: "request"; readonly event: Ordinal; readonly delivery: Ordinal; readonly claims: boolean }
  | {
      readonly do: "enable";
      readonly endpoint: Ordinal;
      readonly enabled: boolean;
      readonly held: "release" | "cancel";
    }
  | { readonly do: "disable"; readonly endpoint: Ordinal; readonly reason: "gone" | "failing" }
  | { readonly do: "subscribe"; readonly endpoint: Ordinal; readonly events: readonly string[] }
  | { readonly do: "delete"; readonly endpoint: Ordinal }
  | {
      readonly do: "job";
      readonly action: JobAction;
      readonly endpoint: Ordinal | null;
      readonly tenant: number;
      readonly missing: boolean;
      readonly delivered: boolean;
      readonly canary: boolean;
      readonly limit: number;
    }
  | { readonly do: "work"; readonly job: Ordinal; readonly limit: number; readonly check: boolean }
  | { readonly do: "steer"; readonly job: Ordinal; readonly to: "running" | "paused" | "cancelled" }
  | { readonly do: "limit"; readonly tenant: number; readonly pending: number }
  | { readonly do: "clock"; readonly endpoint: Ordinal; readonly by: number | null }
  | { readonly do: "expire"; readonly olderMs: number }
  | { readonly do: "prune"; readonly deliveredMs: number; readonly failedMs: number }
  | { readonly do: "restart" };

export function mayBeginSweep(step: Step): boolean {
  return step.do === "enable" || step.do === "delete" || step.do === "restart";
}

export interface Turn {
  readonly step: Step;
  /** The milliseconds that pass before the step. */
  readonly wait: number;
  readonly isCompared: boolean;
}

export function historyOf(random: Random, length: number): Turn[] {
  const turns: Turn[] = [
    turn({ do: "register", tenant: 0, events: TYPES, skip: false }, 0),
    turn({ do: "register", tenant: 0, events: typesOf(random), skip: random.chance(0.3) }, 0),
    turn({ do: "register", tenant: 1, events: typesOf(random), skip: false }, 0),
  ];
  while (turns.length < length) {
    const wait = random.pick([0, 0, 1, 500, 2000, 70_000, 400_000]);
    turns.push({ ...turn(stepOf(random), wait), isCompared: random.chance(0.05) });
  }
  return turns;
}

function turn(step: Step, wait: number): Turn {
  return { step, wait, isCompared: false };
}

function stepOf(random: Random): Step {
  const any = () => random.between(0, 1_000_000);
  const maybe = (chance: number) => (random.chance(chance) ? any() : null);
  const steps: readonly (readonly [number, () => Step])[] = [
    [1, () => ({ do: "register", tenant: tenantOf(random), events: typesOf(random), skip: random.chance(0.3) })],
    [8, () => publishOf(random, any)],
    [2, () => ({ do: "test", endpoint: any() })],
    [8, () => ({ do: "read", endpoint: any(), limit: random.pick([1, 3, 256]), onlyFirst: random.chance(0.1) })],
    [16, () => ({ do: "record", claims: some(random, 5, () => ({ claim: any(), ending: random.pick(ENDINGS) })) })],
    [2, () => ({ do: "park", claims: some(random, 4, any) })],
    [5, () => ({ do: "replay", event: any(), force: random.chance(0.4), endpoint: maybe(0.3) })],
    [2, () => ({ do: "cancel", event: any(), endpoint: maybe(0.5) })],
    [1, () => ({ do: "erase", event: any() })],
    [4, () => ({ do: "request", event: any(), delivery: any(), claims: random.chance(0.7) })],
    [
      4,
      () => ({ do: "enable", endpoint: any(), enabled: random.chance(0.5), held: random.pick(["release", "cancel"]) }),
    ],
    [1, () => ({ do: "disable", endpoint: any(), reason: random.pick(["gone", "failing"]) })],
    [1, () => ({ do: "subscribe", endpoint: any(), events: typesOf(random) })],
    [0.7, () => ({ do: "delete", endpoint: any() })],
    [4, () => jobOf(random, maybe)],
    [6, () => ({ do: "work", job: any(), limit: random.pick([1, 2, 500]), check: random.chance(0.5) })],
    [2, () => ({ do: "steer", job: any(), to: random.pick(["running", "paused", "cancelled"]) })],
    [1, () => ({ do: "limit", tenant: tenantOf(random), pending: random.pick([0, 1, 4, 20]) })],
    [1, () => ({ do: "clock", endpoint: any(), by: random.pick([-5000, 5000, null]) })],
    [1, () => ({ do: "expire", olderMs: random.pick([0, 100_000]) })],
    [1, () => ({ do: "prune", deliveredMs: random.pick([1000, 500_000]), failedMs: random.pick([2000, DAY]) })],
    [0.3, () => ({ do: "restart" })],
  ];
  let roll = random.next() * steps.reduce((sum, [weight]) => sum + weight, 0);
  return (steps.find(([weight]) => (roll -= weight) < 0) ?? steps[0]!)[1]();
}

function publishOf(random: Random, any: () => number): Step {
  const drafts = some(random, 4, (): DraftStep => {
    const key = random.chance(0.2) ? { name: `k${random.between(0, 3)}`, body: random.pick([0, 0, 0, 1]) } : null;
    const label = random.chance(0.3)
      ? { publisherId: random.pick(["p1", null]), tags: random.pick([[], ["t1"]]) }
      : null;
    return { type: random.pick(TYPES), createdAfter: random.pick([-DAY, 0, 1]), key, label };
  });
  return { do: "publish", tenant: tenantOf(random), drafts, full: random.chance(0.4) ? [any()] : [] };
}

function jobOf(random: Random, maybe: (chance: number) => Ordinal | null): Step {
  const action = random.pick(JOB_ACTIONS);
  const endpoint = maybe(0.6);
  return {
    do: "job",
    action,
    endpoint,
    tenant: tenantOf(random),
    missing: action === "replay" && endpoint !== null && random.chance(0.4),
    delivered: action === "replay" && random.chance(0.3),
    canary: random.chance(0.3),
    limit: random.pick([1, 500]),
  };
}

const tenantOf = (random: Random) => (random.chance(0.8) ? 0 : 1);

function typesOf(random: Random): string[] {
  const types = TYPES.filter(() => random.chance(0.6));
  return types.length > 0 ? types : [TYPES[0]];
}

function some<T>(random: Random, most: number, make: () => T): T[] {
  return Array.from({ length: random.between(1, most) }, make);
}
