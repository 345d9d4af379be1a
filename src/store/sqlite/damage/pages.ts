/** Looks for damaged pages, as many as there is time for: a store of any size starts soon. */
import type { Database } from "better-sqlite3";
import { isDamage } from "../engine/condition.ts";

export interface Looked {
  readonly pages: number;
  /** Of the whole file. */
  readonly of: number;
  /** By table or index; empty where nothing says which of its pages it is. */
  readonly damaged: ReadonlyMap<string, readonly number[]>;
}

export interface Looking {
  readonly budgetMs: number;
  readonly monotonic: () => number;
}

interface PageRow {
  readonly pageno: number;
  readonly pagetype: string;
}

/** Pages between two looks at the clock. */
const STRIDE = 64;
/** The largest come last. */
const LARGE = /^(event|delivery|attempt)/;

/** Nothing else may use the connection meanwhile. */
export function lookForDamage(db: Database, { budgetMs, monotonic }: Looking): Looked {
  const end = monotonic() + budgetMs;
  const of = db.pragma("page_count", { simple: true }) as number;
  const damaged = new Map<string, number[]>();
  const note = (name: string, ...found: number[]) => damaged.set(name, [...(damaged.get(name) ?? []), ...found]);
  const pages = db.prepare<[string], PageRow>(
    "SELECT pageno, pagetype FROM dbstat WHERE name = ? AND pagetype IS NOT NULL",
  );
  let seen = 0;
  for (const name of treesOf(db)) {
    try {
      for (const { pageno, pagetype } of pages.iterate(name)) {
        if (pagetype === "corrupted") note(name, pageno);
        if (++seen % STRIDE === 0 && monotonic() >= end) return { pages: seen, of, damaged };
      }
    } catch (error) {
      // The disk does not give the page back, and nothing says which it is.
      if (!isDamage(error)) throw error;
      note(name);
    }
  }
  if (!areFreePagesSound(db)) note("free pages", 0);
  return { pages: seen, of, damaged };
}

function areFreePagesSound(db: Database): boolean {
  try {
    // Only this form looks at them.
    return db.pragma("quick_check(sqlite_schema)", { simple: true }) === "ok";
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

function treesOf(db: Database): string[] {
  const names = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE rootpage > 0").pluck().all();
  const isLarge = (name: string) => LARGE.test(name.replace("sqlite_autoindex_", ""));
  return ["sqlite_schema", ...names.filter((name) => !isLarge(name)), ...names.filter(isLarge)];
}
