/** Files and folders of this checkout that comments and pages name. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const FILES = globSync(["*.md", "{src,cli,tui,test,scripts,docs}/**/*.*"]);
const CODE = /^(?:src|cli|tui|test|scripts)\/.*\.(?:tsx?|js)$/;
const PAGE = /^(?!CHANGELOG)[^/]+\.md$|^docs\/.*\.md$/;
/** What a program makes. */
const MADE = new Set(["RELEASE.md", "dist/release/RELEASE.md"]);

const COMMENT = /\/\*\*?[^]*?\*\/|(?<=^|\s)\/\/.*$/gm;
const CITED = /(?<![\w/.*-])(?:(?:src|cli|tui|test|docs|scripts)\/[\w./*-]+|\w[\w./-]*\.(?:tsx?|md))(?![\w/*])/g;

/** `file: what it names`, for each that is not there. */
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
  // A file of code may be called by its last names; there are few pages, so they are named in full.
  return !name.endsWith(".md") && FILES.some((one) => one.endsWith(`/${name}`));
}
