/** Finds files that comments and pages name but that do not exist in this checkout. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const FILES = globSync(["*.md", "{src,cli,tui,test,scripts,docs}/**/*.*"]);
const CODE = /^(?:src|cli|tui|test|scripts)\/.*\.(?:tsx?|js)$/;
const PAGE = /^(?!CHANGELOG)[^/]+\.md$|^docs\/.*\.md$/;
/** Files that a program creates. */
const MADE = new Set(["RELEASE.md", "dist/release/RELEASE.md"]);

const COMMENT = /\/\*\*?[^]*?\*\/|(?<=^|\s)\/\/.*$/gm;
const CITED = /(?<![\w/.*-])(?:(?:src|cli|tui|test|docs|scripts)\/[\w./*-]+|\w[\w./-]*\.(?:tsx?|md))(?![\w/*])/g;

/** Returns `file: the name` for each name that does not exist. */
export function brokenCitations(): string[] {
  return FILES.flatMap((file) => {
    if (PAGE.test(file)) return broken(file, [...readFileSync(file, "utf8").matchAll(/`[^`\n]+`/g)]);
    return CODE.test(file) ? broken(file, [...readFileSync(file, "utf8").matchAll(COMMENT)]) : [];
  });
}

function broken(file: string, texts: readonly (readonly string[])[]): string[] {
  const cited = texts.flatMap(([text]) => [...text!.matchAll(CITED)].map(([name]) => name.replace(/\.$/, "")));
  return cited.filter((name) => !isThere(name, file)).map((name) => `${file}: ${name}`);
}

function isThere(name: string, file: string): boolean {
  if (name.includes("*") || MADE.has(name)) return true;
  if (existsSync(name) || existsSync(join(dirname(file), name))) return true;
  // A source file may be named by the end of its path. Pages are named in full, because there are few.
  return !name.endsWith(".md") && FILES.some((one) => one.endsWith(`/${name}`));
}
