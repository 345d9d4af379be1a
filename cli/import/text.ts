/** Shows the plan of an import: what comes over, what changes meaning, and what cannot. */
import { hostOf, count } from "../output/words.ts";
import type { Io } from "../io.ts";
import { say } from "../output/print.ts";
import { sayTable } from "../output/table.ts";
import { type Described, isAddress } from "./described.ts";
import type { Plan, PlannedEndpoint } from "./plan.ts";

/** Leaves out the rows that have not changed, which would hide the rest. */
export function sayPlan({ types, endpoints }: Plan, { notes }: Described, io: Io): void {
  const shownTypes = types.filter(({ result }) => result !== "unchanged");
  if (shownTypes.length > 0) {
    sayTable(io, [
      ["TYPE", "RESULT", "CHANGES"],
      ...shownTypes.map(({ name, result, changed }) => [name, result, changed.join(", ") || "-"]),
    ]);
    sayRemarks(
      shownTypes.map((type) => ({ whose: type.name, reason: type.reason, notes: type.notes })),
      "types",
      io,
    );
  }
  const shown = endpoints.filter(({ result }) => result !== "unchanged");
  if (shown.length > 0) {
    sayTable(io, [
      ["TENANT", "ENDPOINT", "URL", "RESULT", "CHANGES"],
      ...shown.map(({ described: { tenant, id, url }, result, changed }) => [
        tenant,
        id,
        shownUrl(url),
        result,
        changed.join(", ") || "-",
      ]),
    ]);
    sayRemarks(
      shown.map(({ described, reason, notes: own }) => ({ whose: described.id, reason, notes: own })),
      "endpoints",
      io,
    );
  }
  if (shown.length > 0) for (const sentence of notes) say(io, sentence);
}

/** The address of an endpoint, without what may be secret. A text that is no address may be anything. */
export function shownUrl(url: string): string {
  return isAddress(url) ? hostOf(url) : "-";
}

interface Remarks {
  readonly whose: string;
  readonly reason: string | null;
  readonly notes: readonly string[];
}

const NAMED = 3;

/** Says each remark once, with the names of those that it is about. */
function sayRemarks(all: readonly Remarks[], nouns: string, io: Io): void {
  const about = new Map<string, string[]>();
  for (const { whose, reason, notes } of all)
    for (const remark of [...(reason === null ? [] : [reason]), ...notes])
      about.set(remark, [...(about.get(remark) ?? []), whose]);
  for (const [remark, whose] of about) {
    const more = whose.length - NAMED;
    const names = whose.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more ${nouns}` : "");
    say(io, `  ${names}${whose.length > 1 ? ": each" : ""} ${remark}`);
  }
}

const RESULTS = ["added", "changed", "unchanged", "kept", "refused"] as const;

/** Returns `3 endpoints: 2 added, 1 refused; 1 event type: 1 added`. */
export function summaryOf({ types, endpoints }: Plan): string {
  const parts = [
    [count(endpoints.length, "endpoint", "endpoints"), endpoints] as const,
    [count(types.length, "event type", "event types"), types] as const,
  ];
  return parts
    .filter(([, rows]) => rows.length > 0)
    .map(([what, rows]) => `${what}: ${countsOf(rows.map(({ result }) => result))}`)
    .join("; ");
}

function countsOf(results: readonly (typeof RESULTS)[number][]): string {
  const counts = RESULTS.map((result) => [results.filter((one) => one === result).length, result] as const);
  return counts.flatMap(([number, result]) => (number === 0 ? [] : `${number} ${result}`)).join(", ");
}

const MAX_NAMED_TENANTS = 20;

/**
 * The sections of the configuration with which receivers go on verifying, or null if there are none. `made` has the ids
 * of the endpoints that were added.
 */
export function signatureSections(
  { endpoints }: Plan,
  { signatures }: Described,
  made: ReadonlyMap<PlannedEndpoint, string>,
): string | null {
  const groups = signatures
    .map(({ lines, of }) => ({
      lines,
      rows: endpoints.filter(({ described, result }) => result !== "refused" && of?.has(described.id) !== false),
    }))
    .filter(({ rows }) => rows.length > 0);
  if (groups.length === 0) return null;
  const tenants = groups.map(({ rows }) => new Set(rows.map(({ described }) => described.tenant)));
  const isShared = tenants.some((some, at) =>
    tenants.slice(0, at).some((others) => [...some].some((one) => others.has(one))),
  );
  const scopeOf = (at: number) => {
    if (isShared)
      return [`endpoints = ${namesOf(groups[at]!.rows.map((row) => row.here?.id ?? made.get(row) ?? "ep_…"))}`];
    return groups.length === 1 && tenants[at]!.size > MAX_NAMED_TENANTS ? [] : [`tenants = ${namesOf(tenants[at]!)}`];
  };
  return groups.map(({ lines }, at) => ["[[signature.also]]", ...lines, ...scopeOf(at)].join("\n")).join("\n\n");
}

function namesOf(names: Iterable<string>): string {
  return JSON.stringify([...new Set(names)]);
}
