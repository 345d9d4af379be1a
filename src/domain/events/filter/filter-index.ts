/** Endpoints by their filters, so that a publish asks few of them: equal ones once, and others only if they may match. */
import { memberOf, type Subject } from "./evaluate.ts";
import type { Filter, Need, Scalar } from "./filter.ts";

/** An endpoint that an event is for, unless its filter says otherwise. */
export interface Filtered {
  readonly filter: Filter | null;
}

/** A filter, and the places of the endpoints that have it. */
interface Group {
  readonly filter: Filter;
  readonly places: number[];
}

/** Filters that need a value at the same path, by this value. */
interface ValueIndex {
  readonly path: readonly string[];
  readonly groups: Map<Scalar, Group[]>;
}

/** The maximum number of paths that are looked at for each event. */
const MAX_PATHS = 20;
/** If there are more values at a path, all filters that need one of them are asked. */
const MAX_VALUES = 1000;

export class FilterIndex {
  /** The places of the endpoints without a filter. */
  readonly plain: readonly number[];
  readonly #indexes: readonly ValueIndex[];
  /** These must be asked about every event. */
  readonly #others: readonly Group[];
  /** True if no endpoint has a filter. */
  readonly isPlain: boolean;

  private constructor(endpoints: readonly Filtered[]) {
    const plain: number[] = [];
    const groups = new Map<string, Group>();
    for (const [place, { filter }] of endpoints.entries()) {
      if (filter === null) plain.push(place);
      else if (groups.has(filter.text)) groups.get(filter.text)!.places.push(place);
      else groups.set(filter.text, { filter, places: [place] });
    }
    this.plain = plain;
    this.isPlain = groups.size === 0;
    const { indexes, others } = indexed([...groups.values()]);
    this.#indexes = indexes;
    this.#others = others;
  }

  /** Returns the same index for the same list, so the list must not change. */
  static of(endpoints: readonly Filtered[]): FilterIndex {
    let index = known.get(endpoints);
    if (index === undefined) known.set(endpoints, (index = new FilterIndex(endpoints)));
    return index;
  }

  /** The filters that may take the event. All others do not take it. */
  *mayTake(subject: Subject): Generator<Group> {
    for (const group of this.#others) yield group;
    for (const { path, groups } of this.#indexes) {
      const values = new Set<unknown>();
      const isWhole = addValues(values, subject, path, 0, { left: MAX_VALUES });
      if (!isWhole) for (const some of groups.values()) yield* some;
      else for (const value of values) yield* groups.get(value as Scalar) ?? [];
    }
  }
}

const known = new WeakMap<readonly Filtered[], FilterIndex>();

/** Puts each filter where the fewest others are: a customer's number chooses better than a currency. */
function indexed(groups: readonly Group[]): { indexes: readonly ValueIndex[]; others: readonly Group[] } {
  const counts = new Map<string, number>();
  for (const { filter } of groups)
    for (const need of filter.needs) counts.set(nameOf(need), (counts.get(nameOf(need)) ?? 0) + 1);
  const indexes = new Map<string, ValueIndex>();
  const others: Group[] = [];
  for (const group of groups) {
    const best = rarest(group.filter.needs, counts);
    const name = best === null ? "" : JSON.stringify(best.path);
    if (best === null || (!indexes.has(name) && indexes.size === MAX_PATHS)) {
      others.push(group);
      continue;
    }
    let index = indexes.get(name);
    if (index === undefined) indexes.set(name, (index = { path: best.path, groups: new Map() }));
    const same = index.groups.get(best.value);
    if (same === undefined) index.groups.set(best.value, [group]);
    else same.push(group);
  }
  return { indexes: [...indexes.values()], others };
}

function rarest(needs: readonly Need[], counts: ReadonlyMap<string, number>): Need | null {
  let best: Need | null = null;
  for (const need of needs) if (best === null || counts.get(nameOf(need))! < counts.get(nameOf(best))!) best = need;
  return best;
}

function nameOf({ path, value }: Need): string {
  return JSON.stringify([path, value]);
}

/** Adds the plain values at the path, and those in arrays. Returns false if there are too many. */
function addValues(
  values: Set<unknown>,
  value: unknown,
  path: readonly string[],
  at: number,
  looks: { left: number },
): boolean {
  if (--looks.left < 0) return false;
  if (Array.isArray(value)) return value.every((item) => addValues(values, item, path, at, looks));
  if (at < path.length) return addValues(values, memberOf(value, path[at]!), path, at + 1, looks);
  values.add(value);
  return true;
}
