/** The scenarios by name. */
import { backlog } from "./backlog.ts";
import { capacity, SIDES, type Side } from "./capacity.ts";
import { cold } from "./cold.ts";
import { errors } from "./errors.ts";
import { fair } from "./fair.ts";
import { filters } from "./filters.ts";
import { flat } from "./flat.ts";
import { flood } from "./flood.ts";
import { hang } from "./hang.ts";
import { idle } from "./idle.ts";
import { lanes } from "./lanes.ts";
import { lists } from "./lists.ts";
import { move } from "./move.ts";
import type { Measure } from "./measure.ts";
import { nodes } from "./nodes.ts";
import type { BenchOptions } from "./options.ts";
import { outbox } from "./outbox.ts";
import { overrun } from "./overrun.ts";
import { peers } from "./peers.ts";
import { pending } from "./pending.ts";
import { portal } from "./portal.ts";
import { prune } from "./prune.ts";
import { quiet } from "./quiet.ts";
import { search } from "./search.ts";
import { stages } from "./stages.ts";
import { start } from "./start.ts";
import { stuck } from "./stuck.ts";

type Scenario = (options: BenchOptions) => Promise<Measure[]>;

const ALONE: Record<string, Scenario> = {
  stages,
  flat,
  hang,
  fair,
  lists,
  search,
  backlog,
  overrun,
  pending,
  lanes,
  flood,
  quiet,
  cold,
  idle,
  start,
  prune,
  move,
  nodes,
  errors,
  portal,
  filters,
  outbox,
  stuck,
};

/** The scenarios that need nothing but this project. */
export const OWN_SCENARIOS: readonly string[] = [...SIDES, ...Object.keys(ALONE)];
export const SCENARIOS: readonly string[] = [...OWN_SCENARIOS, "peers"];

/**
 * Runs the scenarios in their own order. Scenarios that are compared with each other run together. Throws for an
 * unknown name.
 */
export async function bench(names: readonly string[], options: BenchOptions): Promise<Measure[]> {
  for (const name of names) if (!SCENARIOS.includes(name)) throw new RangeError(`there is no scenario ${name}`);
  const measures: Measure[] = [];
  const sides = SIDES.filter((side) => names.includes(side));
  if (sides.length > 0) measures.push(...(await capacity(sides as Side[], options)));
  for (const [name, run] of Object.entries(ALONE)) if (names.includes(name)) measures.push(...(await run(options)));
  if (names.includes("peers")) measures.push(...(await peers(options)));
  return measures;
}
