/**
 * A random history, as data. A step names endpoints, events and claims by ordinals into what the history has made so
 * far, so that the same history can be played on any store, whatever ids that store assigns.
 */
import { JOB_ACTIONS, type JobAction } from "../../../../src/domain/deliveries/job.ts";
import type { Signature, WhenDisabled } from "../../../../src/domain/endpoints/endpoint.ts";
import { VALIDATIONS, type Validation } from "../../../../src/domain/events/catalogue.ts";
import type { FilterDocument } from "../../../../src/domain/events/filter/filter.ts";
import { DrawnFilters } from "../../../domain/drawn-filters.ts";
import type { Random } from "../../../sim/random.ts";

export const TYPES = ["budget.exceeded", "goal.achieved", "invoice.paid"] as const;
/** Types that operators add and delete during a history. */
export const OWN_TYPES = ["budget.limit.raised", "order.created", "order.paid"] as const;
const PATTERNS = ["*", "budget.*", "budget.limit.*", "order.*"] as const;
/** Each history has two tenants of its own, so that histories can share a store. */
export const TENANTS = 2;
const DAY = 86_400_000;

/** Counts modulo the number of objects that exist. */
type Ordinal = number;

export interface DraftStep {
  readonly type: string;
  readonly data: object;
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

/** The settings of an endpoint that decide what it receives, and how that is signed. */
export interface Choice {
  readonly events: readonly string[];
  readonly filter: FilterDocument | null;
  readonly signatures: readonly Signature[];
}

const KEY_STEPS = ["rotate", "rotate", "complete", "abandon", "publish", "switch"] as const;
type KeyStep = (typeof KEY_STEPS)[number];

export type Step =
  | ({ readonly do: "register"; readonly tenant: number; readonly whenDisabled: WhenDisabled } & Choice)
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
  | ({ readonly do: "choose"; readonly endpoint: Ordinal } & Choice)
  | { readonly do: "type"; readonly name: string; readonly deprecated: boolean; readonly validation: Validation }
  | { readonly do: "delete type"; readonly name: string }
  | { readonly do: "key"; readonly tenant: number; readonly to: KeyStep; readonly overlapMs: number }
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
    turn({ do: "register", tenant: 0, events: TYPES, filter: null, signatures: ["hmac"], whenDisabled: "hold" }, 0),
    turn({ do: "register", tenant: 0, ...choiceOf(random), whenDisabled: whenDisabledOf(random) }, 0),
    turn({ do: "register", tenant: 1, ...choiceOf(random), whenDisabled: "hold" }, 0),
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

/** Most endpoints hold what they miss. */
function whenDisabledOf(random: Random): WhenDisabled {
  return random.chance(0.4) ? random.pick(["skip", "shadow"]) : "hold";
}

function stepOf(random: Random): Step {
  const any = () => random.between(0, 1_000_000);
  const maybe = (chance: number) => (random.chance(chance) ? any() : null);
  const steps: readonly (readonly [number, () => Step])[] = [
    [
      1,
      () => ({ do: "register", tenant: tenantOf(random), ...choiceOf(random), whenDisabled: whenDisabledOf(random) }),
    ],
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
    [2, () => ({ do: "choose", endpoint: any(), ...choiceOf(random) })],
    [
      1,
      () => ({
        do: "type",
        name: random.pick(OWN_TYPES),
        deprecated: random.chance(0.3),
        validation: random.pick(VALIDATIONS),
      }),
    ],
    [1, () => ({ do: "delete type", name: random.pick(OWN_TYPES) })],
    [
      1.5,
      () => ({
        do: "key",
        tenant: tenantOf(random),
        to: random.pick(KEY_STEPS),
        overlapMs: random.pick([0, 1000, 70_000]),
      }),
    ],
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
      ? { publisherId: random.pick(["p1", null]), tags: random.pick([[], ["t1"], ["eu", "vip"]]) }
      : null;
    const type = random.pick([...TYPES, ...TYPES, ...OWN_TYPES]);
    const { data } = new DrawnFilters(random).event();
    return { type, data: data as object, createdAfter: random.pick([-DAY, 0, 1]), key, label };
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

function choiceOf(random: Random): Choice {
  const named = TYPES.filter(() => random.chance(0.6));
  const more = [...OWN_TYPES, ...PATTERNS].filter(() => random.chance(0.15));
  const events = [...(named.length > 0 ? named : [TYPES[0]]), ...more];
  const filter = random.chance(0.3) ? new DrawnFilters(random).filter(1) : null;
  return { events, filter, signatures: random.pick(SIGNED) };
}

const SIGNED: readonly (readonly Signature[])[] = [["hmac"], ["hmac"], ["hmac", "ed25519"], ["ed25519"]];

function some<T>(random: Random, most: number, make: () => T): T[] {
  return Array.from({ length: random.between(1, most) }, make);
}
