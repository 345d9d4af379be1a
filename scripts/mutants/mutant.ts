/** A bug as data: what to replace in which file, and the tests that are to notice. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Mutant {
  /** What the bug does, in a few words joined by hyphens. */
  readonly name: string;
  readonly file: string;
  /** Stands exactly once in the file. A file that was moved needs its new path, and nothing else. */
  readonly find: string;
  readonly replace: string;
  /** Those that see it soonest. */
  readonly tests: readonly string[];
}

export class DoesNotApply extends Error {}

/** The file's text with the bug in it. */
export function planted(root: string, { name, file, find, replace }: Mutant): string {
  const text = readFileSync(join(root, file), "utf8");
  const times = text.split(find).length - 1;
  if (times === 1) return text.replace(find, () => replace);
  throw new DoesNotApply(`${name}: its lines stand ${times} times in ${file}; write them anew in scripts/mutants`);
}
