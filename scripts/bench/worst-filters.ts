/** Filters and events that take as long as the limits allow. No filter accepts any of the events. */
import type { FilterDocument } from "../../src/domain/events/filter/filter.ts";

const OPERATORS = 49;

/** Returns one of several kinds of filters. No two are equal. */
export function worstFilter(at: number): FilterDocument {
  const many = (one: (n: number) => unknown) => Array.from({ length: OPERATORS }, (_, n) => one(n));
  const kinds: readonly (() => FilterDocument)[] = [
    () => ({ text: { $in: `${"a".repeat(900)}b${"a".repeat(900)}${at}` } }),
    () => ({ numbers: { $or: many((n) => ({ $gt: 10 + at + n / 100 })) } }),
    () => ({ texts: { $or: many((n) => ({ $startsWith: `${"a".repeat(40)}${at}-${n}` })) } }),
    () => ({ wide: { $or: many((n) => ({ $eq: { k1: 1, at, n } })) } }),
    () => ({ $or: many((n) => ({ rows: { $eq: [...Array.from({ length: 20 }, () => 1), at + n / 100] } })) }),
    () => ({ rows: { $in: Array.from({ length: 300 }, (_, n) => `${at}-${n}`) } }),
    () => ({ numbers: nested(4, { $nin: [1, at + 10] }) }),
  ];
  return { data: kinds[at % kinds.length]!() };
}

function nested(levels: number, inner: unknown): unknown {
  return levels === 0 ? inner : { $not: { $not: nested(levels - 1, inner) } };
}

/** An event of about 210 KiB, for which each of the filters takes about as many looks as it may. */
export function worstData(): object {
  return {
    text: "a".repeat(80_000),
    numbers: Array.from({ length: 390 }, () => 1),
    texts: Array.from({ length: 390 }, () => "a".repeat(160)),
    rows: Array.from({ length: 15 }, () => Array.from({ length: 21 }, () => 1)),
    wide: Object.fromEntries(Array.from({ length: 6000 }, (_, at) => [`k${at}`, 1])),
  };
}
