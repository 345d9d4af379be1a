/** A bug as data: the text to replace in a file, and the tests that must notice. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Mutant {
  /** A few words, joined by hyphens, about what the bug does. */
  readonly name: string;
  readonly file: string;
  /** Must occur exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The tests that catch it soonest. */
  readonly tests: readonly string[];
}

export class DoesNotApply extends Error {}

/** Returns the file's text with the bug in it. */
export function planted(root: string, { name, file, find, replace }: Mutant): string {
  const text = readFileSync(join(root, file), "utf8");
  const times = text.split(find).length - 1;
  if (times === 1) return text.replace(find, () => replace);
  throw new DoesNotApply(`${name}: its lines stand ${times} times in ${file}; write them anew in scripts/mutants`);
}
